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

STUB(GOMP_cancel) STUB(GOMP_cancellation_point) STUB(GOMP_distribute_static_worksharing)
STUB(GOMP_doacross_post) STUB(GOMP_doacross_ull_post) STUB(GOMP_doacross_ull_wait)
STUB(GOMP_doacross_wait) STUB(GOMP_interop) STUB(GOMP_loop_doacross_dynamic_start)
STUB(GOMP_loop_doacross_guided_start) STUB(GOMP_loop_doacross_runtime_start)
STUB(GOMP_loop_doacross_start) STUB(GOMP_loop_doacross_static_start) STUB(GOMP_loop_dynamic_next)
STUB(GOMP_loop_dynamic_start) STUB(GOMP_loop_end) STUB(GOMP_loop_end_cancel)
STUB(GOMP_loop_end_nowait) STUB(GOMP_loop_guided_next) STUB(GOMP_loop_guided_start)
STUB(GOMP_loop_maybe_nonmonotonic_runtime_next) STUB(GOMP_loop_maybe_nonmonotonic_runtime_start)
STUB(GOMP_loop_nonmonotonic_dynamic_next) STUB(GOMP_loop_nonmonotonic_dynamic_start)
STUB(GOMP_loop_nonmonotonic_guided_next) STUB(GOMP_loop_nonmonotonic_guided_start)
STUB(GOMP_loop_nonmonotonic_runtime_next) STUB(GOMP_loop_nonmonotonic_runtime_start)
STUB(GOMP_loop_ordered_dynamic_next) STUB(GOMP_loop_ordered_dynamic_start)
STUB(GOMP_loop_ordered_guided_next) STUB(GOMP_loop_ordered_guided_start)
STUB(GOMP_loop_ordered_runtime_next) STUB(GOMP_loop_ordered_runtime_start)
STUB(GOMP_loop_ordered_start) STUB(GOMP_loop_ordered_static_next)
STUB(GOMP_loop_ordered_static_start) STUB(GOMP_loop_runtime_next) STUB(GOMP_loop_runtime_start)
STUB(GOMP_loop_start) STUB(GOMP_loop_static_next) STUB(GOMP_loop_static_start)
STUB(GOMP_loop_ull_doacross_dynamic_start) STUB(GOMP_loop_ull_doacross_guided_start)
STUB(GOMP_loop_ull_doacross_runtime_start) STUB(GOMP_loop_ull_doacross_start)
STUB(GOMP_loop_ull_doacross_static_start) STUB(GOMP_loop_ull_dynamic_next)
STUB(GOMP_loop_ull_dynamic_start) STUB(GOMP_loop_ull_guided_next) STUB(GOMP_loop_ull_guided_start)
STUB(GOMP_loop_ull_maybe_nonmonotonic_runtime_next)
STUB(GOMP_loop_ull_maybe_nonmonotonic_runtime_start) STUB(GOMP_loop_ull_nonmonotonic_dynamic_next)
STUB(GOMP_loop_ull_nonmonotonic_dynamic_start) STUB(GOMP_loop_ull_nonmonotonic_guided_next)
STUB(GOMP_loop_ull_nonmonotonic_guided_start) STUB(GOMP_loop_ull_nonmonotonic_runtime_next)
STUB(GOMP_loop_ull_nonmonotonic_runtime_start) STUB(GOMP_loop_ull_ordered_dynamic_next)
STUB(GOMP_loop_ull_ordered_dynamic_start) STUB(GOMP_loop_ull_ordered_guided_next)
STUB(GOMP_loop_ull_ordered_guided_start) STUB(GOMP_loop_ull_ordered_runtime_next)
STUB(GOMP_loop_ull_ordered_runtime_start) STUB(GOMP_loop_ull_ordered_start)
STUB(GOMP_loop_ull_ordered_static_next) STUB(GOMP_loop_ull_ordered_static_start)
STUB(GOMP_loop_ull_runtime_next) STUB(GOMP_loop_ull_runtime_start) STUB(GOMP_loop_ull_start)
STUB(GOMP_loop_ull_static_next) STUB(GOMP_loop_ull_static_start) STUB(GOMP_ordered_end)
STUB(GOMP_ordered_start) STUB(GOMP_parallel_loop_dynamic) STUB(GOMP_parallel_loop_dynamic_start)
STUB(GOMP_parallel_loop_guided) STUB(GOMP_parallel_loop_guided_start)
STUB(GOMP_parallel_loop_maybe_nonmonotonic_runtime) STUB(GOMP_parallel_loop_nonmonotonic_dynamic)
STUB(GOMP_parallel_loop_nonmonotonic_guided) STUB(GOMP_parallel_loop_nonmonotonic_runtime)
STUB(GOMP_parallel_loop_runtime) STUB(GOMP_parallel_loop_runtime_start)
STUB(GOMP_parallel_loop_static) STUB(GOMP_parallel_loop_static_start)
STUB(GOMP_parallel_reductions) STUB(GOMP_parallel_sections) STUB(GOMP_parallel_sections_start)
STUB(GOMP_scope_start) STUB(GOMP_sections2_start) STUB(GOMP_sections_end)
STUB(GOMP_sections_end_cancel) STUB(GOMP_sections_end_nowait) STUB(GOMP_sections_next)
STUB(GOMP_sections_start) STUB(GOMP_single_copy_end) STUB(GOMP_single_copy_start)
STUB(GOMP_single_start) STUB(GOMP_task) STUB(GOMP_task_reduction_remap) STUB(GOMP_taskgroup_end)
STUB(GOMP_taskgroup_reduction_register) STUB(GOMP_taskgroup_reduction_unregister)
STUB(GOMP_taskgroup_start) STUB(GOMP_taskloop) STUB(GOMP_taskloop_ull) STUB(GOMP_taskwait)
STUB(GOMP_taskwait_depend) STUB(GOMP_taskyield) STUB(GOMP_workshare_task_reduction_unregister)

// ---- LLVM ---------------------------------------------------------------------------------------

STUB(__kmpc_barrier_master) STUB(__kmpc_barrier_master_nowait) STUB(__kmpc_cancel)
STUB(__kmpc_cancellationpoint) STUB(__kmpc_copyprivate) STUB(__kmpc_dispatch_deinit)
STUB(__kmpc_dispatch_fini_4) STUB(__kmpc_dispatch_fini_4u) STUB(__kmpc_dispatch_fini_8)
STUB(__kmpc_dispatch_fini_8u) STUB(__kmpc_dispatch_init_4) STUB(__kmpc_dispatch_init_4u)
STUB(__kmpc_dispatch_init_8) STUB(__kmpc_dispatch_init_8u) STUB(__kmpc_dispatch_next_4)
STUB(__kmpc_dispatch_next_4u) STUB(__kmpc_dispatch_next_8) STUB(__kmpc_dispatch_next_8u)
STUB(__kmpc_dist_dispatch_init_4) STUB(__kmpc_dist_dispatch_init_4u)
STUB(__kmpc_dist_dispatch_init_8) STUB(__kmpc_dist_dispatch_init_8u)
STUB(__kmpc_dist_for_static_init_4) STUB(__kmpc_dist_for_static_init_4u)
STUB(__kmpc_dist_for_static_init_8) STUB(__kmpc_dist_for_static_init_8u)
STUB(__kmpc_doacross_fini) STUB(__kmpc_doacross_init) STUB(__kmpc_doacross_post)
STUB(__kmpc_doacross_wait) STUB(__kmpc_end_barrier_master) STUB(__kmpc_end_masked)
STUB(__kmpc_end_master) STUB(__kmpc_end_ordered) STUB(__kmpc_end_record_task)
STUB(__kmpc_end_reduce) STUB(__kmpc_end_reduce_nowait) STUB(__kmpc_end_scope)
STUB(__kmpc_end_sections) STUB(__kmpc_end_single) STUB(__kmpc_end_taskgroup)
STUB(__kmpc_for_static_fini) STUB(__kmpc_for_static_init_4) STUB(__kmpc_for_static_init_4u)
STUB(__kmpc_for_static_init_8) STUB(__kmpc_for_static_init_8u) STUB(__kmpc_invoke_task_func)
STUB(__kmpc_masked) STUB(__kmpc_master) STUB(__kmpc_next_section) STUB(__kmpc_omp_has_task_team)
STUB(__kmpc_omp_reg_task_with_affinity) STUB(__kmpc_omp_target_task_alloc) STUB(__kmpc_omp_task)
STUB(__kmpc_omp_task_alloc) STUB(__kmpc_omp_task_begin_if0) STUB(__kmpc_omp_task_complete_if0)
STUB(__kmpc_omp_task_parts) STUB(__kmpc_omp_task_with_deps) STUB(__kmpc_omp_taskwait)
STUB(__kmpc_omp_taskwait_51) STUB(__kmpc_omp_taskwait_deps_51) STUB(__kmpc_omp_taskyield)
STUB(__kmpc_omp_wait_deps) STUB(__kmpc_ordered) STUB(__kmpc_proxy_task_completed)
STUB(__kmpc_proxy_task_completed_ooo) STUB(__kmpc_push_num_threads_list)
STUB(__kmpc_push_num_threads_list_strict) STUB(__kmpc_push_num_threads_strict) STUB(__kmpc_reduce)
STUB(__kmpc_reduce_nowait) STUB(__kmpc_scope) STUB(__kmpc_sections_init) STUB(__kmpc_single)
STUB(__kmpc_start_record_task) STUB(__kmpc_task_allow_completion_event)
STUB(__kmpc_task_reduction_get_th_data) STUB(__kmpc_task_reduction_init)
STUB(__kmpc_task_reduction_modifier_fini) STUB(__kmpc_task_reduction_modifier_init)
STUB(__kmpc_taskgraph) STUB(__kmpc_taskgroup) STUB(__kmpc_taskloop) STUB(__kmpc_taskloop_5)
STUB(__kmpc_taskred_init) STUB(__kmpc_taskred_modifier_init) STUB(__kmpc_team_static_init_4)
STUB(__kmpc_team_static_init_4u) STUB(__kmpc_team_static_init_8) STUB(__kmpc_team_static_init_8u)
STUB(omp_fulfill_event) STUB(omp_fulfill_event_)

// ---- Atomic operations that Intel's compilers call ----------------------------------------------

#define ATOMIC_OF_BOOL_1(type) \
  STUB(__kmpc_atomic_##type##_cas) STUB(__kmpc_atomic_##type##_cas_cpt)
ATOMIC_OF_BOOL_1(bool_1) ATOMIC_OF_BOOL_1(bool_2) ATOMIC_OF_BOOL_1(bool_4) ATOMIC_OF_BOOL_1(bool_8) ATOMIC_OF_BOOL_1(val_1) ATOMIC_OF_BOOL_1(val_2) ATOMIC_OF_BOOL_1(val_4) ATOMIC_OF_BOOL_1(val_8)
#undef ATOMIC_OF_BOOL_1

#define ATOMIC_OF_CMPLX10(type) \
  STUB(__kmpc_atomic_##type##_add) STUB(__kmpc_atomic_##type##_add_cpt) \
  STUB(__kmpc_atomic_##type##_div) STUB(__kmpc_atomic_##type##_div_cpt) \
  STUB(__kmpc_atomic_##type##_div_cpt_rev) STUB(__kmpc_atomic_##type##_div_rev) \
  STUB(__kmpc_atomic_##type##_mul) STUB(__kmpc_atomic_##type##_mul_cpt) \
  STUB(__kmpc_atomic_##type##_rd) STUB(__kmpc_atomic_##type##_sub) \
  STUB(__kmpc_atomic_##type##_sub_cpt) STUB(__kmpc_atomic_##type##_sub_cpt_rev) \
  STUB(__kmpc_atomic_##type##_sub_rev) STUB(__kmpc_atomic_##type##_swp) \
  STUB(__kmpc_atomic_##type##_wr)
ATOMIC_OF_CMPLX10(cmplx10) ATOMIC_OF_CMPLX10(cmplx8)
#undef ATOMIC_OF_CMPLX10

STUB(__kmpc_atomic_cmplx4_add) STUB(__kmpc_atomic_cmplx4_add_cmplx8)
STUB(__kmpc_atomic_cmplx4_add_cpt) STUB(__kmpc_atomic_cmplx4_div)
STUB(__kmpc_atomic_cmplx4_div_cmplx8) STUB(__kmpc_atomic_cmplx4_div_cpt)
STUB(__kmpc_atomic_cmplx4_div_cpt_rev) STUB(__kmpc_atomic_cmplx4_div_rev)
STUB(__kmpc_atomic_cmplx4_mul) STUB(__kmpc_atomic_cmplx4_mul_cmplx8)
STUB(__kmpc_atomic_cmplx4_mul_cpt) STUB(__kmpc_atomic_cmplx4_rd) STUB(__kmpc_atomic_cmplx4_sub)
STUB(__kmpc_atomic_cmplx4_sub_cmplx8) STUB(__kmpc_atomic_cmplx4_sub_cpt)
STUB(__kmpc_atomic_cmplx4_sub_cpt_rev) STUB(__kmpc_atomic_cmplx4_sub_rev)
STUB(__kmpc_atomic_cmplx4_swp) STUB(__kmpc_atomic_cmplx4_wr)

#define ATOMIC_OF_FIXED1(type) \
  STUB(__kmpc_atomic_##type##_add) STUB(__kmpc_atomic_##type##_add_cpt) \
  STUB(__kmpc_atomic_##type##_andb) STUB(__kmpc_atomic_##type##_andb_cpt) \
  STUB(__kmpc_atomic_##type##_andl) STUB(__kmpc_atomic_##type##_andl_cpt) \
  STUB(__kmpc_atomic_##type##_div) STUB(__kmpc_atomic_##type##_div_cpt) \
  STUB(__kmpc_atomic_##type##_div_cpt_rev) STUB(__kmpc_atomic_##type##_div_float8) \
  STUB(__kmpc_atomic_##type##_div_rev) STUB(__kmpc_atomic_##type##_eqv) \
  STUB(__kmpc_atomic_##type##_eqv_cpt) STUB(__kmpc_atomic_##type##_max) \
  STUB(__kmpc_atomic_##type##_max_cpt) STUB(__kmpc_atomic_##type##_min) \
  STUB(__kmpc_atomic_##type##_min_cpt) STUB(__kmpc_atomic_##type##_mul) \
  STUB(__kmpc_atomic_##type##_mul_cpt) STUB(__kmpc_atomic_##type##_mul_float8) \
  STUB(__kmpc_atomic_##type##_neqv) STUB(__kmpc_atomic_##type##_neqv_cpt) \
  STUB(__kmpc_atomic_##type##_orb) STUB(__kmpc_atomic_##type##_orb_cpt) \
  STUB(__kmpc_atomic_##type##_orl) STUB(__kmpc_atomic_##type##_orl_cpt) \
  STUB(__kmpc_atomic_##type##_rd) STUB(__kmpc_atomic_##type##_shl) \
  STUB(__kmpc_atomic_##type##_shl_cpt) STUB(__kmpc_atomic_##type##_shl_cpt_rev) \
  STUB(__kmpc_atomic_##type##_shl_rev) STUB(__kmpc_atomic_##type##_shr) \
  STUB(__kmpc_atomic_##type##_shr_cpt) STUB(__kmpc_atomic_##type##_shr_cpt_rev) \
  STUB(__kmpc_atomic_##type##_shr_rev) STUB(__kmpc_atomic_##type##_sub) \
  STUB(__kmpc_atomic_##type##_sub_cpt) STUB(__kmpc_atomic_##type##_sub_cpt_rev) \
  STUB(__kmpc_atomic_##type##_sub_rev) STUB(__kmpc_atomic_##type##_swp) \
  STUB(__kmpc_atomic_##type##_wr) STUB(__kmpc_atomic_##type##_xor) \
  STUB(__kmpc_atomic_##type##_xor_cpt)
ATOMIC_OF_FIXED1(fixed1) ATOMIC_OF_FIXED1(fixed2) ATOMIC_OF_FIXED1(fixed4) ATOMIC_OF_FIXED1(fixed8)
#undef ATOMIC_OF_FIXED1

#define ATOMIC_OF_FIXED1U(type) \
  STUB(__kmpc_atomic_##type##_div) STUB(__kmpc_atomic_##type##_div_cpt) \
  STUB(__kmpc_atomic_##type##_div_cpt_rev) STUB(__kmpc_atomic_##type##_div_rev) \
  STUB(__kmpc_atomic_##type##_shr) STUB(__kmpc_atomic_##type##_shr_cpt) \
  STUB(__kmpc_atomic_##type##_shr_cpt_rev) STUB(__kmpc_atomic_##type##_shr_rev)
ATOMIC_OF_FIXED1U(fixed1u) ATOMIC_OF_FIXED1U(fixed2u) ATOMIC_OF_FIXED1U(fixed4u) ATOMIC_OF_FIXED1U(fixed8u)
#undef ATOMIC_OF_FIXED1U

#define ATOMIC_OF_FLOAT10(type) \
  STUB(__kmpc_atomic_##type##_add) STUB(__kmpc_atomic_##type##_add_cpt) \
  STUB(__kmpc_atomic_##type##_div) STUB(__kmpc_atomic_##type##_div_cpt) \
  STUB(__kmpc_atomic_##type##_div_cpt_rev) STUB(__kmpc_atomic_##type##_div_rev) \
  STUB(__kmpc_atomic_##type##_max) STUB(__kmpc_atomic_##type##_max_cpt) \
  STUB(__kmpc_atomic_##type##_min) STUB(__kmpc_atomic_##type##_min_cpt) \
  STUB(__kmpc_atomic_##type##_mul) STUB(__kmpc_atomic_##type##_mul_cpt) \
  STUB(__kmpc_atomic_##type##_rd) STUB(__kmpc_atomic_##type##_sub) \
  STUB(__kmpc_atomic_##type##_sub_cpt) STUB(__kmpc_atomic_##type##_sub_cpt_rev) \
  STUB(__kmpc_atomic_##type##_sub_rev) STUB(__kmpc_atomic_##type##_swp) \
  STUB(__kmpc_atomic_##type##_wr)
ATOMIC_OF_FLOAT10(float10) ATOMIC_OF_FLOAT10(float8)
#undef ATOMIC_OF_FLOAT10

STUB(__kmpc_atomic_float4_add) STUB(__kmpc_atomic_float4_add_cpt)
STUB(__kmpc_atomic_float4_add_float8) STUB(__kmpc_atomic_float4_div)
STUB(__kmpc_atomic_float4_div_cpt) STUB(__kmpc_atomic_float4_div_cpt_rev)
STUB(__kmpc_atomic_float4_div_float8) STUB(__kmpc_atomic_float4_div_rev)
STUB(__kmpc_atomic_float4_max) STUB(__kmpc_atomic_float4_max_cpt) STUB(__kmpc_atomic_float4_min)
STUB(__kmpc_atomic_float4_min_cpt) STUB(__kmpc_atomic_float4_mul)
STUB(__kmpc_atomic_float4_mul_cpt) STUB(__kmpc_atomic_float4_mul_float8)
STUB(__kmpc_atomic_float4_rd) STUB(__kmpc_atomic_float4_sub) STUB(__kmpc_atomic_float4_sub_cpt)
STUB(__kmpc_atomic_float4_sub_cpt_rev) STUB(__kmpc_atomic_float4_sub_float8)
STUB(__kmpc_atomic_float4_sub_rev) STUB(__kmpc_atomic_float4_swp) STUB(__kmpc_atomic_float4_wr)

}  // extern "C"
// clang-format on
}  // namespace roost::omp
