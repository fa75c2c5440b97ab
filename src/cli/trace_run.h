// Runs a command and records it (`roost run --trace`).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/trace_folder.h"

namespace roost::cli {

// What --trace and --trace-events ask for.
struct TraceWish {
  std::string file;
  std::uint64_t events;  // for each thread
};
// Nothing if no trace is asked for. Ends the command if an option is wrong.
std::optional<TraceWish> trace_wish(const std::optional<std::string>& file,
                                    const std::optional<std::string>& events);

class Recording {
 public:
  // Ends the command if the file cannot be written, or is something else than an earlier trace.
  explicit Recording(TraceWish wish);
  ~Recording();  // nothing is left but a file that was written
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // For the environment of the command.
  const std::string& folder() const { return folder_.path(); }
  std::uint64_t events() const { return wish_.events; }

  // Calls `become`, which does not return, in a child, passes on signals that are sent to this
  // process, and writes the trace when the child ends. Returns how that ended, as waitpid() does;
  // instead of success kCannotRun if the trace could not be written.
  int run(const std::vector<std::string>& command, const std::function<void()>& become);

 private:
  bool write(const std::vector<std::string>& command, int child) const;

  TraceWish wish_;
  RingFolder folder_;
  bool made_ = false;  // there was no such file
  bool written_ = false;
};

// Ends this process as the other one ended: returns an exit status, or dies by a signal.
int end_as(int wait_status);

}  // namespace roost::cli
