// A program without OpenMP loads objects of both compilers, and the runtimes by their names, as
// Python's tools do: all of it is one runtime.
// flags: -fno-openmp
// library: support/mixed_part.c same
// library: support/early.c other
// ours: named both
// reference: no
// reason: it is about our libraries
#include <dlfcn.h>
#include <stdio.h>

static void* load(const char* path) {
  void* object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!object) fprintf(stderr, "%s\n", dlerror());
  return object;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* by_name = load("libgomp.so.1");
  void* object = load(argv[1]);
  void* other_object = load(argv[2]);
  void* other_name = load("libomp.so.5");
  if (!by_name || !object || !other_object || !other_name) return 1;
  long (*other_sum)(int) = (long (*)(int))dlsym(object, "other_sum");
  int (*early_members)(void) = (int (*)(void))dlsym(other_object, "early_members");
  int bad = other_sum(5) != 10 || early_members() != 603;
  if (bad) fprintf(stderr, "wrong sums\n");
  static const char* const names[] = {"omp_get_wtime", "GOMP_parallel", "__kmpc_fork_call"};
  for (unsigned i = 0; i < sizeof names / sizeof *names; ++i) {
    void* found = dlsym(by_name, names[i]);
    Dl_info info = {0};
    dladdr(found, &info);
    if (found && found == dlsym(other_name, names[i])) continue;
    fprintf(stderr, "%s is not one: %s\n", names[i], info.dli_fname ? info.dli_fname : "nowhere");
    bad = 1;
  }
  return bad;
}
