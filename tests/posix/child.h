// Child processes and how they end: exit codes as they are, death by signal N as -N.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>

#include "expect.h"

// Waits for the child.
__attribute__((unused)) static int outcome_of(pid_t pid) {
  int status = 0;
  pid_t ended;
  while ((ended = waitpid(pid, &status, 0)) == -1 && errno == EINTR) {
  }
  EXPECT_EQ(ended, pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Starts a child that runs `body` and exits with 0.
__attribute__((unused)) static pid_t fork_child(void (*body)(void)) {
  pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) {
    body();
    _exit(0);
  }
  return pid;
}

__attribute__((unused)) static int outcome_in_child(void (*body)(void)) {
  return outcome_of(fork_child(body));
}

// Starts this program afresh in a role; what it writes to `out` (-1: nothing) is its output.
__attribute__((unused)) static pid_t start_role(const char* role, int out) {
  pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) {
    if (out >= 0) dup2(out, 1);
    execl("/proc/self/exe", "role", role, (char*)0);
    _exit(127);
  }
  return pid;
}

__attribute__((unused)) static int outcome_of_role(const char* role) {
  return outcome_of(start_role(role, -1));
}

// As above, and what it wrote goes to `text`.
__attribute__((unused)) static int outcome_and_output(const char* role, char* text, size_t size) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  pid_t pid = start_role(role, ends[1]);
  close(ends[1]);
  size_t length = 0;
  ssize_t got;
  while ((got = read(ends[0], text + length, size - 1 - length)) > 0) length += (size_t)got;
  text[length] = 0;
  close(ends[0]);
  return outcome_of(pid);
}
