// Objects that tasks copy are constructed and destroyed as often, also by taskloops and cancelled
// tasks.
#include <cstdio>
#include <initializer_list>

static int alive;

struct Counted {
  int value;
  explicit Counted(int v = 0) : value(v) {
#pragma omp atomic
    ++alive;
  }
  Counted(const Counted& other) : value(other.value) {
#pragma omp atomic
    ++alive;
  }
  ~Counted() {
    value = -1;
#pragma omp atomic
    --alive;
  }
};

static int run(int threads) {
  int sum = 0, before = alive;
#pragma omp parallel num_threads(threads)
#pragma omp single
  {
    for (int i = 0; i < 1000; ++i) {
      Counted counted(i);
#pragma omp task firstprivate(counted) shared(sum)
      {
#pragma omp atomic
        sum += counted.value;
      }
#pragma omp task firstprivate(counted) shared(sum) if (i % 2)
      {
#pragma omp task firstprivate(counted) shared(sum)
        {
#pragma omp atomic
          sum += counted.value;
        }
      }
    }
    Counted each(3);
#pragma omp taskloop firstprivate(each) shared(sum) num_tasks(37)
    for (int i = 0; i < 200; ++i) {
#pragma omp atomic
      sum += each.value;
    }
    Counted last;
#pragma omp taskloop lastprivate(last) grainsize(3)
    for (int i = 0; i < 100; ++i) last.value = i;
    if (last.value != 99) sum = -1;
#pragma omp taskgroup
    {
#pragma omp task
      {
#pragma omp cancel taskgroup
      }
      for (int i = 0; i < 50; ++i) {
#pragma omp task firstprivate(each)
        if (each.value != 3) each.value = 4;
      }
    }
  }
  return sum != 999000 + 600 || alive != before;
}

int main() {
  for (int threads : {1, 2, 7, 64}) {
    if (run(threads)) {
      std::printf("copies of objects are wrong with %d threads (%d left)\n", threads, alive);
      return 1;
    }
  }
  return 0;
}
