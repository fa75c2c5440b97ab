// Callers of an OpenBLAS: blas_products LIBRARY ROUTINE CALLERS WIDTH CALLS. Each calls the routine
// so often, with the same matrices of 256 x 256, for WIDTH threads; all results have to be the
// same, bit for bit. Prints a hash of them.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSize = 256, kNumbers = kSize * kSize };
enum {
  kColumns = 102,
  kPlain = 111,
  kTransposed = 112,
  kUpper = 121,
  kLower = 122,
  kNonUnit = 131,
  kLeft = 141,
  kRight = 142
};

static void* library;
static void (*set_width)(int);  // of the calling thread's calls, in builds for OpenMP
static int width, calls;
static const char* routine;
static unsigned long expected;  // 0: nobody knows yet

static unsigned long hash_of(const double* numbers, int count) {
  unsigned long hash = 1;
  for (int i = 0; i < count; ++i) {
    unsigned long bits;
    memcpy(&bits, &numbers[i], sizeof bits);
    hash = (hash ^ bits) * 0x100000001b3ul;
  }
  return hash;
}

typedef void Gemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double* a,
                  int lda, const double* b, int ldb, double beta, double* c, int ldc);
typedef void SingleGemm(int order, int ta, int tb, int m, int n, int k, float alpha,
                        const double* a, int lda, const double* b, int ldb, float beta, double* c,
                        int ldc);
typedef void ComplexGemm(int order, int ta, int tb, int m, int n, int k, const double* alpha,
                         const double* a, int lda, const double* b, int ldb, const double* beta,
                         double* c, int ldc);
typedef void Symm(int order, int side, int part, int m, int n, double alpha, const double* a,
                  int lda, const double* b, int ldb, double beta, double* c, int ldc);
typedef void Syrk(int order, int part, int trans, int n, int k, double alpha, const double* a,
                  int lda, double beta, double* c, int ldc);
typedef void Trsm(int order, int side, int part, int trans, int unit, int m, int n, double alpha,
                  const double* a, int lda, double* b, int ldb);

static void* function(const char* name) {
  void* found = dlsym(library, name);
  if (found) return found;
  fprintf(stderr, "there is no %s\n", name);
  exit(1);
}

// The matrices are taken for what the routine wants: `a` is well conditioned.
static void do_call(const double* a, const double* b, double* c) {
  enum { n = kSize };
  static const double kHalf[2] = {0.5, 0.25};
  if (strcmp(routine, "dgemm") == 0) {
    ((Gemm*)function("cblas_dgemm"))(kColumns, kPlain, kPlain, n, n, n, 0.5, a, n, b, n, 0.25, c,
                                     n);
  } else if (strcmp(routine, "sgemm-tt") == 0) {
    ((SingleGemm*)function("cblas_sgemm"))(kColumns, kTransposed, kTransposed, n, n, 2 * n, 0.5f, a,
                                           2 * n, b, n, 0.25f, c, n);
  } else if (strcmp(routine, "zgemm") == 0) {
    ((ComplexGemm*)function("cblas_zgemm"))(kColumns, kPlain, kPlain, n, n / 2, n / 2, kHalf, a, n,
                                            b, n / 2, kHalf, c, n);
  } else if (strcmp(routine, "dsymm-left") == 0 || strcmp(routine, "dsymm-right") == 0) {
    int side = routine[6] == 'l' ? kLeft : kRight;
    ((Symm*)function("cblas_dsymm"))(kColumns, side, kLower, n, n, 0.5, a, n, b, n, 0.25, c, n);
  } else if (strcmp(routine, "dsyrk") == 0) {
    ((Syrk*)function("cblas_dsyrk"))(kColumns, kLower, kPlain, n, n, 0.5, b, n, 0.25, c, n);
  } else if (strcmp(routine, "dtrsm-left") == 0 || strcmp(routine, "dtrsm-right") == 0) {
    int side = routine[6] == 'l' ? kLeft : kRight;
    ((Trsm*)function("cblas_dtrsm"))(kColumns, side, kUpper, kPlain, kNonUnit, n, n, 0.5, a, n, c,
                                     n);
  } else if (strcmp(routine, "dtrmm") == 0) {
    ((Trsm*)function("cblas_dtrmm"))(kColumns, kLeft, kUpper, kPlain, kNonUnit, n, n, 0.5, a, n, c,
                                     n);
  } else {
    exit(2);
  }
}

static void* call(void* unused) {
  set_width(width);
  // Twice as much as most need: a complex matrix has two numbers an element.
  size_t bytes = 2 * kNumbers * sizeof(double);
  double *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
  if (!a || !b || !c) abort();
  double value = 0.3;
  for (int i = 0; i < 2 * kNumbers; ++i) {
    value = 3.7 * value * (1 - value);
    a[i] = (value - 0.5) / kSize + (i % (kSize + 1) == 0 ? 2 : 0);
    b[i] = value - 0.5;
  }
  for (int i = 0; i < calls; ++i) {
    memcpy(c, b, bytes);
    do_call(a, b, c);
    unsigned long nobody = 0, hash = hash_of(c, 2 * kNumbers);
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
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  set_width = (void (*)(int))function("openblas_set_num_threads");
  enum { kMost = 64 };
  pthread_t threads[kMost];
  routine = argv[2];
  int callers = atoi(argv[3]);
  if (callers > kMost) return 1;
  width = atoi(argv[4]);
  calls = atoi(argv[5]);
  for (int i = 0; i < callers; ++i)
    if (pthread_create(&threads[i], NULL, call, NULL) != 0) return 1;
  for (int i = 0; i < callers; ++i) pthread_join(threads[i], NULL);
  printf("%lx\n", expected);
  return 0;
}
