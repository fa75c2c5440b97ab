// For tests of a library that the runner names as the program's argument.
#pragma once

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

// In no global scope. Ends the program if there is none.
static inline void* load_library(int argc, char** argv) {
  if (argc != 2) exit(2);
  void* object = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (object) return object;
  fprintf(stderr, "%s\n", dlerror());
  exit(1);
}
