// A program without OpenMP loads and unloads an object that uses it, again and again: nobody is in
// the object's code once its region is over.
// flags: -fno-openmp
// library: support/mixed_part.c same
// reference: clang
// reason: libgomp is unloaded with the object, and its threads fall into nothing
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static int use(const char* path, int size) {
  void* object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!object) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  long (*other_sum)(int) = (long (*)(int))dlsym(object, "other_sum");
  long sum = other_sum(size);
  dlclose(object);
  return sum != size * (size - 1) / 2;
}

static void* thread(void* path) {
  long bad = 0;
  for (int round = 0; round < 20; ++round) bad += use(path, round % 4 + 1);
  return (void*)bad;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int bad = 0;
  for (int round = 0; round < 60; ++round) bad += use(argv[1], round % 9 + 1);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, thread, argv[1]);
  for (int i = 0; i < 3; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    bad += result != NULL;
  }
  if (bad) fprintf(stderr, "%d wrong sums\n", bad);
  return bad != 0;
}
