// How the command ends when something is wrong: one sentence on standard error and an exit code.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>

namespace roost::cli {

enum ExitCode {
  kFailed = 1,           // could not do what was asked
  kWrongUsage = 2,       // an option or its value is wrong
  kCannotRun = 125,      // roost run: Roost itself cannot run here; as in env, nice and timeout
  kNotExecutable = 126,  // roost run: as in shells
  kNotFound = 127,       // roost run: as in shells
};

// Ends the command; main says the sentence.
class Failure : public std::exception {
 public:
  Failure(int code, std::string sentence) : code_(code), sentence_(std::move(sentence)) {}
  int code() const { return code_; }
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  int code_;
  std::string sentence_;
};

template <class... Arguments>
[[noreturn]] void die(int code, fmt::format_string<Arguments...> form, Arguments&&... arguments) {
  throw Failure(code, fmt::format(form, std::forward<Arguments>(arguments)...));
}

// Says "roost: sentence" on one line, whatever a name in the sentence may hold.
inline void say(std::string sentence) {
  for (char& c : sentence) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  fmt::print(stderr, "roost: {}\n", sentence);
}

template <class... Arguments>
void warn(fmt::format_string<Arguments...> form, Arguments&&... arguments) {
  say(fmt::format(form, std::forward<Arguments>(arguments)...));
}

}  // namespace roost::cli
