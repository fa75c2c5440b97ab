// Loops over iterators and pointers, and copyprivate of an object with constructors.
#include <cstdio>
#include <vector>

static int loops(int threads) {
  std::vector<int> values(1000, 0);
#pragma omp parallel for schedule(dynamic, 7) num_threads(threads)
  for (auto at = values.begin(); at < values.end(); at += 3) ++*at;
#pragma omp parallel for schedule(guided) num_threads(threads) collapse(2)
  for (auto at = values.begin(); at < values.end(); at += 10)
    for (int k = 0; k < 10; ++k) ++at[k];
  long sum = 0;
#pragma omp parallel for schedule(static, 3) num_threads(threads) reduction(+ : sum)
  for (int* at = values.data(); at < values.data() + 1000; ++at) sum += *at;
  if (sum != 1000 + 334) return 1;
  for (int i = 0; i < 1000; ++i)
    if (values[i] != 1 + (i % 3 == 0)) return 2;
  int bad = 0;
#pragma omp parallel num_threads(threads)
  {
    std::vector<int> copied;
#pragma omp single copyprivate(copied)
    copied.assign(5, threads);
    if (copied.size() != 5 || copied[4] != threads) {
#pragma omp atomic write
      bad = 3;
    }
  }
  return bad;
}

int main() {
  for (int threads = 1; threads < 20; threads += 3) {
    if (int what = loops(threads)) {
      std::printf("loop %d of iterators is wrong with %d threads\n", what, threads);
      return 1;
    }
  }
  return 0;
}
