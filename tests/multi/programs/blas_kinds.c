// Calls of an OpenBLAS or BLIS of random kinds: blas_kinds LIBRARY SEED KINDS WIDTH [THREADS]. Each
// is made 16 times (BLIS: once) with the same matrices, for THREADS threads (default: WIDTH; a
// library without a function to set it is told by its variables). WIDTH says which kinds there are.
// Prints each kind and a hash of its results.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSide = 400, kNumbers = 2 * kSide * kSide, kRepeats = 16, kLeast = 20 };

static uint64_t state;

static uint64_t next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}
static int below(int n) { return (int)(next() % (uint64_t)n); }

// A matrix in both precisions, and of complex numbers in the same memory.
typedef struct {
  double doubles[kNumbers];
  float singles[kNumbers];
} Matrix;
static Matrix general, triangle, other, before, result;

static void fill(Matrix* matrix, double scale) {
  for (int i = 0; i < kNumbers; ++i) {
    matrix->doubles[i] = scale * ((double)(next() >> 11) * 0x1p-52 - 1);
    matrix->singles[i] = (float)matrix->doubles[i];
  }
}

// Large enough for what is solved for to stay of the size of what it is solved from, whether the
// numbers are taken for real or for complex ones.
static void make_diagonal_large(Matrix* matrix) {
  for (int i = 0; i < kSide; ++i) {
    int places[] = {i * (kSide + 1), 2 * i * (kSide + 1)};
    for (int j = 0; j < 2; ++j)
      matrix->singles[places[j]] = 1.25, matrix->doubles[places[j]] = 1.25;
  }
}

static uint64_t hash_of(const void* memory, size_t bytes) {
  uint64_t hash = 1, word;
  for (size_t i = 0; i < bytes; i += sizeof word) {
    memcpy(&word, (const char*)memory + i, sizeof word);
    hash = (hash ^ word) * 0x100000001b3u;
  }
  return hash;
}

// As Fortran calls them: the same for all types of numbers.
typedef void Gemm(const char* ta, const char* tb, const int* m, const int* n, const int* k,
                  const void* alpha, const void* a, const int* lda, const void* b, const int* ldb,
                  const void* beta, void* c, const int* ldc);
typedef void Symm(const char* side, const char* uplo, const int* m, const int* n, const void* alpha,
                  const void* a, const int* lda, const void* b, const int* ldb, const void* beta,
                  void* c, const int* ldc);
typedef void Syrk(const char* uplo, const char* trans, const int* n, const int* k,
                  const void* alpha, const void* a, const int* lda, const void* beta, void* c,
                  const int* ldc);
typedef void Syr2k(const char* uplo, const char* trans, const int* n, const int* k,
                   const void* alpha, const void* a, const int* lda, const void* b, const int* ldb,
                   const void* beta, void* c, const int* ldc);
typedef void Triangular(const char* side, const char* uplo, const char* trans, const char* diagonal,
                        const int* m, const int* n, const void* alpha, const void* a,
                        const int* lda, void* b, const int* ldb);

static const char* const routines[] = {"gemm",  "syrk", "symm", "trsm", "trmm",
                                       "syr2k", "herk", "hemm", "her2k"};
static int n_routines = 5, repeats = kRepeats;  // of OpenBLAS

// Sides that kernels leave nothing of, in pieces of equal size, in three of four cases.
static int side_for(int width) {
  int unit = width * (4 << below(3)), side = kLeast + below(kSide - kLeast);
  if (side < unit) return unit < kSide ? unit : kSide;
  return below(4) ? side - side % unit : side;
}

static void make_kind(void* library, int number, int width) {
  char type = "sdcz"[below(4)];
  const char* routine = routines[below(n_routines)];
  int is_hermitian = routine[0] == 'h';
  if (is_hermitian) type = type == 's' || type == 'c' ? 'c' : 'z';
  char side = "LR"[below(2)], uplo = "UL"[below(2)], diagonal = "NU"[below(2)];
  char ta = "NT"[below(2)], tb = "NT"[below(2)];
  int m = side_for(width), n = side_for(width), k = 16 + below(kSide - 16), ld = kSide;
  char name[16];
  snprintf(name, sizeof name, "%c%s_", type, routine);
  void* function = dlsym(library, name);
  if (!function) {
    fprintf(stderr, "blas_kinds: there is no %s\n", name);
    exit(1);
  }
  int is_double = type == 'd' || type == 'z';
  double factors[] = {0.7, 0.2, below(2) ? 1 : 0.3, 0};
  float singles[] = {0.7f, 0.2f, (float)factors[2], 0};
  // Of herk and her2k factors are real numbers, as far as they are read.
  if (is_hermitian) ta = ta == 'T' ? 'C' : 'N';
  const void* alpha = is_double ? (void*)factors : singles;
  const void* beta = is_double ? (void*)(factors + 2) : singles + 2;
  const void* a = is_double ? (void*)general.doubles : general.singles;
  const void* t = is_double ? (void*)triangle.doubles : triangle.singles;
  const void* b = is_double ? (void*)other.doubles : other.singles;
  void* c = is_double ? (void*)result.doubles : result.singles;
  for (int i = 0; i < repeats; ++i) {
    result = before;
    if (!strcmp(routine, "gemm")) {
      ((Gemm*)function)(&ta, &tb, &m, &n, &k, alpha, a, &ld, b, &ld, beta, c, &ld);
    } else if (strstr(routine, "2k")) {
      ((Syr2k*)function)(&uplo, &ta, &n, &k, alpha, a, &ld, b, &ld, beta, c, &ld);
    } else if (strstr(routine, "rk")) {
      ((Syrk*)function)(&uplo, &ta, &n, &k, alpha, a, &ld, beta, c, &ld);
    } else if (strstr(routine, "mm") && strcmp(routine, "trmm")) {
      ((Symm*)function)(&side, &uplo, &m, &n, alpha, a, &ld, b, &ld, beta, c, &ld);
    } else {
      ((Triangular*)function)(&side, &uplo, &ta, &diagonal, &m, &n, alpha, t, &ld, c, &ld);
    }
  }
  printf("%d: %s %c%c%c%c%c %d %d %d: %016llx\n", number, name, side, uplo, ta, tb, diagonal, m, n,
         k, (unsigned long long)hash_of(&result, sizeof result));
}

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    fprintf(stderr, "blas_kinds: %s\n", dlerror());
    return 1;
  }
  state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15u | 1;
  int kinds = atoi(argv[3]), width = atoi(argv[4]), threads = argc > 5 ? atoi(argv[5]) : width;
  void* set = dlsym(library, "openblas_set_num_threads");
  if (!set) {
    n_routines = sizeof routines / sizeof *routines;
    repeats = 1;
    set = dlsym(library, "bli_thread_set_num_threads");
  }
  if (set) ((void (*)(long))set)(threads);
  fill(&general, 1);
  fill(&triangle, 0.0625);
  make_diagonal_large(&triangle);
  fill(&other, 1);
  fill(&before, 1);
  for (int i = 0; i < kinds; ++i) make_kind(library, i, width);
  return 0;
}
