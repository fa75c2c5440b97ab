// Depend objects order tasks like the clauses they stand for.
#include <omp.h>
#include <stdio.h>

int main(void) {
  const int sizes[] = {1, 2, 7, 64};
  for (int s = 0; s < 4; ++s) {
    int x = 0, y = 0, wrong = 0;
#pragma omp parallel num_threads(sizes[s])
#pragma omp single
    {
      omp_depend_t in, out;
#pragma omp depobj(in) depend(in : x)
#pragma omp depobj(out) depend(inout : x)
      for (int i = 0; i < 200; ++i) {
#pragma omp task depend(depobj : out) shared(x, y, wrong) firstprivate(i)
        {
          if (x != i || y != i * 4) wrong = 1;
          x = i + 1;
        }
        for (int j = 0; j < 4; ++j) {
#pragma omp task depend(depobj : in) shared(x, y, wrong) firstprivate(i)
          {
            if (x != i + 1) wrong = 1;
#pragma omp atomic
            ++y;
          }
        }
      }
#pragma omp taskwait
#pragma omp depobj(in) update(inout)
#pragma omp task depend(depobj : in) shared(x)
      ++x;
#pragma omp task depend(depobj : out) shared(x)
      x *= 2;
#pragma omp taskwait
#pragma omp depobj(in) destroy
#pragma omp depobj(out) destroy
    }
    if (wrong || y != 800 || x != 402) {
      printf("depend objects do not order tasks with %d threads\n", sizes[s]);
      return 1;
    }
  }
  return 0;
}
