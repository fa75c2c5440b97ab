// Callers of a library that passes for OpenBLAS: blas_pieces LIBRARY CALLERS PIECES CALLS [plain |
// apart | fork]. Prints how many pieces were done by other threads than their callers, after a
// first call that is not counted.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long (*library_call)(long pieces, int mode, int chained, long* elsewhere);
static long pieces, calls, all_elsewhere;
static const char* how = "";

static long expected(void) {
  unsigned long sum = 0;
  for (int round = 0; round < 3; ++round)
    for (long i = 0; i < pieces; ++i) sum = sum * 3 + (unsigned long)i;
  return (long)sum;
}

static void* call(void* unused) {
  (void)unused;
  for (long i = 0; i < calls; ++i) {
    long elsewhere;
    long got = library_call(pieces, strcmp(how, "plain") == 0 ? 0x4000 : 0,
                            strcmp(how, "apart") != 0, &elsewhere);
    __atomic_add_fetch(&all_elsewhere, elsewhere, __ATOMIC_RELAXED);
    if (got == expected()) continue;
    fprintf(stderr, "call %ld returned %ld instead of %ld\n", i, got, expected());
    exit(1);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library) *(void**)&library_call = dlsym(library, "call_of_pieces");
  if (!library_call) return 1;
  long callers = atol(argv[2]);
  pieces = atol(argv[3]);
  calls = atol(argv[4]);
  if (argc > 5) how = argv[5];
  // The first call finds out about the library; others meanwhile are the library's own.
  long calls_of_each = calls;
  calls = 1;
  call(NULL);
  calls = calls_of_each;
  all_elsewhere = 0;
  if (strcmp(how, "fork") == 0) {
    call(NULL);
    pid_t child = fork();
    if (child == 0) {
      call(NULL);
      _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  pthread_t* ids = calloc((size_t)callers, sizeof *ids);
  for (long i = 0; i < callers; ++i) pthread_create(&ids[i], NULL, call, NULL);
  for (long i = 0; i < callers; ++i) pthread_join(ids[i], NULL);
  free(ids);
  printf("%ld\n", all_elsewhere);
  return 0;
}
