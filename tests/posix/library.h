// Opens the shared objects of tests/posix/lib, which lie beside the program.
#pragma once

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>

#include "expect.h"

__attribute__((unused)) static void* open_library(const char* name) {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
  EXPECT(length > 0);
  path[length] = 0;
  char* folder_end = strrchr(path, '/');
  snprintf(folder_end, 64, "/lib/lib%s.so", name);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) dprintf(2, "%s\n", dlerror());
  EXPECT(library);
  return library;
}

__attribute__((unused)) static void* symbol_in(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  EXPECT(symbol);
  return symbol;
}
