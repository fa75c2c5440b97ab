// Inner library: BLIS, whose pthread and OpenMP builds have the same interface. INNER_NAME says
// which of them is linked.
#include <cstdint>

#include "inner.h"

// blis.h, of the packages libblis-pthread-dev and libblis-openmp-dev that exclude each other.
extern "C" {
void bli_thread_set_num_threads(std::int64_t threads);
std::int64_t bli_thread_get_num_threads();
}

void set_inner_width(int threads) { bli_thread_set_num_threads(threads); }

int inner_width() { return static_cast<int>(bli_thread_get_num_threads()); }

const char* inner_library_name() { return INNER_NAME; }

std::string inner_library_problem() { return ""; }
