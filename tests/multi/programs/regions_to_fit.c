// Regions whose size is left to the runtime, 50 of about 2 ms: prints the fewest and the most
// members that one had.
#include <omp.h>
#include <stdio.h>

static void compute(void) {
  volatile double x = 1;
  for (int i = 0; i < 1000000; ++i) x = x * 1.0000001;
}

int main(void) {
  int fewest = 1000, most = 0;
  omp_set_dynamic(1);
  for (int i = 0; i < 50; ++i) {
    int members = 0;
#pragma omp parallel num_threads(8)
    {
      compute();
#pragma omp single
      members = omp_get_num_threads();
    }
    if (members < fewest) fewest = members;
    if (members > most) most = members;
  }
  printf("%d to %d members\n", fewest, most);
  return 0;
}
