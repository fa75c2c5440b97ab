// Looks at the library's symbols, asks its own functions, and changes its code before it has
// threads.
#include "preload/blas_library.h"

#include <string.h>

#include <algorithm>
#include <iterator>

#include "base/loaded_object.h"
#include "base/object_symbols.h"
#include "preload/code_patch.h"
#include "preload/entry_patch.h"
#include "preload/nudge.h"
#include "spin/wait_room.h"

namespace roost {
namespace {

constexpr char kExec[] = "exec_blas";
constexpr char kYield[] = "sched_yield";  // else its threads wait in loops of no-ops
constexpr std::size_t kPage = 4096;

// OpenBLAS's text about itself, by the names that distributions and wheels give the function.
bool is_version_known(const ObjectSymbols& symbols) {
  constexpr const char* kNames[] = {"openblas_get_config", "openblas_get_config64_",
                                    "scipy_openblas_get_config", "scipy_openblas_get_config64_"};
  constexpr char kBegins[] = "OpenBLAS 0.3.";
  for (const char* name : kNames) {
    auto* config = symbols.function<const char*()>(name);
    if (!config) continue;
    const char* text = config();
    if (strncmp(text, kBegins, sizeof kBegins - 1) != 0) return false;
    unsigned version = 0;
    for (const char* c = text + sizeof kBegins - 1; *c >= '0' && *c <= '9' && version < 1000; ++c)
      version = version * 10 + static_cast<unsigned>(*c - '0');
    return version >= 11 && version <= 34;
  }
  return false;
}

const void* address_of(blas::Exec* function) { return reinterpret_cast<const void*>(function); }

blas::Exec* original_of(const ObjectSymbols& symbols, blas::Exec* replacement) {
  void* found = symbols.find(kExec);
  const void* moved = found ? unpatched_entry(found, address_of(replacement)) : nullptr;
  return reinterpret_cast<blas::Exec*>(moved ? const_cast<void*>(moved) : found);
}

// All of the object's wait loops lie before exec_blas_async, exec_blas_async_wait and the pool's
// own, which lie side by side: what comes behind is the kernels, ten times as much.
bool make_room_in_waits(const dl_find_object& object, const ObjectSymbols& symbols) {
  constexpr std::size_t kBehind = 16 * 1024;
  const auto* exec = static_cast<const char*>(symbols.find(kExec));
  return any_loaded_part(object, [&](const char* start, std::size_t size, unsigned) {
    if (exec < start || exec >= start + size) return false;
    const auto* code = reinterpret_cast<const std::uint8_t*>(start);
    size = std::min(size, static_cast<std::size_t>(exec - start) + kBehind);
    for (std::size_t at = 0; (at = spin::find_idle_wait(code, size, at)) < size;) {
      if (!write_unused_code(reinterpret_cast<std::uintptr_t>(start) + at, spin::kRoom,
                             sizeof spin::kRoom)) {
        return false;
      }
    }
    return true;
  });
}

unsigned index_of_type(int mode) {
  auto bits = static_cast<unsigned>(mode);
  return (bits & blas::Piece::kPrecision) | (bits & blas::Piece::kComplex) >> 8;
}
constexpr int kType = blas::Piece::kComplex | blas::Piece::kPrecision;

struct Seen {
  void* a;
  void* b;
};
int do_nothing(blas::Arguments*, const long*, const long*, void*, void*, long) { return 0; }
int look(blas::Arguments* arguments, const long*, const long*, void* a, void* b, long) {
  *static_cast<Seen*>(arguments->common) = {a, b};
  return 0;
}

}  // namespace

constinit BlasLibrary BlasLibrary::all_[4];

// Another library may have come to lie where one was: it has another end, or other tables.
BlasLibrary* BlasLibrary::slot_of(const dl_find_object& object) {
  auto start = reinterpret_cast<std::uintptr_t>(object.dlfo_map_start);
  auto end = reinterpret_cast<std::uintptr_t>(object.dlfo_map_end);
  const void* dynamic = object.dlfo_link_map->l_ld;
  for (BlasLibrary& it : all_) {
    std::uintptr_t none = 0;
    if (it.start_.compare_exchange_strong(none, start, std::memory_order_acquire)) {
      it.dynamic_ = dynamic;
      it.end_ = end;
    }
    if (it.start_.load(std::memory_order_relaxed) == start && it.end_ == end &&
        it.dynamic_ == dynamic) {
      return &it;
    }
  }
  return nullptr;
}

blas::Exec* BlasLibrary::original(const dl_find_object& object, blas::Exec* replacement) {
  return original_of(ObjectSymbols(*object.dlfo_link_map), replacement);
}

void BlasLibrary::prepare(const dl_find_object& object, blas::Exec* replacement) {
  ObjectSymbols symbols(*object.dlfo_link_map);
  BlasLibrary* library = slot_of(object);
  const void* exec = symbols.find(kExec);
  if (!exec || !library || library->prepared_.load(std::memory_order_relaxed) ||
      !is_version_known(symbols)) {
    return;
  }
  if (!symbols.calls_by_table(kExec) && !unpatched_entry(exec, address_of(replacement))) {
    EntryPatch patch{exec, address_of(replacement)};
    patch_entries(&patch, 1);
  }
  bool room = !symbols.calls_by_table(kYield) && rewrites_wait_loops() &&
              make_room_in_waits(object, symbols);
  library->loops_have_room_.store(room, std::memory_order_relaxed);
  library->prepared_.store(true, std::memory_order_relaxed);
}

void BlasLibrary::leave_loops(const dl_find_object& object) {
  if (BlasLibrary* library = slot_of(object))
    library->prepared_.store(true, std::memory_order_relaxed);
}

BlasLibrary* BlasLibrary::find(const dl_find_object& object, blas::Exec* replacement) {
  BlasLibrary* library = slot_of(object);
  if (!library) return nullptr;
  Fit fit = library->fit_.load(std::memory_order_acquire);
  if (fit == Fit::unknown &&
      library->fit_.compare_exchange_strong(fit, Fit::asked, std::memory_order_relaxed)) {
    fit = library->learn(object, replacement) ? Fit::yes : Fit::no;
    library->fit_.store(fit, std::memory_order_release);
  }
  return fit == Fit::yes ? library : nullptr;
}

bool BlasLibrary::learn(const dl_find_object& object, blas::Exec* replacement) {
  ObjectSymbols symbols(*object.dlfo_link_map);
  exec_ = original_of(symbols, replacement);
  allocate_ = symbols.function<void*(int)>("blas_memory_alloc");
  release_ = symbols.function<void(void*)>("blas_memory_free");
  if (!exec_ || !allocate_ || !release_ || !is_version_known(symbols)) return false;
  bool waits_are_seen =
      loops_have_room_.load(std::memory_order_relaxed) || symbols.calls_by_table(kYield);
  return waits_are_seen && learn_buffer_size();
}

// No two of its buffers overlap.
bool BlasLibrary::learn_buffer_size() {
  constexpr std::size_t kLeast = std::size_t{1} << 20, kMost = std::size_t{1} << 30;
  std::uintptr_t at[3];
  for (auto& it : at) it = reinterpret_cast<std::uintptr_t>(allocate_(2));
  std::sort(std::begin(at), std::end(at));
  std::size_t bytes = std::min(at[1] - at[0], at[2] - at[1]);
  for (auto it : at) release_(reinterpret_cast<void*>(it));
  if (bytes < kLeast || bytes > kMost) return false;
  buffers.start(bytes);
  return true;
}

std::size_t BlasLibrary::bytes_of_second(const Layout& layout) const {
  constexpr std::size_t kCertain = std::size_t{32} << 20;
  std::size_t bytes = std::min(buffers.bytes(), kCertain), used = layout.a + layout.b;
  return bytes > used ? bytes - used : 0;
}

blas::Routine BlasLibrary::routine_of(const void* code, const void* caller) {
  constexpr unsigned kTop = 56, kIndexShift = 57;
  static_assert(kRoutines == 1u << (64 - kIndexShift));
  auto address = reinterpret_cast<std::uint64_t>(code);
  auto& known = routines_[address * 0x9e3779b97f4a7c15u >> kIndexShift];  // Knuth's hashing
  std::uint64_t word = known.load(std::memory_order_relaxed);
  if ((word & ((std::uint64_t{1} << kTop) - 1)) == address) {
    return static_cast<blas::Routine>(word >> kTop);
  }
  dl_find_object object;
  if (!contains(code) || !find_object(code, object)) return blas::Routine::other;
  ObjectSymbols symbols(*object.dlfo_link_map);
  ObjectSymbols::Place of_code = symbols.place_of(code), of_call = symbols.place_of(caller);
  blas::Routine routine =
      blas::routine_named({of_code.begins, of_call.around, of_call.before, of_call.behind});
  known.store(static_cast<std::uint64_t>(routine) << kTop | address, std::memory_order_relaxed);
  return routine;
}

bool BlasLibrary::layout_of(int mode, Layout& layout) {
  Learned& learned = layouts_[index_of_type(mode)];
  layout.b = learned.b.load(std::memory_order_acquire);
  layout.a = learned.a.load(std::memory_order_relaxed);
  if (layout.b) return true;
  Seen seen{};
  blas::Arguments arguments{};
  arguments.common = &seen;
  blas::Piece pieces[2];
  memset(pieces, 0, sizeof pieces);
  pieces[0].routine = reinterpret_cast<void*>(do_nothing);
  pieces[0].next = &pieces[1];
  pieces[1].routine = reinterpret_cast<void*>(look);
  pieces[0].arguments = pieces[1].arguments = &arguments;
  pieces[0].mode = pieces[1].mode = mode & kType;
  exec_(2, pieces);
  auto a = reinterpret_cast<std::uintptr_t>(seen.a), b = reinterpret_cast<std::uintptr_t>(seen.b);
  if (a == 0 || b <= a) return false;
  // Its buffers begin at pages' starts.
  layout = {a % kPage, b - a};
  learned.a.store(layout.a, std::memory_order_relaxed);
  learned.b.store(layout.b, std::memory_order_release);
  return true;
}

}  // namespace roost
