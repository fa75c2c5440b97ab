// threadprivate variables of programs that clang compiled without thread-local storage
// (-fnoopenmp-use-tls). GCC's, and clang's by default, are ordinary thread-local variables.
//
// A variable has a copy for each OpenMP thread, kept by gtid. The main thread's is the variable
// itself. The master of a region is the thread that opened it, so it has that one's copy.
#include "omp/threadprivate.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "omp/export.h"
#include "omp/kmpc.h"
#include "omp/lock.h"
#include "omp/team.h"

namespace roost::omp {
namespace {

using Constructor = void* (*)(void*);
using CopyConstructor = void* (*)(void*, void*);
using Destructor = void (*)(void*);
using VectorConstructor = void* (*)(void*, std::size_t);
using VectorCopyConstructor = void* (*)(void*, void*, std::size_t);
using VectorDestructor = void* (*)(void*, std::size_t);

constexpr unsigned kChunk = 256;
constexpr unsigned kChunks = 1024;

struct Variable {
  Variable* next = nullptr;  // in its list of the table; constant once it is there
  void* original = nullptr;
  std::size_t size = 0;      // 0: registered, and not used yet
  std::size_t elements = 0;  // of an array of objects; 0: not registered as one
  void* constructor = nullptr;
  void* copy_constructor = nullptr;
  void* destructor = nullptr;
  void* image = nullptr;  // what copies begin as: as the variable was before anybody used it
  std::atomic<std::atomic<void*>*> copies[kChunks] = {};
};

constexpr unsigned kLists = 256;
constinit std::atomic<Variable*> table[kLists] = {};
constinit std::atomic<bool> any_variable{false};
// Held while variables are made, not while they are used. Constructors of images are called with
// it: a light thread may wait for it.
constinit Lock making;

std::atomic<Variable*>& list_of(const void* original) {
  auto bits = reinterpret_cast<std::uintptr_t>(original) >> 3;
  return table[(bits * 0x9e3779b97f4a7c15u) >> 56];
}

Variable* find(const void* original) {
  // [private-1] acquire: what the variable is.
  Variable* variable = list_of(original).load(std::memory_order_acquire);
  while (variable && variable->original != original) variable = variable->next;
  return variable;
}

// With `making` held.
Variable& find_or_add(void* original) {
  if (Variable* variable = find(original)) return *variable;
  auto* variable = ult::permanent_array<Variable>(1);
  if (!variable) ult::out_of_memory("a threadprivate variable");
  new (variable) Variable;
  variable->original = original;
  std::atomic<Variable*>& list = list_of(original);
  variable->next = list.load(std::memory_order_relaxed);
  list.store(variable, std::memory_order_release);  // [private-1]
  any_variable.store(true, std::memory_order_relaxed);
  return *variable;
}

void* memory_for(const Variable& variable) {
  void* memory = ult::permanent(variable.size);
  if (!memory) ult::out_of_memory("a copy of a threadprivate variable");
  return memory;
}

void copy_construct(const Variable& variable, void* to, void* from) {
  if (variable.elements) {
    reinterpret_cast<VectorCopyConstructor>(variable.copy_constructor)(to, from, variable.elements);
  } else {
    reinterpret_cast<CopyConstructor>(variable.copy_constructor)(to, from);
  }
}

void construct(const Variable& variable, void* copy) {
  if (variable.constructor && variable.elements) {
    reinterpret_cast<VectorConstructor>(variable.constructor)(copy, variable.elements);
  } else if (variable.constructor) {
    reinterpret_cast<Constructor>(variable.constructor)(copy);
  } else if (variable.copy_constructor) {
    copy_construct(variable, copy, variable.image);
  } else {
    memcpy(copy, variable.image, variable.size);
  }
}

// At the first use by anybody, with `making` held.
void take_image(Variable& variable, std::size_t size) {
  variable.size = size;
  if (variable.constructor) return;
  variable.image = memory_for(variable);
  if (variable.copy_constructor) {
    copy_construct(variable, variable.image, variable.original);
  } else {
    memcpy(variable.image, variable.original, size);
  }
}

// The thread whose copy the member uses.
const Member& owner_of_copy(const Member& member) {
  const Member* owner = &member;
  while (owner->number == 0 && owner->team->opener) owner = owner->team->opener;
  return *owner;
}

bool is_main_thread(const Member& owner) {
  return !owner.team->opener && syscall(SYS_gettid) == getpid();
}

std::atomic<void*>& slot_of(Variable& variable, unsigned gtid) {
  if (gtid >= kChunk * kChunks) ult::out_of_memory("copies of threadprivate variables");
  std::atomic<std::atomic<void*>*>& chunk = variable.copies[gtid / kChunk];
  std::atomic<void*>* slots = chunk.load(std::memory_order_acquire);
  if (!slots) {
    auto* fresh = ult::permanent_array<std::atomic<void*>>(kChunk);
    if (!fresh) ult::out_of_memory("copies of threadprivate variables");
    if (chunk.compare_exchange_strong(slots, fresh, std::memory_order_acq_rel)) slots = fresh;
  }
  return slots[gtid % kChunk];
}

void* copy_of(Variable& variable, std::size_t size) {
  const Member& owner = owner_of_copy(self());
  std::atomic<void*>& slot = slot_of(variable, static_cast<unsigned>(owner.gtid));
  // Written by its own thread only.
  if (void* copy = slot.load(std::memory_order_relaxed)) return copy;
  {
    making.acquire();
    if (!variable.size) take_image(variable, size);
    making.release();
  }
  void* copy = variable.original;
  if (!is_main_thread(owner)) {
    copy = memory_for(variable);
    construct(variable, copy);
  }
  slot.store(copy, std::memory_order_relaxed);
  return copy;
}

Variable& variable_at(void* original) {
  if (Variable* variable = find(original)) return *variable;
  making.acquire();
  Variable& variable = find_or_add(original);
  making.release();
  return variable;
}

void register_variable(void* original, void* constructor, void* copy_constructor, void* destructor,
                       std::size_t elements) {
  making.acquire();
  Variable& variable = find_or_add(original);
  if (!variable.size) {
    variable.constructor = constructor;
    variable.copy_constructor = copy_constructor;
    variable.destructor = destructor;
    variable.elements = elements;
  }
  making.release();
}

void destroy(const Variable& variable, void* copy) {
  if (variable.elements) {
    reinterpret_cast<VectorDestructor>(variable.destructor)(copy, variable.elements);
  } else {
    reinterpret_cast<Destructor>(variable.destructor)(copy);
  }
}

template <class Each>
void for_all_variables(Each&& each) {
  for (std::atomic<Variable*>& list : table) {
    Variable* variable = list.load(std::memory_order_acquire);
    for (; variable; variable = variable->next) each(*variable);
  }
}

void end_copy(Variable& variable, std::atomic<void*>& slot) {
  void* copy = slot.exchange(nullptr, std::memory_order_relaxed);
  if (copy && copy != variable.original && variable.destructor) destroy(variable, copy);
}

// When the process ends: threads of the library have no end of their own.
__attribute__((destructor)) void destroy_copies() {
  for_all_variables([](Variable& variable) {
    for (std::atomic<std::atomic<void*>*>& chunk : variable.copies) {
      std::atomic<void*>* slots = chunk.load(std::memory_order_acquire);
      for (unsigned i = 0; slots && i < kChunk; ++i) end_copy(variable, slots[i]);
    }
  });
}

}  // namespace

void forget_threadprivate(std::int32_t gtid) {
  auto number = static_cast<unsigned>(gtid);
  if (!any_variable.load(std::memory_order_relaxed) || number >= kChunk * kChunks) return;
  for_all_variables([number](Variable& variable) {
    std::atomic<void*>* slots = variable.copies[number / kChunk].load(std::memory_order_acquire);
    if (slots) end_copy(variable, slots[number % kChunk]);
  });
}

extern "C" {

ROOST_EXPORT void __kmpc_threadprivate_register(Ident*, void* original, Constructor constructor,
                                                CopyConstructor copy_constructor,
                                                Destructor destructor) {
  register_variable(original, reinterpret_cast<void*>(constructor),
                    reinterpret_cast<void*>(copy_constructor), reinterpret_cast<void*>(destructor),
                    0);
}
ROOST_EXPORT void __kmpc_threadprivate_register_vec(Ident*, void* original,
                                                    VectorConstructor constructor,
                                                    VectorCopyConstructor copy_constructor,
                                                    VectorDestructor destructor,
                                                    std::size_t elements) {
  register_variable(original, reinterpret_cast<void*>(constructor),
                    reinterpret_cast<void*>(copy_constructor), reinterpret_cast<void*>(destructor),
                    elements);
}
ROOST_EXPORT void* __kmpc_threadprivate(Ident*, std::int32_t, void* original, std::size_t size) {
  return copy_of(variable_at(original), size);
}
// `cache`: a pointer for the runtime's use, null at first: to the variable's record.
ROOST_EXPORT void* __kmpc_threadprivate_cached(Ident*, std::int32_t, void* original,
                                               std::size_t size, void*** cache) {
  auto* known = reinterpret_cast<Variable*>(__atomic_load_n(cache, __ATOMIC_ACQUIRE));
  if (!known) {
    known = &variable_at(original);
    __atomic_store_n(cache, reinterpret_cast<void**>(known), __ATOMIC_RELEASE);
  }
  return copy_of(*known, size);
}

}  // extern "C"
}  // namespace roost::omp
