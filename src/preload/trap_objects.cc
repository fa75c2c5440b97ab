// Which loaded objects have inline system calls that wait.
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>

#include <initializer_list>

#include "base/loaded_object.h"
#include "os/inline_syscalls.h"
#include "preload/fork_gate.h"
#include "preload/lock.h"
#include "preload/real.h"
#include "preload/trap_state.h"

#if defined(__x86_64__)
extern "C" {
// Set by trap_stubs.S.
__attribute__((visibility("hidden"))) std::atomic<std::uint32_t> roost_opened_objects{0};
__attribute__((visibility("hidden"))) void* roost_real_dlopen = nullptr;
__attribute__((visibility("hidden"))) void* roost_real_dlmopen = nullptr;
__attribute__((visibility("hidden"))) void* roost_real_dlsym = nullptr;
__attribute__((visibility("hidden"), cold)) void roost_find_dl();
}
#endif

namespace roost {
namespace {

// Known by name, so that nobody has to read them: libgomp is also in Python wheels as
// libgomp-HASH.so.
constexpr const char* kKnownToWait[] = {"libiomp5", "liburing"};  // and libgomp
// Of larger objects only the name counts: reading them may mean reading them from disk.
constexpr std::size_t kLargestText = 1 << 20;
constexpr std::size_t kMostTextInAll = 8 << 20;

struct Object {
  ElfW(Addr) address;
  const ElfW(Phdr) * headers;
};
constexpr unsigned kMaxSeen = 512;
Object seen[kMaxSeen];
unsigned n_seen;
unsigned long long seen_adds, seen_subs;
std::uint32_t seen_opened;
std::atomic<bool> looking{false};
std::atomic<bool> looked{false};

bool contains(const dl_phdr_info* info, const void* place) {
  auto address = reinterpret_cast<ElfW(Addr)>(place);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    ElfW(Addr) start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= start && address < start + segment.p_memsz)
      return true;
  }
  return false;
}

// Those that make system calls for everybody, or for Roost: its OpenMP library's wait on purpose.
bool is_base_system(const dl_phdr_info* info) {
  for (const char* begins :
       {"ld-linux", "linux-vdso", "libpthread.so", "libgomp_roost.so", "libroost_omp.so"}) {
    if (has_file_name(info->dlpi_name, begins)) return true;
  }
  return contains(info, reinterpret_cast<const void*>(&gnu_get_libc_version)) ||
         contains(info, &looked);
}

// Roost's own libgomp.so.1 (cmake/guest/CMakeLists.txt) has none.
bool has_text(const dl_phdr_info* info) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && segment.p_flags & PF_X) return true;
  }
  return false;
}

bool known_by_name(const dl_phdr_info* info) {
  if (is_libgomp_name(info->dlpi_name)) return has_text(info);
  for (const char* name : kKnownToWait) {
    if (has_file_name(info->dlpi_name, name)) return has_text(info);
  }
  return false;
}

// Whether one of the notes (elf(5), "Notes") is by `owner`; a C linker puts its own before Go's.
bool has_note_of(const char* notes, std::size_t bytes, const char* owner) {
  constexpr std::size_t kAlignment = 4;
  auto padded = [](std::size_t size) { return (size + kAlignment - 1) & ~(kAlignment - 1); };
  std::size_t owner_bytes = strlen(owner) + 1;
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
    ElfW(Nhdr) note;
    memcpy(&note, notes + at, sizeof note);
    at += sizeof note;
    if (padded(note.n_namesz) > bytes - at) return false;
    if (note.n_namesz >= owner_bytes && memcmp(notes + at, owner, owner_bytes) == 0) return true;
    at += padded(note.n_namesz) + padded(note.n_descsz);
  }
  return false;
}

// Go programs make all their system calls inline; the note by which Go marks them says so at no
// cost.
bool is_go(const dl_phdr_info* info) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    if (has_note_of(notes, segment.p_memsz, "Go")) return true;
  }
  return false;
}

struct Look {
  bool first_found;
  bool found;
  std::size_t text_left;
};

bool seen_before(const dl_phdr_info* info) {
  for (unsigned i = 0; i < n_seen; ++i) {
    if (seen[i].address == info->dlpi_addr && seen[i].headers == info->dlpi_phdr) return true;
  }
  if (n_seen < kMaxSeen) seen[n_seen++] = {info->dlpi_addr, info->dlpi_phdr};
  return false;
}

// Objects are listed in order of loading, the program first.
int by_name(dl_phdr_info* info, std::size_t, void* data) {
  auto* look = static_cast<Look*>(data);
  if (!look->first_found) {
    look->first_found = true;
    if (info->dlpi_subs != seen_subs) n_seen = 0;  // an address may have been used again
    bool nothing_new = looked.load(std::memory_order_relaxed) && info->dlpi_adds == seen_adds;
    seen_adds = info->dlpi_adds;
    seen_subs = info->dlpi_subs;
    if (nothing_new) return 1;
  }
  look->found = known_by_name(info) || is_go(info);
  return look->found;
}

int by_text(dl_phdr_info* info, std::size_t, void* data) {
  auto* look = static_cast<Look*>(data);
  if (seen_before(info) || is_base_system(info)) return 0;
  for (int i = 0; i < info->dlpi_phnum && !look->found; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    // Text that cannot be read, or is in part not in the file, is left out.
    if (segment.p_type != PT_LOAD || (segment.p_flags & (PF_X | PF_R)) != (PF_X | PF_R)) continue;
    if (segment.p_filesz > kLargestText || segment.p_filesz > look->text_left) continue;
    look->text_left -= segment.p_filesz;
    look->found =
        os::waits_inline(reinterpret_cast<const unsigned char*>(info->dlpi_addr + segment.p_vaddr),
                         segment.p_filesz);
  }
  return look->found;
}

struct Wanted {
  const void* inside;
  TextRange* range;
};
int store_text(dl_phdr_info* info, std::size_t, void* data) {
  auto* wanted = static_cast<Wanted*>(data);
  if (wanted->inside && !contains(info, wanted->inside)) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    *wanted->range = {info->dlpi_addr + segment.p_vaddr, segment.p_memsz};
    return 1;
  }
  return 1;
}

}  // namespace

bool find_text(const void* inside, TextRange& range) {
  range = {};
  Wanted wanted{inside, &range};
  walk_objects(store_text, &wanted);
  return range.length != 0;
}

#if defined(__x86_64__)
bool objects_may_be_new() {
  return !looked.load(std::memory_order_acquire) ||
         roost_opened_objects.load(std::memory_order_relaxed) != seen_opened;
}
#else
bool objects_may_be_new() { return false; }
#endif

void objects_after_fork() { looking.store(false, std::memory_order_relaxed); }

bool program_is_go() {
  auto first = [](dl_phdr_info* info, std::size_t, void*) { return is_go(info) ? 2 : 1; };
  return walk_objects(first, nullptr) == 2;
}

bool program_has_libraries() {
  auto first = [](dl_phdr_info* info, std::size_t, void*) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info->dlpi_phdr[i];
      if (segment.p_type != PT_DYNAMIC) continue;
      const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + segment.p_vaddr);
      while (entry->d_tag != DT_NULL && entry->d_tag != DT_NEEDED) ++entry;
      return entry->d_tag == DT_NEEDED ? 2 : 1;
    }
    return 1;
  };
  return walk_objects(first, nullptr) == 2;
}

bool inline_waits_loaded() {
  if (looking.exchange(true, std::memory_order_acquire)) return false;
#if defined(__x86_64__)
  seen_opened = roost_opened_objects.load(std::memory_order_relaxed);
#endif
  Look look{false, false, kMostTextInAll};
  bool stopped = walk_objects(by_name, &look) != 0;
  if (!stopped) walk_objects(by_text, &look);
  looked.store(true, std::memory_order_release);
  looking.store(false, std::memory_order_release);
  return look.found;
}

}  // namespace roost

#if defined(__x86_64__)
void roost_find_dl() {
  using namespace roost;
  // Not by dlsym, which is ours.
  auto find = [](const char* name) {
    void* found = dlvsym(RTLD_NEXT, name, "GLIBC_2.34");
    return found ? found : dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5");
  };
  roost_real_dlsym = find("dlsym");
  roost_real_dlopen = find("dlopen");
  roost_real_dlmopen = find("dlmopen");
  if (!roost_real_dlmopen) roost_real_dlmopen = dlvsym(RTLD_NEXT, "dlmopen", "GLIBC_2.3.4");
  // Now, since a lookup after the program's own would take the place of what dlerror() is to say.
  resolve_libc_functions();
}
#endif
