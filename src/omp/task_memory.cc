// The free lists.
#include "omp/task_memory.h"

#include "base/types.h"
#include "ult/carriers.h"
#include "ult/memory.h"
#include "ult/spin_lock.h"

namespace roost::omp {
namespace {

constexpr unsigned kClasses = 50;
constexpr unsigned kLocalClasses = 10;  // up to 4096 bytes; larger ones have only the shared lists
constexpr unsigned kBatch = 32;

// What lies in memory that is free.
struct Free {
  Free* next;
  Free* next_batch;
};

struct List {
  Free* first;
  unsigned count;
};

// A carrier's lists. Of each kind and class two batches at most.
struct Local {
  List lists[kMemoryKinds][kLocalClasses];
};
// By the carrier's index, so that the next thread that gets the index goes on with the lists.
constinit std::atomic<Local*> locals[ult::kMaxCarriers] = {};
constinit thread_local Local* own = nullptr;

struct alignas(kCoreStride) Depot {
  ult::LockOverForks lock;
  Free* batches = nullptr;
};
constinit Depot depots[kMemoryKinds][kClasses];

Local& local() {
  if (own) return *own;
  std::atomic<Local*>& slot = locals[ult::carrier().index];
  own = slot.load(std::memory_order_relaxed);
  if (own) return *own;
  own = ult::permanent_array<Local>(1);
  if (!own) ult::out_of_memory("tasks");
  slot.store(own, std::memory_order_relaxed);
  return *own;
}

Free* take_batch(Depot& depot) {
  ult::GuardOverForks guard(depot.lock);
  Free* batch = depot.batches;
  if (batch) depot.batches = batch->next_batch;
  return batch;
}

void give_batch(Depot& depot, Free* batch) {
  ult::GuardOverForks guard(depot.lock);
  batch->next_batch = depot.batches;
  depot.batches = batch;
}

Free* fresh_batch(unsigned index) {
  std::size_t bytes = class_bytes(index);
  char* memory = static_cast<char*>(ult::permanent(bytes * kBatch));
  if (!memory) ult::out_of_memory("tasks");
  Free* first = nullptr;
  for (unsigned i = kBatch; i-- > 0;) {
    auto* item = reinterpret_cast<Free*>(memory + i * bytes);
    item->next = first;
    first = item;
  }
  return first;
}

__attribute__((noinline)) void* take_slowly(MemoryFor kind, unsigned index) {
  Depot& depot = depots[static_cast<unsigned>(kind)][index];
  if (index >= kLocalClasses) {
    if (Free* one = take_batch(depot)) return one;
    void* memory = ult::permanent(class_bytes(index));
    if (!memory) ult::out_of_memory("tasks");
    return memory;
  }
  Free* batch = take_batch(depot);
  if (!batch) batch = fresh_batch(index);
  List& list = local().lists[static_cast<unsigned>(kind)][index];
  list.first = batch->next;
  list.count = kBatch - 1;
  return batch;
}

__attribute__((noinline)) void give_slowly(MemoryFor kind, unsigned index, Free* item) {
  Depot& depot = depots[static_cast<unsigned>(kind)][index];
  if (index >= kLocalClasses) {
    give_batch(depot, item);
    return;
  }
  // A batch of the oldest stays warm here; the newest go, whose lines are most likely still here
  // and are wanted by whoever creates the next tasks.
  List& list = local().lists[static_cast<unsigned>(kind)][index];
  item->next = list.first;
  Free* last = item;
  for (unsigned i = 1; i < kBatch; ++i) last = last->next;
  list.first = last->next;
  list.count = list.count + 1 - kBatch;
  last->next = nullptr;
  give_batch(depot, item);
}

template <class Do>
void with_all_depots(Do&& act) {
  for (Depot(&of_kind)[kClasses] : depots)
    for (Depot& depot : of_kind) act(depot.lock);
}

}  // namespace

void lock_task_memory_before_fork() {
  with_all_depots([](ult::LockOverForks& lock) { lock.acquire_before_fork(); });
}
void unlock_task_memory_after_fork() {
  with_all_depots([](ult::LockOverForks& lock) { lock.release_after_fork(); });
}

void* take_memory(MemoryFor kind, unsigned index) {
  if (index >= kLocalClasses) return take_slowly(kind, index);
  List& list = local().lists[static_cast<unsigned>(kind)][index];
  Free* item = list.first;
  if (__builtin_expect(!item, 0)) return take_slowly(kind, index);
  list.first = item->next;
  --list.count;
  return item;
}

void give_memory(MemoryFor kind, unsigned index, void* memory) {
  Free* item = static_cast<Free*>(memory);
  if (index >= kLocalClasses) {
    give_slowly(kind, index, item);
    return;
  }
  List& list = local().lists[static_cast<unsigned>(kind)][index];
  if (__builtin_expect(list.count + 1 >= 2 * kBatch, 0)) {
    give_slowly(kind, index, item);
    return;
  }
  item->next = list.first;
  list.first = item;
  ++list.count;
}

}  // namespace roost::omp
