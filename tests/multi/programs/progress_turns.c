// Two threads that take turns by polling a library's function: LIBRARY local|global FUNCTION TURNS.
// Prints the turns. The library is loaded as plugins are, or for all objects to see.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int (*take_turn)(const char*, uint32_t);
static const char* function;
static uint32_t turns;

static void* every_other(void* first) {
  for (uint32_t turn = (uint32_t)(uintptr_t)first; turn < turns; turn += 2)
    if (!take_turn(function, turn)) exit(2);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | (strcmp(argv[2], "local") ? RTLD_GLOBAL : RTLD_LOCAL));
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  take_turn = (int (*)(const char*, uint32_t))dlsym(library, "take_turn");
  function = argv[3];
  turns = (uint32_t)atoi(argv[4]);
  pthread_t other;
  if (pthread_create(&other, NULL, every_other, (void*)1) != 0) return 1;
  every_other((void*)0);
  pthread_join(other, NULL);
  printf("%u turns\n", turns);
  return 0;
}
