// Threads that "call" a library whose calls have as many threads as its width says:
//   LIBRARY fork|stay CALLERS WIDTH [SET]...
// Opens the library and, with `fork`, goes on in a child; starts CALLERS threads that compute,
// waits until the library's width is WIDTH, and prints it. Each SET is set by the program itself
// then, as what it asks for from now on, and the width reached after that is waited for: SET/WIDTH.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*get_width)(void);
static void (*set_width)(int);
static volatile int over;

static void* call(void* unused) {
  volatile unsigned long sum = 0;
  while (!over) sum = sum * 3 + 1;
  return unused;
}

static void wait_for_width(int wanted) {
  while (get_width() != wanted) usleep(1000);
  printf("%d\n", wanted);
  fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  get_width = (int (*)(void))dlsym(library, "openblas_get_num_threads");
  set_width = (void (*)(int))dlsym(library, "openblas_set_num_threads");
  enum { kMost = 64 };
  pthread_t threads[kMost];
  int callers = atoi(argv[3]);
  if (!get_width || !set_width || callers > kMost) return 1;
  if (strcmp(argv[2], "fork") == 0) {
    pid_t child = fork();
    int status = 0;
    if (child != 0) return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
  }
  for (int i = 0; i < callers; ++i)
    if (pthread_create(&threads[i], NULL, call, NULL) != 0) return 1;
  wait_for_width(atoi(argv[4]));
  for (int i = 5; i < argc; ++i) {
    int set, wanted;
    if (sscanf(argv[i], "%d/%d", &set, &wanted) != 2) return 2;
    set_width(set);
    wait_for_width(wanted);
  }
  over = 1;
  for (int i = 0; i < callers; ++i) pthread_join(threads[i], NULL);
  return 0;
}
