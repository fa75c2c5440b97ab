// Pages within reach hold, for each function, a jump to the replacement and its moved entry.
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
struct alignas(16) Slot {
  std::uint8_t jump[sizeof kFarJump];
  std::uint8_t replacement[sizeof(std::uint64_t)];
  std::uint8_t filler[2];
  std::uint8_t entry[spin::MovedEntry::kMost];
};
constexpr unsigned kSlots = kCodePageBytes / sizeof(Slot);

std::uint64_t address_of(const void* code) { return reinterpret_cast<std::uint64_t>(code); }

bool fill(Slot& slot, const void* function, const void* replacement) {
  std::uint64_t address = address_of(function);
  FunctionBounds bounds;
  spin::MovedEntry moved;
  if (!find_function(address, bounds) || bounds.start != address ||
      !spin::move_entry(static_cast<const std::uint8_t*>(function), bounds.end - address, address,
                        address_of(slot.entry), moved)) {
    return false;
  }
  memcpy(slot.jump, kFarJump, sizeof slot.jump);
  memcpy(slot.replacement, &replacement, sizeof slot.replacement);
  memcpy(slot.entry, moved.code, moved.size);
  return true;
}

}  // namespace

void patch_entries(EntryPatch* patches, unsigned n) {
  std::uint8_t* page = n <= kSlots ? allocate_code_page(address_of(patches[0].function)) : nullptr;
  auto* slots = reinterpret_cast<Slot*>(page);
  bool any = false;
  for (unsigned i = 0; i < n; ++i) {
    EntryPatch& patch = patches[i];
    bool fits = page && fill(slots[i], patch.function, patch.replacement);
    patch.behind = fits ? slots[i].entry : nullptr;
    any |= fits;
  }
  if (!page) return;
  bool published = any && publish_code_page(page);
  CodeWriter writer;
  for (unsigned i = 0; i < n; ++i) {
    EntryPatch& patch = patches[i];
    std::uint64_t address = address_of(patch.function);
    std::uint8_t jump[5];
    bool done = patch.behind && published &&
                spin::encode_jump(address, address_of(&slots[i]), jump) &&
                writer.write(address, jump, sizeof jump);
    if (!done) patch.behind = nullptr;
  }
  if (!published) free_code_page(page);
}

const void* unpatched_entry(const void* function, const void* replacement) {
  const auto* code = static_cast<const std::uint8_t*>(function);
  if (code[0] != 0xe9) return nullptr;
  std::int32_t distance;
  memcpy(&distance, code + 1, sizeof distance);
  auto target = reinterpret_cast<std::uint64_t>(code) + 5 + static_cast<std::int64_t>(distance);
  Slot slot;
  if (!os::read_own_memory(target, &slot, sizeof slot)) return nullptr;
  bool ours = memcmp(slot.jump, kFarJump, sizeof kFarJump) == 0 &&
              memcmp(slot.replacement, &replacement, sizeof replacement) == 0;
  return ours ? reinterpret_cast<const Slot*>(target)->entry : nullptr;
}
#else
void patch_entries(EntryPatch*, unsigned) {}
const void* unpatched_entry(const void*, const void*) { return nullptr; }
#endif

}  // namespace roost
