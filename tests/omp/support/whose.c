// Whether OpenMP calls are served by one copy of libroost_omp.so, and no other runtime is loaded.
// libgomp_roost.so is the file that libroost_omp.so is a link to.
#include <dlfcn.h>
#include <link.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

// An entry point of the compiler's own, as the program's own references find it.
#ifdef __clang__
void __kmpc_barrier(void);
#define ENTRY_POINT __kmpc_barrier
#else
void GOMP_barrier(void);
#define ENTRY_POINT GOMP_barrier
#endif

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int is_ours(const char* name) {
  return strcmp(name, "libroost_omp.so") == 0 || strcmp(name, "libgomp_roost.so") == 0;
}

static int serves(const void* function) {
  Dl_info info = {0};
  dladdr(function, &info);
  const char* file = info.dli_fname ? info.dli_fname : "nobody";
  if (is_ours(base_name(file))) return 1;
  fprintf(stderr, "a call goes to %s\n", file);
  return 0;
}

static int has_text(const struct dl_phdr_info* info) {
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) return 1;
  return 0;
}

struct loaded {
  int ours, others;
};
static int look(struct dl_phdr_info* info, size_t size, void* data) {
  struct loaded* loaded = data;
  (void)size;
  const char* name = base_name(info->dlpi_name);
  if (is_ours(name)) {
    ++loaded->ours;
    return 0;
  }
  if ((strncmp(name, "libgomp", 7) == 0 || strncmp(name, "libomp", 6) == 0) && has_text(info)) {
    fprintf(stderr, "%s is loaded\n", info->dlpi_name);
    ++loaded->others;
  }
  return 0;
}

int served_by_one_roost(void) {
  struct loaded loaded = {0, 0};
  dl_iterate_phdr(look, &loaded);
  if (loaded.ours != 1) fprintf(stderr, "%d copies of libroost_omp.so\n", loaded.ours);
  return loaded.ours == 1 && !loaded.others && serves((const void*)omp_get_wtime) &&
         serves((const void*)ENTRY_POINT);
}
