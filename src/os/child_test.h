// Child processes for tests: one that lives until it is killed, and one that does a job and
// reports.
#pragma once

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>

namespace roost {

// Runs `body(ready)` in a child that is killed and reaped at the end. The constructor returns once
// the child has called ready(), or has ended without.
class Child {
 public:
  template <class Body>
  explicit Child(Body&& body) {
    int ends[2];
    if (pipe(ends) != 0) ADD_FAILURE() << "no pipe";
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(ends[0]);
      body([end = ends[1]] {
        if (write(end, "x", 1) != 1) _exit(1);
      });
      _exit(0);
    }
    close(ends[1]);
    char byte;
    if (read(ends[0], &byte, 1) != 1) ADD_FAILURE() << "the child ended before it was ready";
    close(ends[0]);
  }
  ~Child() { kill_and_reap(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  // Kills and waits until it is a zombie.
  void kill_now() {
    kill(pid_, SIGKILL);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  void kill_and_reap() {
    if (reaped_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    reaped_ = true;
  }

 private:
  pid_t pid_;
  bool reaped_ = false;
};

// Waits for ever without the help of any function that Roost knows.
[[noreturn]] inline void sleep_for_ever() {
  for (;;) pause();
}

// Runs `body()` in a child to its end. Returns what it complains of: nothing if all is well.
template <class Body>
std::string in_child(Body&& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    std::string complaint = body();
    if (write(ends[1], complaint.data(), complaint.size()) < 0) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  std::string complaint;
  char text[256];
  for (ssize_t n; (n = read(ends[0], text, sizeof text)) > 0;) {
    complaint.append(text, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (status != 0) complaint += " (the child ended with status " + std::to_string(status) + ")";
  return complaint;
}

}  // namespace roost
