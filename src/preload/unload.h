// Keeps the unloading of objects away from those who write into their code.
#pragma once

namespace roost {

// True where no object can be unloaded as long as this lives; false while one is. A few system
// calls long at most: dlclose waits for it.
class WhileLoaded {
 public:
  WhileLoaded();
  ~WhileLoaded();
  WhileLoaded(const WhileLoaded&) = delete;
  WhileLoaded& operator=(const WhileLoaded&) = delete;
  explicit operator bool() const { return loaded_; }

 private:
  bool loaded_;
};

void unload_after_fork();

}  // namespace roost
