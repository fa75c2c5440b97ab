// Creating threads.
#pragma once

#include "preload/thread.h"

namespace roost {

// pthread_create(3); a cached kernel thread serves if one fits.
int create_thread(pthread_t* handle, const pthread_attr_t* attr, void* (*start)(void*),
                  void* argument);

}  // namespace roost
