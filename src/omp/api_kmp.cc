// The kmp_* functions of LLVM's and Intel's runtimes: C, Fortran (with an underscore), and what
// their modules bind to (kmpc_*).
#include <cstring>

#include "omp/affinity.h"
#include "omp/allocators.h"
#include "omp/api.h"
#include "omp/export.h"
#include "omp/team.h"
#include "ult/spin_lock.h"

namespace roost::omp {
namespace {

constexpr Nanoseconds kMillisecond = 1'000'000;
constexpr int kForEver = 0x7fff'ffff;
enum LibraryKind { kSerial = 1, kTurnaround = 2, kThroughput = 3 };  // library_serial ...
constinit std::atomic<int> kind_of_library{kThroughput};

int blocktime() {
  const Settings& set = settings();
  Nanoseconds limit = ult::patience_limit.load(std::memory_order_relaxed) / kMillisecond;
  if (set.wait == Settings::Wait::active && limit == kActivePatience / kMillisecond)
    return kForEver;  // as programs know it
  return limit < kForEver ? static_cast<int>(limit) : kForEver;
}
void set_blocktime(int milliseconds) {
  settings();
  if (milliseconds < 0) milliseconds = 0;
  Nanoseconds limit = milliseconds == kForEver
                          ? static_cast<Nanoseconds>(0x7fff'ffff'ffff'ffff)
                          : static_cast<Nanoseconds>(milliseconds) * kMillisecond;
  ult::patience_limit.store(limit, std::memory_order_relaxed);
}

std::size_t stack_bytes() {
  settings();
  std::size_t bytes = ult::worker_stack_bytes.load(std::memory_order_relaxed);
  return bytes ? bytes : std::size_t{8} << 20;
}
// Of threads and light threads made from now on.
void set_stack_bytes(std::size_t bytes) {
  settings();
  constexpr std::size_t kLeast = 16384;
  if (bytes < kLeast) return;
  ult::worker_stack_bytes.store(bytes, std::memory_order_relaxed);
  if (bytes > ult::light_stack_bytes.load(std::memory_order_relaxed))
    ult::light_stack_bytes.store(bytes, std::memory_order_relaxed);
}

// ---- Masks of CPUs ------------------------------------------------------------------------------

constexpr int kMaxCpus = 8192;
struct Mask {
  Mask* next;
  std::uint64_t bits[kMaxCpus / 64];
};
constinit ult::SpinLock lock;
constinit Mask* spare = nullptr;

void add_to(void* mask, unsigned cpu) {
  if (cpu < kMaxCpus) static_cast<Mask*>(mask)->bits[cpu / 64] |= std::uint64_t{1} << cpu % 64;
}
bool in_range(int cpu, Mask** mask) { return mask && *mask && cpu >= 0 && cpu < kMaxCpus; }

void create_mask(Mask** mask) {
  {
    ult::SpinGuard guard(lock);
    *mask = spare;
    if (spare) spare = spare->next;
  }
  if (!*mask) *mask = ult::permanent_array<Mask>(1);
  if (!*mask) ult::out_of_memory("a mask of CPUs");
  memset((*mask)->bits, 0, sizeof(*mask)->bits);
}
void destroy_mask(Mask** mask) {
  if (!mask || !*mask) return;
  ult::SpinGuard guard(lock);
  (*mask)->next = spare;
  spare = *mask;
  *mask = nullptr;
}
int set_in_mask(int cpu, Mask** mask) {
  if (!in_range(cpu, mask)) return -1;
  add_to(*mask, static_cast<unsigned>(cpu));
  return 0;
}
int unset_in_mask(int cpu, Mask** mask) {
  if (!in_range(cpu, mask)) return -1;
  (*mask)->bits[cpu / 64] &= ~(std::uint64_t{1} << cpu % 64);
  return 0;
}
int get_in_mask(int cpu, Mask** mask) {
  if (!in_range(cpu, mask)) return -1;
  return static_cast<int>((*mask)->bits[cpu / 64] >> cpu % 64 & 1);
}

}  // namespace

extern "C" {

ROOST_EXPORT void kmp_set_blocktime(int milliseconds) { set_blocktime(milliseconds); }
ROOST_EXPORT void kmp_set_blocktime_(const int* milliseconds) { set_blocktime(*milliseconds); }
ROOST_EXPORT void kmpc_set_blocktime(int milliseconds) { set_blocktime(milliseconds); }
ROOST_EXPORT int kmp_get_blocktime() { return blocktime(); }
ROOST_EXPORT int kmp_get_blocktime_() { return blocktime(); }

ROOST_EXPORT void kmp_set_stacksize(int bytes) {
  set_stack_bytes(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
}
ROOST_EXPORT void kmp_set_stacksize_(const int* bytes) { kmp_set_stacksize(*bytes); }
ROOST_EXPORT void kmpc_set_stacksize(int bytes) { kmp_set_stacksize(bytes); }
ROOST_EXPORT void kmp_set_stacksize_s(std::size_t bytes) { set_stack_bytes(bytes); }
ROOST_EXPORT void kmp_set_stacksize_s_(const std::size_t* bytes) { set_stack_bytes(*bytes); }
ROOST_EXPORT void kmpc_set_stacksize_s(std::size_t bytes) { set_stack_bytes(bytes); }
ROOST_EXPORT std::size_t kmp_get_stacksize_s() { return stack_bytes(); }
ROOST_EXPORT std::size_t kmp_get_stacksize_s_() { return stack_bytes(); }
ROOST_EXPORT int kmp_get_stacksize() {
  std::size_t bytes = stack_bytes();
  return bytes < 0x7fff'ffff ? static_cast<int>(bytes) : 0x7fff'ffff;
}
ROOST_EXPORT int kmp_get_stacksize_() { return kmp_get_stacksize(); }

// How threads wait is KMP_BLOCKTIME's; serial gives regions one member, as LLVM's.
ROOST_EXPORT int kmp_get_library() { return kind_of_library.load(std::memory_order_relaxed); }
ROOST_EXPORT int kmp_get_library_() { return kmp_get_library(); }
ROOST_EXPORT void kmp_set_library(int kind) {
  if (kind < kSerial || kind > kThroughput) return;
  kind_of_library.store(kind, std::memory_order_relaxed);
  if (kind == kSerial) omp_set_num_threads(1);
}
ROOST_EXPORT void kmp_set_library_(const int* kind) { kmp_set_library(*kind); }
ROOST_EXPORT void kmpc_set_library(int kind) { kmp_set_library(kind); }
ROOST_EXPORT void kmp_set_library_serial() { kmp_set_library(kSerial); }
ROOST_EXPORT void kmp_set_library_serial_() { kmp_set_library(kSerial); }
ROOST_EXPORT void kmp_set_library_turnaround() { kmp_set_library(kTurnaround); }
ROOST_EXPORT void kmp_set_library_turnaround_() { kmp_set_library(kTurnaround); }
ROOST_EXPORT void kmp_set_library_throughput() { kmp_set_library(kThroughput); }
ROOST_EXPORT void kmp_set_library_throughput_() { kmp_set_library(kThroughput); }
ROOST_EXPORT void kmp_set_defaults(const char* list) { set_defaults(list, strlen(list)); }
ROOST_EXPORT void kmp_set_defaults_(const char* list, int length) {
  set_defaults(list, static_cast<std::size_t>(length));
}
ROOST_EXPORT void kmpc_set_defaults(const char* list) { set_defaults(list, strlen(list)); }
// Hints: sizes of tables, what is printed.
ROOST_EXPORT void kmp_set_disp_num_buffers(int) {}
ROOST_EXPORT void kmp_set_disp_num_buffers_(const int*) {}
ROOST_EXPORT void kmpc_set_disp_num_buffers(int) {}
ROOST_EXPORT void kmp_set_warnings_on() {}
ROOST_EXPORT void kmp_set_warnings_on_() {}
ROOST_EXPORT void kmp_set_warnings_off() {}
ROOST_EXPORT void kmp_set_warnings_off_() {}

ROOST_EXPORT int kmp_get_num_known_threads() { return static_cast<int>(gtids()); }
ROOST_EXPORT int kmp_get_num_known_threads_() { return kmp_get_num_known_threads(); }

// Whether cancellation of the construct has been activated (1: parallel, 2: loop, 3: sections).
ROOST_EXPORT int kmp_get_cancellation_status(int kind) {
  constexpr std::uint32_t kBits[] = {0, kCancelParallel, kCancelLoop, kCancelSections};
  if (kind < 1 || kind > 3 || !settings().cancellation) return 0;
  return (self().team->cancelled.load(std::memory_order_relaxed) & kBits[kind]) != 0;
}
ROOST_EXPORT int kmp_get_cancellation_status_(const int* kind) {
  return kmp_get_cancellation_status(*kind);
}

// ---- The program's heap -------------------------------------------------------------------------

ROOST_EXPORT void* kmpc_malloc(std::size_t size) { return program_heap().allocate(size); }
ROOST_EXPORT void* kmpc_calloc(std::size_t count, std::size_t size) {
  return program_heap().allocate_zeroed(count, size);
}
ROOST_EXPORT void* kmpc_realloc(void* memory, std::size_t size) {
  return program_heap().reallocate(memory, size);
}
ROOST_EXPORT void kmpc_free(void* memory) { program_heap().release(memory); }
ROOST_EXPORT void* kmpc_aligned_malloc(std::size_t size, std::size_t alignment) {
  void* memory = nullptr;
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  return program_heap().allocate_aligned(&memory, alignment, size) == 0 ? memory : nullptr;
}
ROOST_EXPORT void* kmp_malloc(std::size_t size) { return kmpc_malloc(size); }
ROOST_EXPORT void* kmp_calloc(std::size_t count, std::size_t size) {
  return kmpc_calloc(count, size);
}
ROOST_EXPORT void* kmp_realloc(void* memory, std::size_t size) {
  return kmpc_realloc(memory, size);
}
ROOST_EXPORT void kmp_free(void* memory) { kmpc_free(memory); }
ROOST_EXPORT void* kmp_aligned_malloc(std::size_t size, std::size_t alignment) {
  return kmpc_aligned_malloc(size, alignment);
}
ROOST_EXPORT void* kmp_malloc_(const std::size_t* size) { return kmpc_malloc(*size); }
ROOST_EXPORT void* kmp_calloc_(const std::size_t* count, const std::size_t* size) {
  return kmpc_calloc(*count, *size);
}
ROOST_EXPORT void* kmp_realloc_(void** memory, const std::size_t* size) {
  return kmpc_realloc(*memory, *size);
}
ROOST_EXPORT void kmp_free_(void** memory) { kmpc_free(*memory); }
ROOST_EXPORT void* kmp_aligned_malloc_(const std::size_t* size, const std::size_t* alignment) {
  return kmpc_aligned_malloc(*size, *alignment);
}

// ---- Affinity -----------------------------------------------------------------------------------

ROOST_EXPORT void kmp_create_affinity_mask(Mask** mask) { create_mask(mask); }
ROOST_EXPORT void kmp_create_affinity_mask_(Mask** mask) { create_mask(mask); }
ROOST_EXPORT void kmp_destroy_affinity_mask(Mask** mask) { destroy_mask(mask); }
ROOST_EXPORT void kmp_destroy_affinity_mask_(Mask** mask) { destroy_mask(mask); }
ROOST_EXPORT int kmp_set_affinity_mask_proc(int cpu, Mask** mask) { return set_in_mask(cpu, mask); }
ROOST_EXPORT int kmp_set_affinity_mask_proc_(const int* cpu, Mask** mask) {
  return set_in_mask(*cpu, mask);
}
ROOST_EXPORT int kmpc_set_affinity_mask_proc(int cpu, Mask** mask) {
  return set_in_mask(cpu, mask);
}
ROOST_EXPORT int kmp_unset_affinity_mask_proc(int cpu, Mask** mask) {
  return unset_in_mask(cpu, mask);
}
ROOST_EXPORT int kmp_unset_affinity_mask_proc_(const int* cpu, Mask** mask) {
  return unset_in_mask(*cpu, mask);
}
ROOST_EXPORT int kmpc_unset_affinity_mask_proc(int cpu, Mask** mask) {
  return unset_in_mask(cpu, mask);
}
ROOST_EXPORT int kmp_get_affinity_mask_proc(int cpu, Mask** mask) { return get_in_mask(cpu, mask); }
ROOST_EXPORT int kmp_get_affinity_mask_proc_(const int* cpu, Mask** mask) {
  return get_in_mask(*cpu, mask);
}
ROOST_EXPORT int kmpc_get_affinity_mask_proc(int cpu, Mask** mask) {
  return get_in_mask(cpu, mask);
}
ROOST_EXPORT int kmp_get_affinity_max_proc() { return kMaxCpus; }
ROOST_EXPORT int kmp_get_affinity_max_proc_() { return kMaxCpus; }
// The CPUs the process may use.
ROOST_EXPORT int kmp_get_affinity(Mask** mask) {
  if (!mask || !*mask) return -1;
  memset((*mask)->bits, 0, sizeof(*mask)->bits);
  return usable_cpus(add_to, *mask) ? 0 : -1;
}
ROOST_EXPORT int kmp_get_affinity_(Mask** mask) { return kmp_get_affinity(mask); }
// Light threads are not bound to CPUs: refused.
ROOST_EXPORT int kmp_set_affinity(Mask**) { return -1; }
ROOST_EXPORT int kmp_set_affinity_(Mask**) { return -1; }
ROOST_EXPORT int kmp_set_thread_affinity_mask_initial() { return -1; }

}  // extern "C"
}  // namespace roost::omp
