/* Doacross loops: a sum over a grid in which each cell depends on its neighbours has the serial
   value, under every schedule, with sinks in any dimension. */
// reference: clang
// reason: with libgomp 64 threads spin for each other on few cores, for minutes
#include "worksharing.h"

#define N 23
#define M 17
#define K 5

static long expected_2[N][M], expected_3[N][M][K], expected_1[200];

static long cell(long* grid, int i, int j) {
  return i < 0 || j < 0 || j >= M ? 1 : grid[i * M + j];
}
static long mix(long a, long b, long c, int i, int j) {
  return (a * 3 + b * 5 + c * 7 + i + j) % 10007;
}

static void compare(struct log* log, const long* expected, long n, const char* what) {
#pragma omp barrier
#pragma omp single
  for (long i = 0; i < n; ++i)
    if (log->grid[i] != expected[i]) {
      fail(what, i);
      break;
    }
#pragma omp single
  memset(log->grid, 0, sizeof(long) * N * M * K);
}

/* A sink beyond the end of a dimension is none. Clang (14, 16) tells its runtime that there is one
   iteration more, and waits for it for ever. */
#ifdef __clang__
#define BEHIND(j) j
#else
#define BEHIND(j) j + 1
#endif

#define DOACROSS_2(NAME, T, BASE, ...)                                                           \
  static void NAME(struct log* log) {                                                            \
    long* grid = log->grid;                                                                      \
    PRAGMA(omp for ordered(2) schedule(__VA_ARGS__))                                             \
    for (T i = BASE; i < N + BASE; ++i)                                                          \
      for (T j = BASE; j < M + BASE; ++j) {                                                      \
        PRAGMA(omp ordered depend(sink                                                           \
                                  : i - 1, j) depend(sink                                        \
                                                     : i, j - 1) depend(sink                     \
                                                                        : i - 1, BEHIND(j)))     \
        int a = (int)(i - BASE), b = (int)(j - BASE);                                            \
        grid[a * M + b] =                                                                        \
            mix(cell(grid, a - 1, b), cell(grid, a, b - 1), cell(grid, a - 1, BEHIND(b)), a, b); \
        PRAGMA(omp ordered depend(source))                                                       \
      }                                                                                          \
    compare(log, &expected_2[0][0], N* M, #NAME);                                                \
  }

DOACROSS_2(doacross_static, int, 0, static)
DOACROSS_2(doacross_static_1, int, 0, static, 1)
DOACROSS_2(doacross_static_4, long, -3, static, 4)
DOACROSS_2(doacross_dynamic, int, 0, dynamic)
DOACROSS_2(doacross_dynamic_3, long, -3, dynamic, 3)
DOACROSS_2(doacross_guided, int, 0, guided)
DOACROSS_2(doacross_runtime, int, 0, runtime)
DOACROSS_2(doacross_ull, unsigned long long, 5, dynamic, 2)
DOACROSS_2(doacross_ull_static, unsigned long long, 5, static)

static void doacross_collapsed(struct log* log) {
  long* grid = log->grid;
#pragma omp for collapse(2) ordered(3) schedule(dynamic, 2)
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < M; ++j)
      for (int k = 0; k < K; ++k) {
#pragma omp ordered depend(sink : i - 1, j, k) depend(sink : i, j - 1, k) depend(sink : i, j, k - 1)
        long a = i ? grid[((i - 1) * M + j) * K + k] : 1;
        long b = j ? grid[(i * M + j - 1) * K + k] : 1;
        long c = k ? grid[(i * M + j) * K + k - 1] : 1;
        grid[(i * M + j) * K + k] = mix(a, b, c, i, k);
#pragma omp ordered depend(source)
      }
  compare(log, &expected_3[0][0][0], N * M * K, "doacross with collapse");
}

static void doacross_line(struct log* log) {
  long* grid = log->grid;
#pragma omp for ordered(1) schedule(static, 2)
  for (int i = 400; i > 0; i -= 2) {
    int n = (400 - i) / 2;
    long own = n % 13; /* what needs not wait */
#pragma omp ordered depend(sink : i + 6)
    grid[n] = n >= 3 ? (grid[n - 3] * 3 + own) % 10007 : own;
#pragma omp ordered depend(source)
  }
  compare(log, expected_1, 200, "doacross in one dimension, down");
}

static void body(struct log* log) {
#pragma omp single
  log->grid = calloc(N * M * K, sizeof(long));
  for (int r = 0; r < 3; ++r) {
    doacross_static(log);
    doacross_static_1(log);
    doacross_static_4(log);
    doacross_dynamic(log);
    doacross_dynamic_3(log);
    doacross_guided(log);
    doacross_runtime(log);
    doacross_ull(log);
    doacross_ull_static(log);
    doacross_collapsed(log);
    doacross_line(log);
  }
#pragma omp barrier
#pragma omp single
  free(log->grid);
}

int main() {
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < M; ++j)
      expected_2[i][j] = mix(cell(&expected_2[0][0], i - 1, j), cell(&expected_2[0][0], i, j - 1),
                             cell(&expected_2[0][0], i - 1, BEHIND(j)), i, j);
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < M; ++j)
      for (int k = 0; k < K; ++k)
        expected_3[i][j][k] = mix(i ? expected_3[i - 1][j][k] : 1, j ? expected_3[i][j - 1][k] : 1,
                                  k ? expected_3[i][j][k - 1] : 1, i, k);
  for (int n = 0; n < 200; ++n)
    expected_1[n] = n >= 3 ? (expected_1[n - 3] * 3 + n % 13) % 10007 : n % 13;
  everywhere(body);
  return failures != 0;
}
