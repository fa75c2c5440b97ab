// Whether a thread that tries to take locks does so over and over.
#pragma once

namespace roost {

// Of one thread. Who finds locks free each time may wait for something else all the same: that
// nobody has put what it looks for under them yet.
class LockPolls {
 public:
  // Before a try: whether others had better run first.
  bool is_time_for_others() { return ++tries_ % kTries == 0; }
  void failed() { tries_ = kTries - 1; }

 private:
  static constexpr unsigned kTries = 8;
  unsigned tries_ = 0;
};

}  // namespace roost
