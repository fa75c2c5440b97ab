// Which shared object some code belongs to.
#pragma once

#include <dlfcn.h>

#include <cstring>

// Since glibc 2.35; the library may run on an older one than it was built with.
#pragma weak _dl_find_object

namespace roost {

// The object that has the address, found without the dynamic linker's lock. False if there is none,
// or no way to tell.
inline bool find_object(const void* address, dl_find_object& object) {
  return _dl_find_object && _dl_find_object(const_cast<void*>(address), &object) == 0;
}

// The file name in a path.
inline const char* file_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// Whether the file name in a path begins so.
inline bool has_file_name(const char* path, const char* begins) {
  return strncmp(file_name(path), begins, strlen(begins)) == 0;
}

// Whether it contains `part`.
inline bool name_contains(const char* path, const char* part) {
  const char* name = file_name(path);
  return memmem(name, strlen(name), part, strlen(part)) != nullptr;
}

// GCC's OpenMP runtime, also as wheels rename it. Where Roost's has taken its place it is still
// loaded, as objects name it, and its constructor binds the thread it runs in to the first place
// (OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY); its threads, which would have the other places,
// are never made. `address`: in its code. Not in a signal handler.
inline bool is_libgomp(const void* address) {
  Dl_info object;
  return dladdr(address, &object) && object.dli_fname && has_file_name(object.dli_fname, "libgomp");
}

}  // namespace roost
