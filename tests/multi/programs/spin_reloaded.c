// Threads that meet at a library's barrier, which spins; the library is loaded anew for each team:
// LIBRARY TEAMS.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MEMBERS = 6, ROUNDS = 100 };
static void (*spin_barrier)(int);

static void* meet(void* unused) {
  for (int i = 0; i < ROUNDS; ++i) spin_barrier(MEMBERS);
  return unused;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int teams = atoi(argv[2]);
  for (int team = 0; team < teams; ++team) {
    void* library = dlopen(argv[1], RTLD_NOW);
    if (!library) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    spin_barrier = (void (*)(int))dlsym(library, "spin_barrier");
    pthread_t threads[MEMBERS];
    for (int i = 0; i < MEMBERS; ++i)
      if (pthread_create(&threads[i], NULL, meet, NULL) != 0) return 1;
    for (int i = 0; i < MEMBERS; ++i) pthread_join(threads[i], NULL);
    if (dlclose(library) != 0) return 1;
  }
  printf("%d teams\n", teams);
  return 0;
}
