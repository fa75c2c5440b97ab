// Threads that a library makes for one of its calls: the OpenMP runtime runs them as light threads
// (omp/crew.h), if it is in the process.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

namespace roost {

// Whether Roost's OpenMP runtime is in the process.
bool has_openmp_runtime();

// `caller`: the object that calls pthread_create. False if its thread has to be a real one. Any
// thread; takes no lock of the dynamic linker's.
bool make_library_thread(const dl_find_object& caller, pthread_t* handle, void* (*start)(void*),
                         void* argument);

// False if `handle` is no such thread of the caller's.
bool join_library_thread(pthread_t handle, void** result);

}  // namespace roost
