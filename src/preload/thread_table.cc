// The table of the process's threads by handle.
#include <dlfcn.h>
#include <sys/mman.h>

#include "preload/lock.h"
#include "preload/thread.h"

namespace roost {
namespace {

constexpr unsigned kBuckets = 1024;
Thread* table[kBuckets];
unsigned in_table;  // threads
Lock table_lock;
Thread* slab;
unsigned slab_left;
Thread* retired;  // Thread structures of threads that ended for good

// What a program gave a thread that still runs may be known to its Thread alone. LeakSanitizer, if
// it is there, does not look into others' memory by itself. Asked for before there is a second
// thread: it takes the linker's lock.
void show_to_leak_checker(const void* memory, std::size_t bytes) {
  using Show = void(const void*, std::size_t);
  static Show* const show =
      reinterpret_cast<Show*>(dlsym(RTLD_DEFAULT, "__lsan_register_root_region"));
  if (show) show(memory, bytes);
}

unsigned bucket(pthread_t handle) {
  return static_cast<unsigned>((handle >> 6) * 0x9e3779b97f4a7c15ull >> 54) & (kBuckets - 1);
}

}  // namespace

Thread* allocate_thread() {
  LockGuard guard(table_lock);
  Thread* t = retired;
  if (t) {
    retired = t->next_in_table;
  } else {
    if (slab_left == 0) {
      constexpr std::size_t kSlab = 64 * 1024;
      void* memory =
          mmap(nullptr, kSlab, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) return nullptr;
      show_to_leak_checker(memory, kSlab);
      slab = static_cast<Thread*>(memory);
      slab_left = kSlab / sizeof(Thread);
    }
    t = slab++;
    --slab_left;
  }
  __builtin_memset(static_cast<void*>(t), 0, sizeof *t);
  t->index = kNoThread;
  return t;
}

void free_thread(Thread* t) {
  LockGuard guard(table_lock);
  if (t->registered.load(std::memory_order_relaxed)) {
    Thread** link = &table[bucket(t->handle)];
    while (*link && *link != t) link = &(*link)->next_in_table;
    if (*link) {
      *link = t->next_in_table;
      --in_table;
    }
  }
  t->argument = nullptr;
  t->next_in_table = retired;
  retired = t;
}

void register_thread(Thread* t, pthread_t handle) {
  LockGuard guard(table_lock);
  if (t->registered.exchange(true, std::memory_order_acq_rel)) return;
  t->handle = handle;
  Thread*& head = table[bucket(handle)];
  t->next_in_table = head;
  head = t;
  ++in_table;
}

Thread* find_thread(pthread_t handle) {
  LockGuard guard(table_lock);
  Thread* t = table[bucket(handle)];
  while (t && t->handle != handle) t = t->next_in_table;
  return t;
}

Thread* find_thread_by_tid(std::int32_t tid) {
  LockGuard guard(table_lock);
  for (Thread* head : table) {
    for (Thread* t = head; t; t = t->next_in_table) {
      if (t->tid == tid) return t;
    }
  }
  return nullptr;
}

// The other threads do not exist in the child; their structures are left where they are.
void reset_table(Thread* survivor) {
  table_lock.reset();
  // Each page written is copied for the child.
  if (in_table == 1 && survivor && survivor->registered.load(std::memory_order_relaxed)) {
    table[bucket(survivor->handle)] = nullptr;
  } else {
    for (Thread*& head : table) head = nullptr;
  }
  in_table = 0;
  retired = nullptr;
  if (!survivor) return;
  survivor->registered.store(false, std::memory_order_relaxed);
  survivor->handle = pthread_self();
  register_thread(survivor, survivor->handle);
}

}  // namespace roost
