// How large the stack of a thread of Roost's own has to be.
#pragma once

#include <pthread.h>

#include <cstddef>

// glibc's, for the Java VM and others who make small stacks; private, but there since 2.17.
extern "C" std::size_t __pthread_get_minstack(const pthread_attr_t*) __attribute__((weak));

namespace roost {

// `bytes` beside what libc puts on each stack: the thread-local storage of the program and its
// libraries, which may be more than all the rest (a threadprivate common block).
inline std::size_t stack_beside_thread_locals(std::size_t bytes, const pthread_attr_t& attributes) {
  return bytes + (__pthread_get_minstack ? __pthread_get_minstack(&attributes) : 0);
}

}  // namespace roost
