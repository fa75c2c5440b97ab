// Entry points of libgomp and libomp that this version does not know: calling one says so and
// aborts, which is better than the symbol lookup error of the dynamic linker, or than a wrong
// result.
//
// They are weak: a definition elsewhere in the library wins, and tools/omp_symbols.py lists those
// that are left. OpenACC's entry points (GOACC_*, acc_*) and those of offloading plug-ins
// (GOMP_PLUGIN_*) are not exported at all: programs that need them have libgomp's.
#include <cstdlib>

#include "base/text.h"
#include "omp/export.h"
#include "ult/kernel.h"

namespace roost::omp {
namespace {

[[noreturn]] void unknown(const char* name) {
  Text<256> text("roost: the OpenMP entry point ");
  text << name << " is not known to this version\n";
  ult::kernel::write_error(text.c_str(), text.length());
  std::abort();
}

}  // namespace

#define STUB(name) \
  ROOST_EXPORT __attribute__((weak)) void name() { unknown(#name); }

// clang-format off
extern "C" {

// ---- GCC ----------------------------------------------------------------------------------------

STUB(GOMP_distribute_static_worksharing) STUB(GOMP_interop)

// ---- LLVM ---------------------------------------------------------------------------------------

STUB(__kmpc_calc_original_ivs_rectang) STUB(__kmpc_end_record_task)
STUB(__kmpc_for_collapsed_init) STUB(__kmpc_invoke_task_func)
STUB(__kmpc_process_loop_nest_rectang) STUB(__kmpc_proxy_task_completed)
STUB(__kmpc_proxy_task_completed_ooo) STUB(__kmpc_push_num_threads_list)
STUB(__kmpc_push_num_threads_list_strict) STUB(__kmpc_start_record_task)
STUB(__kmpc_task_get_depnode) STUB(__kmpc_task_get_successors) STUB(__kmpc_taskgraph)

}  // extern "C"
// clang-format on
}  // namespace roost::omp
