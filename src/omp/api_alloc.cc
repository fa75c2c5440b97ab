// omp_alloc() and its family, and the entry points compilers use for them.
//
// In front of each piece stands a header, so that memory can be freed whatever allocator the caller
// names:   [base ... header][the caller's bytes]
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "omp/allocators.h"
#include "omp/export.h"
#include "omp/team.h"
#include "ult/in_use.h"
#include "ult/kernel.h"
#include "ult/spin_lock.h"

namespace roost::omp {
namespace {

// omp_alloctrait_key_t and omp_alloctrait_value_t.
enum Key {
  kSyncHint = 1,
  kAlignment,
  kAccess,
  kPoolSize,
  kFallback,
  kFallbackData,
  kPinned,
  kPartition
};
constexpr std::uintptr_t kDefaultValue = ~std::uintptr_t{0};
constexpr std::uintptr_t kTrue = 1;
enum Fallback : std::uint8_t { kDefaultMemory = 11, kNull, kAbort, kAllocator };

struct Allocator {
  Allocator* next = nullptr;  // among the spare ones
  std::size_t alignment = 1;
  std::size_t pool = ~std::size_t{0};
  Fallback fallback = kDefaultMemory;
  AllocatorHandle fallback_allocator = kDefaultAllocator;
  std::atomic<std::size_t> used{0};
};

constinit ult::LockOverForks lock;  // what is spare, and the scalars
constinit Allocator* spare = nullptr;

// A Fortran variable whose memory OpenMP has. Arrays say so themselves, in their descriptors.
struct Scalar {
  Scalar* next;  // in its list
  const void* memory;
};

constinit Scalar* scalars[256] = {};

Scalar*& scalars_like(const void* memory) {
  auto bits = reinterpret_cast<std::uintptr_t>(memory) >> 4;
  return scalars[(bits * 0x9e3779b97f4a7c15u) >> 56];
}

struct Header {
  void* base;
  std::size_t size;
  std::size_t taken;  // of the allocator's pool
  AllocatorHandle allocator;
};

Allocator* custom(AllocatorHandle handle) {
  return handle > kLastPredefined && handle < 0x1'0000 ? nullptr
         : handle > kLastPredefined                    ? reinterpret_cast<Allocator*>(handle)
                                                       : nullptr;
}

bool power_of_two(std::size_t number) { return number && !(number & (number - 1)); }

Header* header_of(void* memory) { return static_cast<Header*>(memory) - 1; }

// From the pool of the allocator, if it has one; null if that is used up, or there is no memory.
// `returned` bytes go back to the pool if it succeeds.
void* take(AllocatorHandle handle, std::size_t alignment, std::size_t size, bool zeroed,
           std::size_t returned) {
  constexpr std::size_t kLeast = 16;
  Allocator* allocator = custom(handle);
  if (allocator && allocator->alignment > alignment) alignment = allocator->alignment;
  if (alignment < kLeast) alignment = kLeast;
  std::size_t total = 0;
  if (__builtin_add_overflow(size, alignment + sizeof(Header), &total)) return nullptr;
  bool limited = allocator && allocator->pool != ~std::size_t{0};
  // What is needed beside the memory counts, too, as with libgomp and libomp.
  std::size_t taken = limited ? total - kLeast : 0;
  if (limited) {
    std::size_t used = allocator->used.load(std::memory_order_relaxed);
    do {
      if (taken > allocator->pool || used - returned > allocator->pool - taken) return nullptr;
    } while (!allocator->used.compare_exchange_weak(used, used - returned + taken,
                                                    std::memory_order_relaxed));
  }
  const ProgramHeap& heap = program_heap();
  // program_heap() has found them. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
  void* base = zeroed ? heap.allocate_zeroed(1, total) : heap.allocate(total);
  if (!base) {
    if (limited) allocator->used.fetch_sub(taken - returned, std::memory_order_relaxed);
    return nullptr;
  }
  auto address = reinterpret_cast<std::uintptr_t>(base) + sizeof(Header);
  address = (address + alignment - 1) & ~(alignment - 1);
  void* memory = reinterpret_cast<void*>(address);
  *header_of(memory) = {base, size, taken, handle};
  return memory;
}

[[noreturn]] void refuse(std::size_t size) {
  Text<160> text("roost: an OpenMP allocator whose fallback is abort_fb has no memory for ");
  text << size << " bytes\n";
  ult::kernel::write_error(text.c_str(), text.length());
  std::abort();
}

// `old`: a piece that is freed when this succeeds. What it has of a pool counts as free.
void* obtain(AllocatorHandle handle, std::size_t alignment, std::size_t size, bool zeroed,
             Header* old = nullptr) {
  if (!size || !power_of_two(alignment)) return nullptr;
  if (!handle) handle = self().task->icvs.allocator;
  // Fallback allocators may have fallbacks; a ring of them ends somewhere.
  for (int tries = 0; tries < 16; ++tries) {
    std::size_t returned = old && old->allocator == handle ? old->taken : 0;
    if (void* memory = take(handle, alignment, size, zeroed, returned)) {
      if (returned) old->taken = 0;
      return memory;
    }
    Allocator* allocator = custom(handle);
    if (!allocator) return nullptr;
    switch (allocator->fallback) {
      case kNull:
        return nullptr;
      case kAbort:
        refuse(size);
      case kAllocator:
        handle = allocator->fallback_allocator;
        break;
      case kDefaultMemory:
        // Aligned as the allocator does it.
        if (allocator->alignment > alignment) alignment = allocator->alignment;
        handle = kDefaultAllocator;
    }
  }
  return nullptr;
}

void give_back(void* memory) {
  if (!memory) return;
  Header header = *header_of(memory);
  if (header.taken)
    custom(header.allocator)->used.fetch_sub(header.taken, std::memory_order_relaxed);
  // As above. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
  program_heap().release(header.base);
}

void* obtain_array(AllocatorHandle handle, std::size_t alignment, std::size_t count,
                   std::size_t size) {
  std::size_t total = 0;
  if (__builtin_mul_overflow(count, size, &total)) return nullptr;
  return obtain(handle, alignment, total, true);
}

void* resize(void* memory, std::size_t size, AllocatorHandle handle) {
  if (!memory) return obtain(handle, 1, size, false);
  if (size) {
    Header& header = *header_of(memory);
    void* fresh = obtain(handle ? handle : header.allocator, 1, size, false, &header);
    if (!fresh) return nullptr;
    memcpy(fresh, memory, header.size < size ? header.size : size);
    give_back(memory);
    return fresh;
  }
  give_back(memory);
  return nullptr;
}

bool apply(Allocator& allocator, const parse::Trait& trait) {
  std::uintptr_t value = trait.value;
  bool standard = value == kDefaultValue;
  switch (trait.key) {
    case kAlignment:
      if (standard) return true;
      allocator.alignment = value;
      return power_of_two(value);
    case kPoolSize:
      if (!standard) allocator.pool = value;
      return true;
    case kFallback:
      if (standard) return true;
      allocator.fallback = static_cast<Fallback>(value);
      return value >= kDefaultMemory && value <= kAllocator;
    case kFallbackData:
      if (!standard) allocator.fallback_allocator = value;
      return true;
    // Pages that stay in memory are not to be had, and it is better to say so.
    case kPinned:
      return value != kTrue;
    // Hints, for one kind of memory that all threads can use.
    case kSyncHint:
    case kAccess:
    case kPartition:
      return true;
    default:
      return false;
  }
}

}  // namespace

const ProgramHeap& program_heap() {
  // Looked up again by each thread that comes while nobody has finished: the answer is the same.
  static constinit ProgramHeap heap;
  static constinit std::atomic<bool> known{false};
  if (known.load(std::memory_order_acquire)) return heap;
  auto find = [](auto& function, const char* name) {
    void* address = dlsym(RTLD_DEFAULT, name);
    __atomic_store_n(reinterpret_cast<void**>(&function), address, __ATOMIC_RELAXED);
  };
  find(heap.allocate, "malloc");
  find(heap.allocate_zeroed, "calloc");
  find(heap.reallocate, "realloc");
  find(heap.allocate_aligned, "posix_memalign");
  find(heap.release, "free");
  known.store(true, std::memory_order_release);
  return heap;
}

void lock_allocators_before_fork() { lock.acquire_before_fork(); }
void unlock_allocators_after_fork() { lock.release_after_fork(); }

AllocatorHandle make_allocator(std::uintptr_t, int n_traits, const parse::Trait* traits) {
  Allocator wanted;
  for (int i = 0; i < n_traits; ++i)
    if (!apply(wanted, traits[i])) return kNullAllocator;
  ult::begin_use();
  Allocator* allocator = nullptr;
  {
    ult::GuardOverForks guard(lock);
    allocator = spare;
    if (allocator) spare = allocator->next;
  }
  if (!allocator) {
    allocator = ult::permanent_array<Allocator>(1);
    if (!allocator) return kNullAllocator;
  }
  new (allocator) Allocator;
  allocator->alignment = wanted.alignment;
  allocator->pool = wanted.pool;
  allocator->fallback = wanted.fallback;
  allocator->fallback_allocator = wanted.fallback_allocator;
  return reinterpret_cast<AllocatorHandle>(allocator);
}

extern "C" {

ROOST_EXPORT AllocatorHandle omp_init_allocator(std::uintptr_t space, int n_traits,
                                                const parse::Trait* traits) {
  return make_allocator(space, n_traits, traits);
}
ROOST_EXPORT void omp_destroy_allocator(AllocatorHandle handle) {
  Allocator* allocator = custom(handle);
  if (!allocator) return;
  ult::GuardOverForks guard(lock);
  allocator->next = spare;
  spare = allocator;
}
ROOST_EXPORT void omp_set_default_allocator(AllocatorHandle handle) {
  self().task->icvs.allocator = handle ? handle : kDefaultAllocator;
}
ROOST_EXPORT AllocatorHandle omp_get_default_allocator() { return self().task->icvs.allocator; }

ROOST_EXPORT void* omp_alloc(std::size_t size, AllocatorHandle handle) {
  return obtain(handle, 1, size, false);
}
ROOST_EXPORT void* omp_aligned_alloc(std::size_t alignment, std::size_t size,
                                     AllocatorHandle handle) {
  return obtain(handle, alignment, size, false);
}
ROOST_EXPORT void* omp_calloc(std::size_t count, std::size_t size, AllocatorHandle handle) {
  return obtain_array(handle, 1, count, size);
}
ROOST_EXPORT void* omp_aligned_calloc(std::size_t alignment, std::size_t count, std::size_t size,
                                      AllocatorHandle handle) {
  return obtain_array(handle, alignment, count, size);
}
ROOST_EXPORT void* omp_realloc(void* memory, std::size_t size, AllocatorHandle handle,
                               AllocatorHandle) {
  return resize(memory, size, handle);
}
ROOST_EXPORT void omp_free(void* memory, AllocatorHandle) { give_back(memory); }

// ---- Fortran ------------------------------------------------------------------------------------

ROOST_EXPORT AllocatorHandle omp_init_allocator_(const std::uintptr_t* space,
                                                 const std::int32_t* n_traits,
                                                 const parse::Trait* traits) {
  return make_allocator(*space, *n_traits, traits);
}
ROOST_EXPORT AllocatorHandle omp_init_allocator_8_(const std::uintptr_t* space,
                                                   const std::int64_t* n_traits,
                                                   const parse::Trait* traits) {
  return make_allocator(*space, static_cast<int>(*n_traits), traits);
}
ROOST_EXPORT void omp_destroy_allocator_(const AllocatorHandle* handle) {
  omp_destroy_allocator(*handle);
}
ROOST_EXPORT void omp_set_default_allocator_(const AllocatorHandle* handle) {
  omp_set_default_allocator(*handle);
}
ROOST_EXPORT AllocatorHandle omp_get_default_allocator_() { return omp_get_default_allocator(); }

// ---- GCC: the allocate clause -------------------------------------------------------------------

// Cannot fail: the compiler does not look.
ROOST_EXPORT void* GOMP_alloc(std::size_t alignment, std::size_t size, AllocatorHandle handle) {
  void* memory = obtain(handle, alignment ? alignment : 1, size ? size : 1, false);
  if (!memory) ult::out_of_memory("a variable with an allocate clause");
  return memory;
}
ROOST_EXPORT void GOMP_free(void* memory, AllocatorHandle) { give_back(memory); }

// Allocatable scalars of Fortran (gfortran 14's -fopenmp-allocators): what GOMP_alloc() has given
// for one.
ROOST_EXPORT void GOMP_add_alloc(void* memory) {
  if (!memory) return;
  // As above. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
  auto* scalar = static_cast<Scalar*>(program_heap().allocate(sizeof(Scalar)));
  if (!scalar) ult::out_of_memory("an allocatable scalar");
  ult::begin_use();
  ult::GuardOverForks guard(lock);
  Scalar*& first = scalars_like(memory);
  *scalar = {first, memory};
  first = scalar;
}
// Whether it was, when memory is about to be freed or resized, after which it is not.
ROOST_EXPORT bool GOMP_is_alloc(void* memory) {
  Scalar* scalar = nullptr;
  {
    ult::GuardOverForks guard(lock);
    Scalar** link = &scalars_like(memory);
    while (*link && (*link)->memory != memory) link = &(*link)->next;
    scalar = *link;
    if (scalar) *link = scalar->next;
  }
  if (!scalar) return false;
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
  program_heap().release(scalar);
  return true;
}

// ---- LLVM ---------------------------------------------------------------------------------------

ROOST_EXPORT AllocatorHandle __kmpc_init_allocator(std::int32_t, std::uintptr_t space, int n_traits,
                                                   const parse::Trait* traits) {
  return make_allocator(space, n_traits, traits);
}
ROOST_EXPORT void __kmpc_destroy_allocator(std::int32_t, AllocatorHandle handle) {
  omp_destroy_allocator(handle);
}
ROOST_EXPORT void __kmpc_set_default_allocator(std::int32_t, AllocatorHandle handle) {
  omp_set_default_allocator(handle);
}
ROOST_EXPORT AllocatorHandle __kmpc_get_default_allocator(std::int32_t) {
  return omp_get_default_allocator();
}
ROOST_EXPORT void* __kmpc_alloc(std::int32_t, std::size_t size, AllocatorHandle handle) {
  return obtain(handle, 1, size, false);
}
ROOST_EXPORT void* __kmpc_aligned_alloc(std::int32_t, std::size_t alignment, std::size_t size,
                                        AllocatorHandle handle) {
  return obtain(handle, alignment, size, false);
}
ROOST_EXPORT void* __kmpc_calloc(std::int32_t, std::size_t count, std::size_t size,
                                 AllocatorHandle handle) {
  return obtain_array(handle, 1, count, size);
}
ROOST_EXPORT void* __kmpc_realloc(std::int32_t, void* memory, std::size_t size,
                                  AllocatorHandle handle, AllocatorHandle) {
  return resize(memory, size, handle);
}
ROOST_EXPORT void __kmpc_free(std::int32_t, void* memory, AllocatorHandle) { give_back(memory); }

// Constants of C programs that were compiled by clang before release 11, and Fortran's.
#define CONSTANT(name, value)                    \
  ROOST_EXPORT extern const std::uintptr_t name; \
  const std::uintptr_t name = value;
CONSTANT(omp_null_allocator, 0)
CONSTANT(omp_default_mem_alloc, 1)
CONSTANT(omp_large_cap_mem_alloc, 2)
CONSTANT(omp_const_mem_alloc, 3)
CONSTANT(omp_high_bw_mem_alloc, 4)
CONSTANT(omp_low_lat_mem_alloc, 5)
CONSTANT(omp_cgroup_mem_alloc, 6)
CONSTANT(omp_pteam_mem_alloc, 7)
CONSTANT(omp_thread_mem_alloc, 8)
CONSTANT(omp_default_mem_space, 0)
CONSTANT(omp_large_cap_mem_space, 1)
CONSTANT(omp_const_mem_space, 2)
CONSTANT(omp_high_bw_mem_space, 3)
CONSTANT(omp_low_lat_mem_space, 4)
#undef CONSTANT

}  // extern "C"
}  // namespace roost::omp
