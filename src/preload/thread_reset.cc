// Makes a used kernel thread look new: destructors as libc runs them, then fresh thread-local
// storage.
//
// Order as in glibc's start_thread: C++ thread_local destructors, then key destructors in up to
// PTHREAD_DESTRUCTOR_ITERATIONS rounds. Afterwards the TLS block of every loaded object but libc,
// the dynamic linker and Roost is set back to its initial image. libc's own per-thread state
// (malloc cache, locale) stays: it is valid for any thread of the process.
#include <limits.h>
#include <link.h>
#include <locale.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/loaded_object.h"
#include "preload/fork_gate.h"
#include "preload/lock.h"
#include "preload/real.h"
#include "preload/thread.h"

namespace roost {
namespace {

// Live keys and their destructors; a key is an index below PTHREAD_KEYS_MAX.
struct Key {
  std::atomic<bool> live;
  void (*destructor)(void*);
};
constinit Key keys[PTHREAD_KEYS_MAX] = {};
std::atomic<unsigned> keys_end{0};

// Found with all others, not at a thread's end: whoever joins the thread may be a constructor or
// destructor that runs in dlopen or dlclose, which hold the linker's lock.
ROOST_LISTED constinit Real<void()> call_tls_dtors{"__call_tls_dtors", "GLIBC_PRIVATE"};

struct TlsImage {
  const void* image;
  std::size_t image_bytes;
  std::size_t total_bytes;
  std::ptrdiff_t offset;  // from the thread pointer
};
constexpr unsigned kMaxImages = 256;
constinit TlsImage images[kMaxImages] = {};
unsigned n_images;
bool dynamic_images;  // some module's block is not at a fixed offset: walk every time
unsigned long long images_adds, images_subs;
bool images_known;
std::atomic<bool> walking{false};  // somebody records them
Lock images_lock;

char* thread_pointer() { return static_cast<char*>(__builtin_thread_pointer()); }

// libc and the dynamic linker keep state there that belongs to the kernel thread.
bool keeps_its_storage(const dl_phdr_info* info) {
  if (has_file_name(info->dlpi_name, "libc.so.") ||
      has_file_name(info->dlpi_name, "libpthread.so.") ||
      has_file_name(info->dlpi_name, "ld-linux") || has_file_name(info->dlpi_name, "ld.so") ||
      has_file_name(info->dlpi_name, "libroost")) {
    return true;
  }
  // By address, whatever the file is called.
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    ElfW(Addr) start = info->dlpi_addr + segment.p_vaddr;
    for (const void* inside : {reinterpret_cast<const void*>(&keeps_its_storage),
                               reinterpret_cast<const void*>(&::memcpy)}) {
      auto address = reinterpret_cast<ElfW(Addr)>(inside);
      if (address >= start && address < start + segment.p_memsz) return true;
    }
  }
  return false;
}

void restore(const TlsImage& image, char* block) {
  memcpy(block, image.image, image.image_bytes);
  memset(block + image.image_bytes, 0, image.total_bytes - image.image_bytes);
}

bool describe(const dl_phdr_info* info, TlsImage& image) {
  if (info->dlpi_tls_modid == 0 || keeps_its_storage(info)) return false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_TLS) continue;
    image = {reinterpret_cast<const void*>(info->dlpi_addr + segment.p_vaddr), segment.p_filesz,
             segment.p_memsz, 0};
    return true;
  }
  return false;
}

struct Walk {
  bool record;
  char* stack_low;  // blocks between here and the thread pointer are at fixed offsets
};

// Restores the calling thread's blocks, and records the fixed ones if asked.
int restore_module(dl_phdr_info* info, std::size_t, void* data) {
  auto* walk = static_cast<Walk*>(data);
  TlsImage image;
  if (!describe(info, image)) return 0;
  auto* block = static_cast<char*>(info->dlpi_tls_data);
  if (block) restore(image, block);
  if (!walk->record) return 0;
  char* pointer = thread_pointer();
  std::ptrdiff_t offset = block - pointer;
  bool fixed = block && n_images < kMaxImages &&
#if defined(__x86_64__)
               block < pointer && block >= walk->stack_low;
#else
               block > pointer && offset < (1 << 20) && walk->stack_low;
#endif
  if (fixed) {
    image.offset = offset;
    images[n_images++] = image;
  } else {
    dynamic_images = true;
  }
  return 0;
}

int read_counts(dl_phdr_info* info, std::size_t, void* data) {
  auto* counts = static_cast<unsigned long long*>(data);
  counts[0] = info->dlpi_adds;
  counts[1] = info->dlpi_subs;
  return 1;
}

// As glibc: what is still set after the last round is dropped.
void clear_keys() {
  unsigned end = keys_end.load(std::memory_order_acquire);
  for (unsigned i = 0; i < end; ++i) {
    if (keys[i].live.load(std::memory_order_acquire) && pthread_getspecific(i))
      pthread_setspecific(i, nullptr);
  }
}

void run_key_destructors() {
  for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; ++round) {
    bool again = false;
    unsigned end = keys_end.load(std::memory_order_acquire);
    for (unsigned i = 0; i < end; ++i) {
      if (!keys[i].live.load(std::memory_order_acquire)) continue;
      void* value = pthread_getspecific(i);
      if (!value) continue;
      pthread_setspecific(i, nullptr);
      if (keys[i].destructor) {
        keys[i].destructor(value);
        again = true;
      }
    }
    if (!again) return;
  }
  clear_keys();
}

int create_key(pthread_key_t* key, void (*destructor)(void*)) {
  int result = real::pthread_key_create(key, destructor);
  if (result != 0 || *key >= PTHREAD_KEYS_MAX) return result;
  keys[*key].destructor = destructor;
  keys[*key].live.store(true, std::memory_order_release);
  unsigned end = keys_end.load(std::memory_order_relaxed);
  while (end <= *key && !keys_end.compare_exchange_weak(end, *key + 1, std::memory_order_release)) {
  }
  return 0;
}

int delete_key(pthread_key_t key) {
  if (key < PTHREAD_KEYS_MAX) keys[key].live.store(false, std::memory_order_release);
  return real::pthread_key_delete(key);
}

}  // namespace

bool can_reset_thread_storage() { return call_tls_dtors.found() != nullptr; }

void run_thread_destructors() {
  call_tls_dtors.found()();
  run_key_destructors();
}

void reset_thread_storage() {
  uselocale(LC_GLOBAL_LOCALE);
  unsigned long long counts[2] = {};
  walk_objects(read_counts, counts);
  images_lock.acquire();
  bool usable =
      images_known && images_adds == counts[0] && images_subs == counts[1] && !dynamic_images;
  if (usable) {
    // A copy of the list is not needed: it changes only when objects are loaded or unloaded.
    for (unsigned i = 0; i < n_images; ++i) restore(images[i], thread_pointer() + images[i].offset);
    images_lock.release();
    return;
  }
  images_lock.release();
  pthread_attr_t attributes;
  void* stack = nullptr;
  std::size_t size = 0;
  bool record = pthread_getattr_np(pthread_self(), &attributes) == 0;
  if (record) {
    pthread_attr_getstack(&attributes, &stack, &size);
    pthread_attr_destroy(&attributes);
  }
  Walk walk{record, static_cast<char*>(stack)};
  if (!record) {
    walk_objects(restore_module, &walk);
    return;
  }
  // Lock order: the dynamic linker's, then ours would be the other way round; so no lock is held
  // across the walk and a concurrent walk at worst records the same list again.
  if (walking.exchange(true, std::memory_order_acquire)) {
    walk.record = false;
    walk_objects(restore_module, &walk);
    return;
  }
  images_lock.acquire();
  images_known = false;
  images_lock.release();
  n_images = 0;
  dynamic_images = false;
  walk_objects(restore_module, &walk);
  images_lock.acquire();
  images_adds = counts[0];
  images_subs = counts[1];
  images_known = true;
  images_lock.release();
  walking.store(false, std::memory_order_release);
}

void thread_images_after_fork() {
  images_lock.reset();
  walking.store(false, std::memory_order_relaxed);
  images_known = false;  // whoever recorded them may not have come to the end
}

bool holds_robust_mutex() {
  struct RobustList {
    RobustList* next;
  };
  RobustList* head = nullptr;
  std::size_t length = 0;
  if (os::raw_syscall(SYS_get_robust_list, 0, os::arg(&head), os::arg(&length)) != 0 || !head)
    return false;
  return head->next != head;
}

ROOST_EXPORT int pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) {
  return create_key(key, destructor);
}
ROOST_EXPORT int pthread_key_delete(pthread_key_t key) { return delete_key(key); }
ROOST_EXPORT int tss_create(tss_t* key, tss_dtor_t destructor) {
  return create_key(key, destructor) == 0 ? thrd_success : thrd_error;
}
ROOST_EXPORT void tss_delete(tss_t key) { delete_key(key); }

}  // namespace roost
