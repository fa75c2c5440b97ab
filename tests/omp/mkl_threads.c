// library: support/mkl_threads_like.c same
// reference: no
// reason: the runtimes of gcc and LLVM give each member a thread
//
// How many threads MKL's calls may have is set and put back by members around a wait, also where
// they share an OS thread: the caller's later calls have as many as before.
#include "expect.h"
#include "library.h"

int main(int argc, char** argv) {
  void* object = load_library(argc, argv);
  int (*in_region)(int) = (int (*)(int))dlsym(object, "in_region");
  int (*threads_of_caller)(void) = (int (*)(void))dlsym(object, "threads_of_caller");
  for (int members = 1; members <= 9; ++members) {
    EXPECT_EQ(in_region(members), 0);
    EXPECT_EQ(threads_of_caller(), 0);
  }
  return verdict();
}
