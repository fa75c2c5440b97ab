// Dependences order tasks: chains, diamonds, readers between writers, inoutset, and random graphs.
#include <stdio.h>
#include <stdlib.h>

static int fail(const char* what, int threads) {
  printf("%s is out of order with %d threads\n", what, threads);
  return 1;
}

static int chain(void) {
  int x = 0, wrong = 0;
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 2000; ++i) {
#pragma omp task depend(inout : x) shared(x, wrong) firstprivate(i)
    {
      if (x != i) wrong = 1;
      x = i + 1;
    }
  }
  return wrong || x != 2000;
}

static int diamond(void) {
  int wrong = 0;
  for (int round = 0; round < 100; ++round) {
    int a = 0, b = 0, c = 0, d = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : a) shared(a)
      a = 1;
#pragma omp task depend(in : a) depend(out : b) shared(a, b)
      b = a + 1;
#pragma omp task depend(in : a) depend(out : c) shared(a, c)
      c = a + 2;
#pragma omp task depend(in : b, c) depend(out : d) shared(b, c, d)
      d = b + c;
#pragma omp taskwait
      if (d != 5) wrong = 1;
    }
  }
  return wrong;
}

static int readers(void) {
  int x = 0, wrong = 0, reading[16];
  for (int i = 0; i < 16; ++i) reading[i] = -1;
#pragma omp parallel
#pragma omp single
  for (int round = 0; round < 50; ++round) {
#pragma omp task depend(inout : x) shared(x, reading, wrong) firstprivate(round)
    {
      for (int i = 0; i < 16; ++i)
        if (round && reading[i] != round - 1) wrong = 1;
      x = round;
    }
    for (int i = 0; i < 16; ++i) {
#pragma omp task depend(in : x) shared(x, reading, wrong) firstprivate(round, i)
      {
        if (x != round) wrong = 1;
        reading[i] = x;
      }
    }
  }
  return wrong;
}

static int exclusive(void) {
  int x = 0, sum = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task depend(out : x) shared(x, sum)
    sum = 1;
    for (int i = 0; i < 200; ++i) {
#pragma omp task depend(mutexinoutset : x) shared(sum)
      ++sum;
    }
#pragma omp task depend(in : x) shared(sum)
    sum *= 2;
  }
  return sum != 402;
}

enum { kTasks = 400, kPlaces = 12 };

// Each task folds the places it reads into those it writes; the order of writes decides the result.
static void step(unsigned* place, unsigned a, unsigned b, unsigned c, int i) {
  place[c] = place[c] * 31 + place[a] * 7 + place[b] + (unsigned)i;
}

static int random_graph(unsigned seed) {
  unsigned serial[kPlaces], place[kPlaces];
  unsigned pick[kTasks][3];
  for (unsigned i = 0; i < kPlaces; ++i) serial[i] = place[i] = i;
  for (int i = 0; i < kTasks; ++i)
    for (int j = 0; j < 3; ++j) pick[i][j] = (seed = seed * 1103515245u + 12345u) / 65536 % kPlaces;
  for (int i = 0; i < kTasks; ++i) step(serial, pick[i][0], pick[i][1], pick[i][2], i);
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < kTasks; ++i) {
    unsigned a = pick[i][0], b = pick[i][1], c = pick[i][2];
    if (i % 37 == 0) {
#pragma omp task depend(in : place[a], place[b]) depend(inout : place[c]) shared(place) if (0)
      step(place, a, b, c, i);
    } else if (i % 41 == 0) {
#pragma omp taskwait depend(in : place[a], place[b]) depend(inout : place[c])
      step(place, a, b, c, i);
    } else {
#pragma omp task depend(in : place[a], place[b]) depend(inout : place[c]) shared(place)
      step(place, a, b, c, i);
    }
  }
  for (int i = 0; i < kPlaces; ++i)
    if (place[i] != serial[i]) return 1;
  return 0;
}

extern void omp_set_num_threads(int);

int main(void) {
  const int sizes[] = {1, 2, 7, 64};
  for (int i = 0; i < 4; ++i) {
    omp_set_num_threads(sizes[i]);
    if (chain()) return fail("a chain", sizes[i]);
    if (diamond()) return fail("a diamond", sizes[i]);
    if (readers()) return fail("readers and writers", sizes[i]);
    if (exclusive()) return fail("mutexinoutset", sizes[i]);
    for (unsigned seed = 1; seed <= 20; ++seed)
      if (random_graph(seed)) return fail("a random graph", sizes[i]);
  }
  return 0;
}
