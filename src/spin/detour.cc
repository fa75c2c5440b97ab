// Finds padding and a way through it.
#include "spin/detour.h"

#include "spin/entry.h"
#include "spin/instruction.h"

namespace roost::spin {
namespace {

constexpr unsigned kShortJump = 2, kLongJump = 5;
constexpr unsigned kMaxPads = 64;
constexpr std::int64_t kReach = 700;  // farther padding is more hops away than a detour has

struct Pad {
  std::size_t start, end;
};

bool pads(const Form& form) {
  if (form.vector || form.lock || form.memory.in_thread || form.other_segment) return false;
  if (form.map == 0) return (form.opcode == 0x90 && form.repeat == 0) || form.opcode == 0xcc;
  return form.map == 1 && form.opcode == 0x1f;
}

class Planner {
 public:
  Planner(const std::uint8_t* code, std::size_t size, std::uint64_t address)
      : code_(code), size_(size), address_(address) {}

  // Decodes from the function's start. False if the branch is not one of the instructions.
  bool walk(std::size_t branch);
  // Drops padding that some jump leads to.
  void drop_targets();
  // Whether a jump leads between these places, the first of them apart.
  bool is_jumped_into(std::size_t begin, std::size_t end) const;
  bool chain(std::size_t from, std::uint64_t stub, Detour& detour);

 private:
  void collect(std::size_t& at, std::size_t branch);
  void add_hop(const Pad& pad, std::int64_t distance, unsigned jump, Detour& detour) const;
  template <class Visit>
  void each_jump(Visit&& visit) const;

  const std::uint8_t* code_;
  std::size_t size_;
  std::uint64_t address_;
  Pad pads_[kMaxPads];
  unsigned n_pads_ = 0;
  std::size_t walked_ = 0;
};

// `at` is behind an instruction that ends the flow: passes over the padding up to the next multiple
// of 16, where the next function or label may begin.
void Planner::collect(std::size_t& at, std::size_t branch) {
  std::size_t start = at;
  std::size_t limit = start + (16 - (address_ + start) % 16) % 16;
  Form form;
  while (at < limit && parse(code_ + at, size_ - at, form) && pads(form) &&
         at + form.length <= limit) {
    at += form.length;
  }
  auto distance = static_cast<std::int64_t>(start) - static_cast<std::int64_t>(branch);
  if (distance > kReach || distance < -kReach) return;
  if (at - start >= kShortJump && n_pads_ < kMaxPads) pads_[n_pads_++] = {start, at};
}

bool Planner::walk(std::size_t branch) {
  bool met = false;
  Form form;
  for (std::size_t at = 0; at < size_ && parse(code_ + at, size_ - at, form);) {
    met |= at == branch;
    at += form.length;
    if (ends_flow(form)) collect(at, branch);
    walked_ = at;
  }
  // All of it, but for an instruction cut off at the end: else some jump might not have been seen.
  return met && walked_ + kMaxInstructionBytes >= size_;
}

template <class Visit>
void Planner::each_jump(Visit&& visit) const {
  Form form;
  for (std::size_t at = 0; at < walked_ && parse(code_ + at, size_ - at, form);) {
    at += form.length;
    if (direct_jump(form)) visit(at + static_cast<std::size_t>(form.immediate));
  }
}

void Planner::drop_targets() {
  each_jump([&](std::size_t target) {
    for (unsigned i = 0; i < n_pads_; ++i) {
      if (target < pads_[i].start || target >= pads_[i].end) continue;
      pads_[i] = pads_[--n_pads_];
      return;
    }
  });
}

bool Planner::is_jumped_into(std::size_t begin, std::size_t end) const {
  bool found = false;
  each_jump([&](std::size_t target) { found |= target > begin && target < end; });
  return found;
}

bool fits_short(std::int64_t distance) { return distance >= -128 && distance <= 127; }

void put(std::uint8_t* to, std::int64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

void Planner::add_hop(const Pad& pad, std::int64_t distance, unsigned jump, Detour& detour) const {
  Hop& hop = detour.hops[detour.n_hops++];
  hop.address = address_ + pad.start;
  hop.size = static_cast<std::uint8_t>(pad.end - pad.start);
  hop.bytes[0] = jump == kLongJump ? 0xe9 : 0xeb;
  put(hop.bytes + 1, distance, jump - 1);
  for (unsigned i = jump; i < hop.size; ++i) hop.bytes[i] = 0x90;
}

// Breadth first: the fewest hops from the displacement that counts from `from` to padding that
// holds a long jump. The hops are written last first, so each leads somewhere when it appears.
bool Planner::chain(std::size_t from, std::uint64_t stub, Detour& detour) {
  unsigned order[kMaxPads], before[kMaxPads], depth[kMaxPads];
  bool seen[kMaxPads] = {};
  unsigned n = 0;
  auto visit = [&](std::size_t behind, unsigned parent, unsigned hops) {
    for (unsigned i = 0; i < n_pads_; ++i) {
      auto distance = static_cast<std::int64_t>(pads_[i].start) - static_cast<std::int64_t>(behind);
      if (seen[i] || !fits_short(distance)) continue;
      seen[i] = true;
      depth[n] = hops;
      before[n] = parent;
      order[n++] = i;
    }
  };
  visit(from, kMaxPads, 1);
  for (unsigned k = 0; k < n; ++k) {
    const Pad& pad = pads_[order[k]];
    if (pad.end - pad.start < kLongJump) {
      if (depth[k] < kMaxHops) visit(pad.start + kShortJump, k, depth[k] + 1);
      continue;
    }
    std::uint64_t source = address_ + pad.start + kLongJump;
    auto distance = static_cast<std::int64_t>(stub - source);
    if (distance != static_cast<std::int32_t>(distance)) return false;
    add_hop(pad, distance, kLongJump, detour);
    std::size_t next = pad.start;
    for (unsigned p = before[k]; p != kMaxPads; p = before[p]) {
      const Pad& hop = pads_[order[p]];
      add_hop(hop, static_cast<std::int64_t>(next - hop.start - kShortJump), kShortJump, detour);
      next = hop.start;
    }
    put(detour.change, static_cast<std::int64_t>(next - from), detour.change_size);
    return true;
  }
  return false;
}

// Not across two aligned words of eight bytes.
bool is_one_store(const Detour& detour) {
  return detour.change_address % 8 + detour.change_size <= 8;
}

// It ends nothing, and waits are known to begin so.
bool may_be_moved(const Instruction& i) {
  return i.operation == Operation::move || i.operation == Operation::move_zero_extended ||
         i.operation == Operation::move_sign_extended || i.operation == Operation::compare ||
         i.operation == Operation::test;
}

// What is left of an instruction whose first bytes have become a jump is no padding, in which
// others might put a hop; nor are no-ops behind it then, to which the stub leads back. (Its own
// bytes might be read as the beginning of another.)
constexpr std::uint8_t kClearCarry = 0xf8;

}  // namespace

bool plan_detour(const std::uint8_t* code, std::size_t size, std::uint64_t address,
                 std::uint64_t branch, std::uint64_t stub, Detour& detour) {
  detour = {};
  std::size_t offset = branch - address;
  Form form;
  if (offset >= size || !parse(code + offset, size - offset, form) || !direct_jump(form))
    return false;
  if (form.opcode >= 0xe0 && form.opcode <= 0xe8) return false;  // counting loops, calls
  std::uint64_t behind = branch + form.length;
  detour.change_size = static_cast<std::uint8_t>(form.immediate_bytes);
  detour.change_address = behind - form.immediate_bytes;
  if (form.immediate_bytes == 4) {
    auto distance = static_cast<std::int64_t>(stub - behind);
    put(detour.change, distance, 4);
    return distance == static_cast<std::int32_t>(distance) && is_one_store(detour);
  }
  Planner planner(code, size, address);
  if (!planner.walk(offset)) return false;
  planner.drop_targets();
  return planner.chain(behind - address, stub, detour);
}

bool plan_jump(const std::uint8_t* code, std::size_t size, std::uint64_t address,
               std::uint64_t head, std::uint64_t stub, Detour& detour) {
  detour = {};
  std::size_t offset = head - address;
  Instruction instruction;
  if (offset >= size || !decode(code + offset, size - offset, instruction)) return false;
  if (!may_be_moved(instruction) || instruction.length <= kLongJump) return false;
  detour.change_address = head;
  detour.change_size = instruction.length;
  std::uint8_t jump[kLongJump];
  if (detour.change_size > sizeof detour.change || !is_one_store(detour) ||
      !encode_jump(head, stub, jump))
    return false;
  for (unsigned i = 0; i < detour.change_size; ++i)
    detour.change[i] = i < kLongJump ? jump[i] : kClearCarry;
  Planner planner(code, size, address);
  return planner.walk(offset) && !planner.is_jumped_into(offset, offset + instruction.length);
}

bool plan_pause(const std::uint8_t* code, std::size_t size, std::uint64_t address,
                std::uint64_t pause, std::uint64_t stub, Detour& detour) {
  constexpr std::uint8_t kJump = 0xeb;
  detour = {};
  std::size_t offset = pause - address, behind = offset + kShortJump;
  Instruction instruction;
  if (behind >= size || !decode(code + offset, size - offset, instruction) || !instruction.pauses)
    return false;
  detour.change_address = pause;
  detour.change_size = instruction.length;
  if (detour.change_size > sizeof detour.change || !is_one_store(detour)) return false;
  // No-ops behind a jump would look like padding, and the stub leads back to these.
  Form next;
  if (instruction.length == kShortJump &&
      (!parse(code + behind, size - behind, next) || pads(next)))
    return false;
  Planner planner(code, size, address);
  if (!planner.walk(offset) || planner.is_jumped_into(offset, offset + instruction.length))
    return false;
  planner.drop_targets();
  detour.change_size = 1;  // the displacement alone
  if (!planner.chain(behind, stub, detour)) return false;
  detour.change_size = instruction.length;
  detour.change[1] = detour.change[0];
  detour.change[0] = kJump;
  for (unsigned i = kShortJump; i < detour.change_size; ++i) detour.change[i] = kClearCarry;
  return true;
}

}  // namespace roost::spin
