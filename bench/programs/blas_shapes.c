// An outer OpenMP loop whose iterations call an OpenMP-threaded BLAS: SYMM, HEMM and TRSM, the two
// levels of parallelism of listing 4 in the paper on nested parallelism over user-level threads,
// with its dynamic schedule, scaled to two cores.
//
//   blas_shapes symm|hemm|trsm OUTER INNER SECONDS
//
// One pass solves a problem of each order from 256 to 512 in steps of 8, whatever the shape; passes
// repeat until SECONDS of them were timed. Prints one JSON line: `value` in GFLOP/s over all
// passes, `checksum` the sum of the magnitudes of all results of the last. INNER is asked for by
// omp_set_num_threads; a BLIS that goes by the name of libblas takes BLIS_NUM_THREADS instead.
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FROM = 256, TO = 512, STEP = 8, ORDERS = (TO - FROM) / STEP + 1 };

// Fortran's interface, which all builds of libblas.so.3 have.
void dsymm_(const char* side, const char* uplo, const int* m, const int* n, const double* alpha,
            const double* a, const int* lda, const double* b, const int* ldb, const double* beta,
            double* c, const int* ldc);
void zhemm_(const char* side, const char* uplo, const int* m, const int* n, const double* alpha,
            const double* a, const int* lda, const double* b, const int* ldb, const double* beta,
            double* c, const int* ldc);
void dtrsm_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m,
            const int* n, const double* alpha, const double* a, const int* lda, double* b,
            const int* ldb);

static const int kLeading = TO;
static const double kOne[2] = {1, 0}, kHalf[2] = {0.5, 0};
static const double *a, *b;  // shared by all problems: they read the upper left corner

static void symm(int m, double* c) {
  dsymm_("L", "U", &m, &m, kOne, a, &kLeading, b, &kLeading, kHalf, c, &m);
}

static void hemm(int m, double* c) {
  zhemm_("L", "U", &m, &m, kOne, a, &kLeading, b, &kLeading, kHalf, c, &m);
}

static void trsm(int m, double* c) {
  dtrsm_("L", "U", "N", "U", &m, &m, kOne, a, &kLeading, c, &m);
}

typedef struct {
  const char* name;
  void (*solve)(int m, double* c);
  int parts;            // doubles in an element
  double flops_a_cube;  // over the order's third power
} Routine;

static const Routine kRoutines[] = {
    {"symm", symm, 1, 2}, {"hemm", hemm, 2, 8}, {"trsm", trsm, 1, 1}};

// Elements between -0.5 and 0.5, the same in every run.
static double* random_elements(size_t count, double scale) {
  double* elements = malloc(count * sizeof *elements);
  for (size_t i = 0; elements && i < count; ++i) {
    elements[i] = scale * ((double)rand() / RAND_MAX - 0.5);
  }
  if (!elements) exit(1);
  return elements;
}

static size_t elements(const Routine* routine, int m) {
  return (size_t)routine->parts * (size_t)m * (size_t)m;
}

static double sum_of_magnitudes(const double* c, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += fabs(c[i]);
  return sum;
}

int main(int argc, char** argv) {
  const Routine* routine = NULL;
  for (size_t i = 0; argc == 5 && i < sizeof kRoutines / sizeof *kRoutines; ++i) {
    if (strcmp(argv[1], kRoutines[i].name) == 0) routine = &kRoutines[i];
  }
  const int outer = routine ? atoi(argv[2]) : 0, inner = routine ? atoi(argv[3]) : 0;
  if (outer < 1 || inner < 1) {
    fprintf(stderr, "usage: blas_shapes symm|hemm|trsm OUTER INNER SECONDS\n");
    return 2;
  }
  const double wanted = atof(argv[4]);

  // The unit triangle of A is near one, so that solutions stay near their right-hand sides.
  a = random_elements(elements(routine, TO), routine->solve == trsm ? 1.0 / TO : 1);
  b = random_elements(elements(routine, TO), 1);
  double *start[ORDERS], *c[ORDERS];
  double flops = 0;
  for (int i = 0; i < ORDERS; ++i) {
    const int m = FROM + i * STEP;
    start[i] = random_elements(elements(routine, m), 1);
    c[i] = random_elements(elements(routine, m), 1);
    flops += routine->flops_a_cube * m * m * m;
  }

  omp_set_max_active_levels(2);
  omp_set_num_threads(inner);
  double seconds = 0;
  int passes = -1;  // the first one starts all threads, untimed
  while (passes < 1 || seconds < wanted) {
    for (int i = 0; i < ORDERS; ++i) {
      memcpy(c[i], start[i], elements(routine, FROM + i * STEP) * sizeof **c);
    }
    const double begin = omp_get_wtime();
#pragma omp parallel for num_threads(outer) schedule(dynamic)
    for (int m = FROM; m <= TO; m += STEP) routine->solve(m, c[(m - FROM) / STEP]);
    if (++passes > 0) seconds += omp_get_wtime() - begin;
  }

  double checksum = 0;
  for (int i = 0; i < ORDERS; ++i) {
    checksum += sum_of_magnitudes(c[i], elements(routine, FROM + i * STEP));
  }
  printf("{\"program\": \"blas_shapes\", \"routine\": \"%s\", \"outer\": %d, \"inner\": %d, ",
         routine->name, outer, inner);
  printf("\"passes\": %d, \"value\": %.3f, \"unit\": \"GFLOP/s\", \"checksum\": %.15g}\n", passes,
         flops * passes / seconds * 1e-9, checksum);
  return 0;
}
