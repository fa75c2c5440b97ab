// LLVM's serial library: regions have one member, whatever their clause says. And an allocator with
// traits that cannot be had is the default one.
//
// compilers: clang
// threads: 4
// reference: no
// reason: libomp says that its library is serial
// env: KMP_LIBRARY=serial KMP_WARNINGS=0 OMP_ALLOCATOR=omp_default_mem_space:alignment=63
#include "expect.h"

int kmp_get_library(void);
void kmp_set_library(int kind);

int main(void) {
  int members = 0;
#pragma omp parallel num_threads(4)
  {
#pragma omp single
    members = omp_get_num_threads();
  }
  EXPECT_EQ(members, 1);
  kmp_set_library(2);
  EXPECT_EQ(kmp_get_library(), 2);
  kmp_set_library(1);
  EXPECT_EQ(kmp_get_library(), 1);
  EXPECT_EQ(omp_get_max_threads(), 1);
  kmp_set_library(17);
  EXPECT_EQ(kmp_get_library(), 1);
  EXPECT(omp_get_default_allocator() == omp_default_mem_alloc);
  return verdict();
}
