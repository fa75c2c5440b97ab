// A library whose constructor opens regions is loaded by dlopen, from serial code and by a member
// of a region: the loader's lock is held meanwhile.
// library: support/early.c same
#include <dlfcn.h>

#include "expect.h"

static void use(const char* path) {
  void* object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!object) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  int (*early_members)(void) = (int (*)(void))dlsym(object, "early_members");
  EXPECT_EQ(early_members(), 603);
  dlclose(object);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  allow_nesting();
  for (int round = 0; round < 5; ++round) use(argv[1]);
#pragma omp parallel num_threads(3)
  {
    if (omp_get_thread_num() == 0) use(argv[1]);
#pragma omp barrier
  }
  for (int round = 0; round < 5; ++round) use(argv[1]);
  return verdict();
}
