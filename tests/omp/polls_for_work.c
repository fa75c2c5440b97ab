// library: support/mkl_like.c same
// reference: no
// reason: the runtimes of gcc and LLVM leave the order to the kernel
//
// A library in no global scope whose members poll under a lock, as MKL's LAPACK has them: those
// that share an OS thread come to run all the same, also while the library is being loaded.
#include "expect.h"
#include "library.h"

int main(int argc, char** argv) {
  void* object = load_library(argc, argv);
  int (*done_as_it_was_loaded)(void) = (int (*)(void))dlsym(object, "done_as_it_was_loaded");
  EXPECT_EQ(done_as_it_was_loaded(), 20);
  int (*in_turns)(int, int) = (int (*)(int, int))dlsym(object, "in_turns");
  for (int members = 2; members <= 8; ++members) EXPECT_EQ(in_turns(members, 40), 40);
  return verdict();
}
