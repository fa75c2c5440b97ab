// Reductions of taskloops, of taskgroups with tasks that take part, and with the task modifier.
#include <stdio.h>

static int sum_in_loop(int n) {
  int sum = 5;
#pragma omp taskloop reduction(+ : sum)
  for (int i = 0; i < n; ++i) sum += i;
  return sum != 5 + (n > 0 ? n * (n - 1) / 2 : 0);
}

static void tree(int n, long* into) {
  long sum = *into;
  if (n == 0) return;
#pragma omp taskgroup task_reduction(+ : sum)
  {
#pragma omp task in_reduction(+ : sum)
    sum += n;
#pragma omp task in_reduction(+ : sum)
    {
      sum += n;
#pragma omp task in_reduction(+ : sum)
      sum += n;
    }
  }
  *into = sum;
  tree(n - 1, into);
}

static int in_groups(void) {
  long sum = 0;
  int wrong = 0;
  double product = 1;
#pragma omp taskgroup task_reduction(* : product)
  {
    for (int i = 0; i < 20; ++i) {
#pragma omp task in_reduction(* : product)
      product *= 2;
    }
#pragma omp taskgroup task_reduction(+ : sum)
    for (int i = 0; i < 50; ++i) {
#pragma omp task in_reduction(+ : sum) in_reduction(* : product)
      {
        sum += i;
        if (i % 10 == 0) product *= 2;
      }
    }
    if (sum != 1225) wrong = 1;
  }
  if (wrong || product != 1 << 25) return 1;
  sum = 0;
  tree(30, &sum);
  return sum != 3 * 465;
}

static int with_arrays(void) {
  int a[8] = {0};
#pragma omp taskgroup task_reduction(+ : a [0:8])
  for (int i = 0; i < 80; ++i) {
#pragma omp task in_reduction(+ : a [0:8])
    a[i % 8] += i;
  }
  for (int i = 0; i < 8; ++i)
    if (a[i] != 10 * i + 8 * 45) return 1;
  return 0;
}

static int over_region(int threads) {
  int sum = 1, members = 0;
#pragma omp parallel num_threads(threads) reduction(task, + : sum) reduction(+ : members)
  {
    ++members;
    for (int i = 0; i < 10; ++i) {
#pragma omp task in_reduction(+ : sum)
      sum += i;
    }
  }
  return sum != 1 + 45 * members;
}

static int over_loop(int threads) {
  static int sum;
  sum = 3;
#pragma omp parallel num_threads(threads)
  for (int round = 0; round < 3; ++round) {
#pragma omp for reduction(task, + : sum)
    for (int i = 0; i < 100; ++i) {
#pragma omp task in_reduction(+ : sum)
      sum += i;
    }
  }
  return sum != 3 + 3 * 4950;
}

int main(void) {
  const int sizes[] = {1, 2, 7, 64};
  for (int i = 0; i < 4; ++i) {
    int wrong = 0;
#pragma omp parallel num_threads(sizes[i])
#pragma omp single
    {
      if (sum_in_loop(1000) || sum_in_loop(0) || sum_in_loop(-3)) wrong |= 1;
      if (in_groups()) wrong |= 2;
      if (with_arrays()) wrong |= 4;
    }
    for (int round = 0; round < 10; ++round) {
      if (over_region(sizes[i])) wrong |= 8;
      if (over_loop(sizes[i])) wrong |= 16;
    }
    if (wrong) {
      printf("task reductions are wrong (%d) with %d threads\n", wrong, sizes[i]);
      return 1;
    }
  }
  if (sum_in_loop(100) || in_groups()) {
    printf("task reductions are wrong outside regions\n");
    return 1;
  }
  return 0;
}
