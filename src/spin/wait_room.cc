// Looks for the bytes, then for the branch.
#include "spin/wait_room.h"

#include "spin/instruction.h"

namespace roost::spin {
namespace {

constexpr std::uint8_t kNoOp = 0x90;

bool branches_back(const std::uint8_t* code, std::size_t size, std::size_t idle) {
  constexpr unsigned kMostInstructions = 6;
  constexpr std::int64_t kFarthest = 64;  // the loop may begin before
  std::size_t at = idle + sizeof kRoom;
  for (unsigned i = 0; i < kMostInstructions; ++i) {
    Form form;
    if (!parse(code + at, size - at, form) || ends_flow(form)) return false;
    at += form.length;
    if (!direct_jump(form)) continue;
    std::int64_t back =
        static_cast<std::int64_t>(idle) - static_cast<std::int64_t>(at) - form.immediate;
    return back >= 0 && back <= kFarthest;
  }
  return false;
}

}  // namespace

std::size_t find_idle_wait(const std::uint8_t* code, std::size_t size, std::size_t from) {
  constexpr std::size_t kCount = sizeof kRoom;
  // The last of eight shows whether all can be no-ops.
  for (std::size_t last = from + kCount - 1; last < size; last += kCount) {
    if (code[last] != kNoOp) continue;
    std::size_t start = last, end = last + 1;
    while (start > from && code[start - 1] == kNoOp) --start;
    while (end < size && code[end] == kNoOp) ++end;
    if (end - start == kCount && branches_back(code, size, start)) return start;
    last = end - 1;
  }
  return size;
}

}  // namespace roost::spin
