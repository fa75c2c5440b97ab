// What gfortran 14 asks of an allocatable scalar before its memory is freed or resized: whether
// OpenMP has it. Asked once, it is forgotten.
// compilers: gcc
// threads: 7
// reference: no
// reason: older ones of libgomp do not know it, and newer ones only in one thread at a time
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "check.h"

void* GOMP_alloc(size_t alignment, size_t bytes, size_t allocator);
void GOMP_free(void* memory, size_t allocator);

typedef void Add(void*);
typedef bool Ask(void*);

int main(void) {
  Add* add = (Add*)dlsym(RTLD_DEFAULT, "GOMP_add_alloc");
  Ask* ask = (Ask*)dlsym(RTLD_DEFAULT, "GOMP_is_alloc");
  CHECK(add && ask);
  add(NULL);
  CHECK(!ask(NULL));
#pragma omp parallel
  for (int round = 0; round < 100; ++round) {
    void* ours[100];
    void* others[100];
    for (int i = 0; i < 100; ++i) {
      others[i] = malloc(8);
      ours[i] = GOMP_alloc(8, 8, 0);
      add(ours[i]);
    }
    for (int i = 0; i < 100; ++i) {
      CHECK(!ask(others[i]));
      free(others[i]);
      CHECK(ask(ours[i]));
      CHECK(!ask(ours[i]));
      GOMP_free(ours[i], 0);
    }
  }
  return 0;
}
