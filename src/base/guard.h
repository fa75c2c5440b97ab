// Holds a lock as long as it lives: any with acquire() and release().
#pragma once

namespace roost {

template <class Lock>
class GuardOf {
 public:
  explicit GuardOf(Lock& lock) : lock_(lock) { lock_.acquire(); }
  ~GuardOf() { lock_.release(); }
  GuardOf(const GuardOf&) = delete;
  GuardOf& operator=(const GuardOf&) = delete;

 private:
  Lock& lock_;
};

}  // namespace roost
