// Callers of an OpenBLAS: blas_products LIBRARY CALLERS WIDTH SIZE CALLS. Each multiplies the same
// two matrices so often, by calls of WIDTH threads; all results have to be the same, bit for bit.
// Prints a hash of it.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void Product(int order, int left, int right, int m, int n, int k, double alpha,
                     const double* a, int lda, const double* b, int ldb, double beta, double* c,
                     int ldc);
enum { kRowMajor = 101, kPlain = 111 };

static Product* product;
static void (*set_width)(int);  // of the calling thread's calls, in builds for OpenMP
static int width, size, calls;
static unsigned long expected;  // 0: nobody knows yet

static unsigned long hash_of(const double* matrix) {
  unsigned long hash = 1;
  for (int i = 0; i < size * size; ++i) {
    unsigned long bits;
    memcpy(&bits, &matrix[i], sizeof bits);
    hash = (hash ^ bits) * 0x100000001b3ul;
  }
  return hash;
}

static void* call(void* unused) {
  set_width(width);
  size_t n = (size_t)size * (size_t)size;
  double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), *c = malloc(n * sizeof *c);
  if (!a || !b || !c) abort();
  double value = 0.3;
  for (size_t i = 0; i < n; ++i) {
    a[i] = value = 3.7 * value * (1 - value);
    b[i] = value - 0.5;
  }
  for (int i = 0; i < calls; ++i) {
    memset(c, 0, n * sizeof *c);
    product(kRowMajor, kPlain, kPlain, size, size, size, 0.5, a, size, b, size, 0.25, c, size);
    unsigned long nobody = 0, hash = hash_of(c);
    if (__atomic_compare_exchange_n(&expected, &nobody, hash, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED) ||
        nobody == hash)
      continue;
    fprintf(stderr, "call %d gave %lx instead of %lx\n", i, hash, nobody);
    exit(1);
  }
  free(a);
  free(b);
  free(c);
  return unused;
}

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  product = (Product*)dlsym(library, "cblas_dgemm");
  set_width = (void (*)(int))dlsym(library, "openblas_set_num_threads");
  enum { kMost = 64 };
  pthread_t threads[kMost];
  int callers = atoi(argv[2]);
  if (!product || !set_width || callers > kMost) return 1;
  width = atoi(argv[3]);
  size = atoi(argv[4]);
  calls = atoi(argv[5]);
  for (int i = 0; i < callers; ++i)
    if (pthread_create(&threads[i], NULL, call, NULL) != 0) return 1;
  for (int i = 0; i < callers; ++i) pthread_join(threads[i], NULL);
  printf("%lx\n", expected);
  return 0;
}
