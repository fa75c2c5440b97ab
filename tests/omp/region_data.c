// What members share and what each has for itself: private, firstprivate, shared and reduced
// variables, many arguments, and large objects by value.
#include "expect.h"

struct large {
  long words[512];
};

static void many_arguments(int n) {
  long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12;
  long m = 13, o = 14, p = 15, q = 16, r = 17, s = 18, t = 19, u = 20;
  long sum = 0;
#pragma omp parallel num_threads(n) \
    shared(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u)
  {
    long own = a + b + c + d + e + f + g + h + i + j + k + l + m + o + p + q + r + s + t + u;
#pragma omp critical(sum)
    sum += own;
    if (omp_get_thread_num() == n - 1) {
#pragma omp critical(sum)
      sum += (a = 0) + (u = 0);
    }
  }
  EXPECT_EQ(a, 0);
  EXPECT_EQ(u, 0);
  EXPECT(sum <= 210l * n && sum >= 189l * n);
}

static void copies(int n) {
  struct large first;
  for (int i = 0; i < 512; ++i) first.words[i] = i;
  long private_one = -1, first_one = 42, shared_one = 0;
#pragma omp parallel num_threads(n) private(private_one) firstprivate(first, first_one)
  {
    int me = omp_get_thread_num();
    for (int i = 0; i < 512; ++i) EXPECT_EQ(first.words[i], i);
    for (int i = 0; i < 512; ++i) first.words[i] += me;
    private_one = me;
    first_one += me;
#pragma omp barrier
    for (int i = 0; i < 512; ++i) EXPECT_EQ(first.words[i], i + me);
    EXPECT_EQ(private_one, me);
    EXPECT_EQ(first_one, 42 + me);
#pragma omp atomic
    shared_one += private_one;
  }
  EXPECT_EQ(private_one, -1);
  EXPECT_EQ(first_one, 42);
  EXPECT_EQ(first.words[7], 7);
  EXPECT_EQ(shared_one, (long)n * (n - 1) / 2);
}

static void reduced(int n) {
  long sum = 10, product = 1, bits = 0, low = 1000, high = -1000;
  int all = 1;
  double real = 0.5;
#pragma omp parallel num_threads(n) reduction(+ : sum, real) reduction(* : product) \
    reduction(| : bits) reduction(min : low) reduction(max : high) reduction(&& : all)
  {
    int me = omp_get_thread_num();
    sum += me;
    product *= me % 2 + 1;
    bits |= 1l << (me % 60);
    if (me < low) low = me;
    if (me > high) high = me;
    all = all && me < n;
    real += 0.25;
  }
  EXPECT_EQ(sum, 10 + (long)n * (n - 1) / 2);
  EXPECT_EQ(product, n / 2 < 62 ? 1l << (n / 2) : 0);
  EXPECT_EQ(bits, n < 60 ? (1l << n) - 1 : (1l << 60) - 1);
  EXPECT_EQ(low, 0);
  EXPECT_EQ(high, n - 1);
  EXPECT_EQ(all, 1);
  EXPECT(real == 0.5 + 0.25 * n);
}

int main(void) {
  allow_nesting();
  static const int sizes[] = {1, 2, 3, 7, 16, 64, 65};
  for (int round = 0; round < 20; ++round)
    for (int i = 0; i < 7; ++i) {
      many_arguments(sizes[i]);
      copies(sizes[i]);
      reduced(sizes[i]);
    }
  return verdict();
}
