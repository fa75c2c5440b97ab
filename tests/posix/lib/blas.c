// Passes for OpenBLAS where the width of its calls is concerned.
int openblas_get_num_threads(void);
void openblas_set_num_threads(int wanted);
int openblas_get_parallel(void);

static int width = 8;
int openblas_get_num_threads(void) { return __atomic_load_n(&width, __ATOMIC_RELAXED); }
void openblas_set_num_threads(int wanted) { __atomic_store_n(&width, wanted, __ATOMIC_RELAXED); }
int openblas_get_parallel(void) { return 1; }
