// Callers of a library whose calls make threads and join them: crew_calls LIBRARY CALLERS THREADS
// CALLS [fork]. Each caller checks what each call returns; with `fork`, a child calls as well.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kBarriers = 3 };
static long (*library_call)(long threads, long barriers, int backwards);
static long threads, calls;

static long expected(void) {
  unsigned long sum = 0;
  for (int i = 0; i < kBarriers; ++i)
    for (long turn = 0; turn < threads; ++turn) sum = sum * 3 + (unsigned long)turn;
  return (long)sum;
}

static void* call(void* failed) {
  for (long i = 0; i < calls; ++i) {
    long got = library_call(threads, kBarriers, (int)(i % 2));
    if (got == expected()) continue;
    fprintf(stderr, "call %ld returned %ld instead of %ld\n", i, got, expected());
    *(int*)failed = 1;
    break;
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  library_call = library ? (long (*)(long, long, int))dlsym(library, "call_of_crew") : NULL;
  if (!library_call) return 1;
  long callers = atol(argv[2]);
  threads = atol(argv[3]);
  calls = atol(argv[4]);
  int failed = 0;
  call(&failed);
  if (argc > 5) {
    pid_t child = fork();
    if (child == 0) {
      call(&failed);
      _exit(failed);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) failed = 1;
  }
  pthread_t* ids = calloc((size_t)callers, sizeof *ids);
  for (long i = 0; i < callers; ++i) pthread_create(&ids[i], NULL, call, &failed);
  for (long i = 0; i < callers; ++i) pthread_join(ids[i], NULL);
  free(ids);
  if (!failed) puts("as expected");
  return failed;
}
