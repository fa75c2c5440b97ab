// Keeps GCC's runtime, whose place this library takes, from binding the thread that loads it: the
// program would have one CPU.
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>

#include "base/loaded_object.h"
#include "omp/export.h"

extern "C" ROOST_EXPORT int pthread_setaffinity_np(pthread_t thread, std::size_t bytes,
                                                   const cpu_set_t* set) {
  if (roost::is_libgomp(__builtin_return_address(0))) return 0;
  // Libc's.
  using SetAffinity = int(pthread_t, std::size_t, const cpu_set_t*);
  auto* next = reinterpret_cast<SetAffinity*>(dlsym(RTLD_NEXT, "pthread_setaffinity_np"));
  return next ? next(thread, bytes, set) : ENOSYS;
}
