// Reads the sorted search table that linkers put beside .eh_frame (.eh_frame_hdr).
#include "preload/function_bounds.h"

#include <link.h>
#include <string.h>

#include "preload/fork_gate.h"

namespace roost {
namespace {

struct TableHead {
  std::uint8_t version, frame_encoding, count_encoding, table_encoding;
  std::int32_t frame;
  std::uint32_t count;
};
struct TableEntry {
  std::int32_t function, description;  // from the table's head
};
// The encodings that every linker uses: the only ones read here.
constexpr std::uint8_t kRelativeHere = 0x1b, kPlainCount = 0x03, kRelativeToHead = 0x3b;

struct Search {
  std::uint64_t address;
  FunctionBounds* bounds;
};

bool look_up(const TableHead& head, std::uint64_t address, FunctionBounds& bounds) {
  if (head.version != 1 || head.frame_encoding != kRelativeHere ||
      head.count_encoding != kPlainCount || head.table_encoding != kRelativeToHead) {
    return false;
  }
  const auto* table = reinterpret_cast<const TableEntry*>(&head + 1);
  auto base = reinterpret_cast<std::uint64_t>(&head);
  auto function = [&](std::uint32_t i) {
    return base + static_cast<std::uint64_t>(std::int64_t{table[i].function});
  };
  std::uint32_t low = 0, high = head.count;  // the last one that begins at or before `address`
  while (low < high) {
    std::uint32_t middle = low + (high - low) / 2;
    (function(middle) <= address ? low : high) = function(middle) <= address ? middle + 1 : middle;
  }
  if (low == 0) return false;
  bounds.start = function(low - 1);
  bounds.end = low < head.count ? function(low) : bounds.text_end;
  if (bounds.end > bounds.text_end) bounds.end = bounds.text_end;
  return true;
}

int look_in_object(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const TableHead* head = nullptr;
  std::uint64_t text_start = 0, text_end = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    std::uint64_t start = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) head = reinterpret_cast<const TableHead*>(start);
    // Code that the program may write is its own affair.
    constexpr unsigned kAccess = PF_X | PF_R | PF_W;
    bool code = segment.p_type == PT_LOAD && (segment.p_flags & kAccess) == (PF_X | PF_R);
    if (!code || search.address < start || search.address >= start + segment.p_memsz) continue;
    text_start = start;
    text_end = start + segment.p_memsz;
  }
  if (text_end == 0) return 0;
  search.bounds->text_end = text_end;
  bool found =
      head && look_up(*head, search.address, *search.bounds) && search.bounds->start >= text_start;
  return found ? 1 : -1;
}

}  // namespace

bool find_function(std::uint64_t address, FunctionBounds& bounds) {
  Unforked section;
  return find_function_unforked(address, bounds);
}

bool find_function_unforked(std::uint64_t address, FunctionBounds& bounds) {
  Search search{address, &bounds};
  return dl_iterate_phdr(look_in_object, &search) == 1;
}

}  // namespace roost
