// A library loaded before the program has had a thread: it starts and joins its own in constructor
// and destructor, while dlopen and dlclose hold the dynamic linker's lock.
#include "library.h"

CASE(the_first_threads_end_while_the_linker_is_at_work) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(dlclose(open_library("constructor")), 0);
}
