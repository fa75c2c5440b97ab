// Members wait inside handlers, at barriers and at the end of nested regions: the exceptions that
// are being handled are each member's own (libstdc++ keeps them for each OS thread).
#include <exception>
#include <stdexcept>
#include <string>

#include "expect.h"

static int alive;
struct Marked {
  int value;
  explicit Marked(int v) : value(v) { add(&alive, 1); }
  Marked(const Marked& other) : value(other.value) { add(&alive, 1); }
  ~Marked() { add(&alive, -1); }
};

static void handled_across_barriers(int size) {
#pragma omp parallel num_threads(size)
  {
    int me = omp_get_thread_num();
    try {
      throw Marked(me);
    } catch (const Marked& mine) {
#pragma omp barrier
      EXPECT_EQ(mine.value, me);
      // Members leave their handlers in another order than they entered them.
      for (int turn = 0; turn < (me * 5) % 3; ++turn) {
        try {
          throw Marked(1000 + me);
        } catch (const Marked& other) {
          EXPECT_EQ(other.value, 1000 + me);
        }
      }
#pragma omp barrier
      EXPECT_EQ(mine.value, me);
      try {
        throw;  // the one that is being handled: mine
      } catch (const Marked& again) {
        EXPECT_EQ(again.value, me);
#pragma omp barrier
      }
    }
#pragma omp barrier
    EXPECT(std::current_exception() == nullptr);
  }
  EXPECT_EQ(alive, 0);
}

struct WaitsInDestructor {
  int size;
  // Runs while an exception is on its way: the nested region's members must not see it.
  ~WaitsInDestructor() {
    EXPECT_EQ(std::uncaught_exceptions(), 1);
#pragma omp parallel num_threads(size)
    {
#pragma omp barrier
      try {
        throw Marked(7);
      } catch (const Marked& mine) {
        EXPECT_EQ(mine.value, 7);
      }
    }
    EXPECT_EQ(std::uncaught_exceptions(), 1);
  }
};

static void unwinding_through_regions(int size) {
#pragma omp parallel num_threads(size)
  {
    int me = omp_get_thread_num();
    try {
      WaitsInDestructor guard{3};
      throw Marked(me);
    } catch (const Marked& mine) {
      EXPECT_EQ(mine.value, me);
    }
  }
  EXPECT_EQ(alive, 0);
}

int main() {
  allow_nesting();
  for (int size : {1, 2, 3, 4, 7, 16}) {
    for (int round = 0; round < 10; ++round) {
      handled_across_barriers(size);
      unwinding_through_regions(size);
    }
  }
  return verdict();
}
