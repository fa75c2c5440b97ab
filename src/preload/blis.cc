// Known by its name and by a text that all its builds have. An object that has BLIS in it besides
// code of its own is none: it may make other threads.
#include "preload/blis.h"

#include <string.h>

#include <atomic>

#include "base/loaded_object.h"
#include "os/sys.h"

namespace roost {
namespace {

constexpr char kMark[] = "BLIS_JC_NT";

// Where the object's read-only data have the mark, or 0.
std::uintptr_t find_mark(const dl_find_object& object) {
  const void* found = nullptr;
  any_loaded_part(object, [&](const char* start, std::size_t size, unsigned flags) {
    if (flags == PF_R) found = memmem(start, size, kMark, sizeof kMark - 1);
    return found != nullptr;
  });
  return reinterpret_cast<std::uintptr_t>(found);
}

bool has_mark(std::uintptr_t address) {
  char found[sizeof kMark - 1];
  return os::read_own_memory(address, found, sizeof found) &&
         memcmp(found, kMark, sizeof found) == 0;
}

// Of objects with such a name: where a mark was found, or the address of one that has none. Looked
// at again each time, as another may lie there now; where one without was, threads stay threads.
std::atomic<std::uintptr_t> known[4];

bool has_mark(const dl_find_object& object) {
  auto start = reinterpret_cast<std::uintptr_t>(object.dlfo_map_start);
  auto end = reinterpret_cast<std::uintptr_t>(object.dlfo_map_end);
  for (auto& it : known) {
    std::uintptr_t at = it.load(std::memory_order_relaxed);
    if (at == start) return false;
    if (at > start && at < end && has_mark(at)) return true;
  }
  std::uintptr_t mark = find_mark(object);
  for (auto& it : known) {
    std::uintptr_t none = 0;
    if (it.compare_exchange_strong(none, mark ? mark : start, std::memory_order_relaxed)) break;
  }
  return mark != 0;
}

}  // namespace

bool is_blis(const dl_find_object& object) {
  const char* path = object.dlfo_link_map->l_name;
  return (has_file_name(path, "libblis") || has_file_name(path, "libblas")) && has_mark(object);
}

}  // namespace roost
