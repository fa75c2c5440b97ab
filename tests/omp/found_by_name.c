// Tools find the runtime as threadpoolctl does: among the loaded objects, by how the names of their
// files begin, links followed; and set its number of threads through the object's own functions.
// flags: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>

#include "expect.h"

static int begins(const char* text, const char* with) {
  return strncmp(text, with, strlen(with)) == 0;
}

static int limit(struct dl_phdr_info* info, size_t size, void* found) {
  (void)size;
  char path[PATH_MAX];
  if (!realpath(info->dlpi_name, path)) return 0;
  const char* name = strrchr(path, '/') + 1;
  if (!begins(name, "libgomp") && !begins(name, "libomp") && !begins(name, "libiomp")) return 0;
  void* object = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (!object) return 0;
  void (*set)(int) = (void (*)(int))dlsym(object, "omp_set_num_threads");
  if (set) {
    set(3);
    ++*(int*)found;
  }
  dlclose(object);
  return 0;
}

int main(void) {
  int found = 0, members = 0;
  omp_set_dynamic(0);
  dl_iterate_phdr(limit, &found);
  EXPECT(found > 0);
  EXPECT_EQ(omp_get_max_threads(), 3);
#pragma omp parallel
  {
#pragma omp single
    members = omp_get_num_threads();
  }
  EXPECT_EQ(members, 3);
  return verdict();
}
