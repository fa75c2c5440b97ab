// Whether a file is a shared object that may be loaded as a policy, before any of it is executed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/text.h"

namespace roost {

// Looks at the bytes of a file: a shared object for this machine that exports `roost_policy` alone,
// needs no library but libc, and of that calls nothing that waits, allocates or keeps state.
// Returns how many bytes its roost_policy has; 0 with what is wrong in a sentence that goes on
// after the file's name.
std::size_t check_policy_object(const unsigned char* file, std::size_t bytes, ErrorText& error);

// Names the contents of a file, for two who must have the same. Not against forgery.
std::uint64_t hash_of_file(const unsigned char* file, std::size_t bytes);

}  // namespace roost
