// A page within reach holds a jump to the replacement and the function's moved entry.
#include "preload/entry_patch.h"

#include <string.h>

#include "os/sys.h"
#include "preload/code_patch.h"
#include "preload/function_bounds.h"
#include "spin/entry.h"

namespace roost {

#if defined(__x86_64__)
namespace {

// jmp *0(%rip), to the address behind it.
constexpr std::uint8_t kFarJump[6] = {0xff, 0x25, 0, 0, 0, 0};
struct Page {
  std::uint8_t jump[sizeof kFarJump];
  std::uint8_t replacement[sizeof(std::uint64_t)];
  std::uint8_t filler[2];
  std::uint8_t entry[spin::MovedEntry::kMost];
};

bool fill(Page& page, const void* function, const void* replacement, spin::MovedEntry& moved) {
  auto address = reinterpret_cast<std::uint64_t>(function);
  FunctionBounds bounds;
  if (!find_function(address, bounds) || bounds.start != address) return false;
  if (!spin::move_entry(static_cast<const std::uint8_t*>(function), bounds.end - address, address,
                        reinterpret_cast<std::uint64_t>(page.entry), moved)) {
    return false;
  }
  memcpy(page.jump, kFarJump, sizeof page.jump);
  memcpy(page.replacement, &replacement, sizeof page.replacement);
  memcpy(page.entry, moved.code, moved.size);
  return true;
}

}  // namespace

bool patch_entry(const void* function, const void* replacement) {
  auto address = reinterpret_cast<std::uint64_t>(function);
  std::uint8_t* memory = allocate_code_page(address);
  if (!memory) return false;
  spin::MovedEntry moved;
  std::uint8_t jump[5];
  if (fill(*reinterpret_cast<Page*>(memory), function, replacement, moved) &&
      publish_code_page(memory) &&
      spin::encode_jump(address, reinterpret_cast<std::uint64_t>(memory), jump) &&
      write_unused_code(address, jump, sizeof jump)) {
    return true;
  }
  free_code_page(memory);
  return false;
}

const void* unpatched_entry(const void* function, const void* replacement) {
  const auto* code = static_cast<const std::uint8_t*>(function);
  if (code[0] != 0xe9) return nullptr;
  std::int32_t distance;
  memcpy(&distance, code + 1, sizeof distance);
  auto target = reinterpret_cast<std::uint64_t>(code) + 5 + static_cast<std::int64_t>(distance);
  Page page;
  if (!os::read_own_memory(target, &page, sizeof page)) return nullptr;
  bool ours = memcmp(page.jump, kFarJump, sizeof kFarJump) == 0 &&
              memcmp(page.replacement, &replacement, sizeof replacement) == 0;
  return ours ? reinterpret_cast<const Page*>(target)->entry : nullptr;
}
#else
bool patch_entry(const void*, const void*) { return false; }
const void* unpatched_entry(const void*, const void*) { return nullptr; }
#endif

}  // namespace roost
