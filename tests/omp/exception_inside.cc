// Exceptions thrown and caught by members inside a region, on several levels, through frames with
// destructors, while other members throw, too.
#include <exception>
#include <stdexcept>
#include <string>

#include "expect.h"

static int alive;
struct Guard {
  Guard() { add(&alive, 1); }
  ~Guard() { add(&alive, -1); }
};

static void __attribute__((noinline)) thrower(int value, int depth) {
  Guard guard;
  if (depth == 0) {
    if (value % 2) throw value;
    throw std::runtime_error(std::to_string(value));
  }
  thrower(value, depth - 1);
}

static void catch_one(int value) {
  try {
    Guard guard;
    thrower(value, value % 5);
    EXPECT(false);
  } catch (int seen) {
    EXPECT_EQ(seen, value);
    EXPECT_EQ(value % 2, 1);
  } catch (const std::exception& error) {
    EXPECT_EQ(std::stoi(error.what()), value);
  }
}

static void rethrow(int value) {
  try {
    try {
      thrower(value, 1);
    } catch (...) {
      catch_one(value + 1);
      throw;
    }
  } catch (int seen) {
    EXPECT_EQ(seen, value);
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::stoi(error.what()), value);
  }
}

static void in_region(int size, int level) {
#pragma omp parallel num_threads(size)
  {
    int me = omp_get_thread_num();
    for (int i = 0; i < 10; ++i) {
      catch_one(me * 100 + i);
      rethrow(me * 100 + i);
    }
#pragma omp barrier
    catch_one(me);
#pragma omp critical
    catch_one(me);
    if (level < 3) in_region(level == 1 ? 3 : 2, level + 1);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  }
}

// A whole region, with exceptions of its own, in a handler.
static void region_in_handler(int size) {
  try {
    thrower(size, 2);
  } catch (...) {
    in_region(size, 3);
    EXPECT(std::current_exception() != nullptr);
    try {
      throw;
    } catch (int seen) {
      EXPECT_EQ(seen, size);
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::stoi(error.what()), size);
    }
  }
}

// Members hand an exception to the master.
static void carried_out(int size) {
  std::exception_ptr carried;
#pragma omp parallel num_threads(size)
  {
    try {
      thrower(omp_get_thread_num() * 2 + 1, 3);
    } catch (...) {
      if (omp_get_thread_num() == size - 1) carried = std::current_exception();
    }
  }
  try {
    std::rethrow_exception(carried);
  } catch (int seen) {
    EXPECT_EQ(seen, size * 2 - 1);
  }
}

int main() {
  allow_nesting();
  for (int size : {1, 2, 3, 7, 16}) {
    for (int round = 0; round < 5; ++round) {
      in_region(size, 1);
      region_in_handler(size);
      carried_out(size);
    }
  }
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  return verdict();
}
