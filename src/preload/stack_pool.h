// Stacks that threads use besides their own, for as long as they live.
#pragma once

#include <cstddef>

namespace roost {

inline constexpr std::size_t kPooledStackBytes = 64 << 10;

// The lowest byte of a stack; below it is a page that may not be touched. Null without memory.
char* take_pooled_stack();
void give_pooled_stack(char* stack);
void pooled_stacks_after_fork();

}  // namespace roost
