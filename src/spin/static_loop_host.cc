// Follows registers and flags through one round: what is read before it is written, and written
// later, carries a value to the next round.
#include "spin/static_loop_host.h"

#include "spin/walker.h"

namespace roost::spin {
namespace {

using Kind = Operand::Kind;

struct Use {
  RegisterSet reads = 0;
  RegisterSet writes = 0;  // completely
};

void add(Use& use, const Operand& operand, const MemoryOperand& memory, bool reads) {
  if (operand.kind == Kind::general && reads) use.reads |= 1u << operand.number;
  if (operand.kind != Kind::memory) return;
  if (memory.base >= 0 && memory.base < 16) use.reads |= 1u << memory.base;
  if (memory.index >= 0) use.reads |= 1u << memory.index;
}

bool writes_destination(const Instruction& i) {
  return i.operation != Operation::compare && i.operation != Operation::test && !i.jumps() &&
         i.operation != Operation::nothing;
}

Use use_of(const Instruction& i) {
  Use use;
  bool partial = i.width < 4;
  if (!clears_register(i)) {
    add(use, i.source, i.memory, true);
    add(use, i.destination, i.memory, !i.only_writes() || partial);
  }
  if (writes_destination(i) && i.destination.kind == Kind::general)
    use.writes |= 1u << i.destination.number;
  if (i.operation == Operation::exchange && i.source.kind == Kind::general)
    use.writes |= 1u << i.source.number;
  if (i.operation == Operation::compare_exchange) {
    use.reads |= 1;
    use.writes |= 1;
  }
  if (i.operation == Operation::sign_extend_into_data) use.reads |= 1;
  if (i.divides()) {
    use.reads |= 1 | 4;
    use.writes |= 1 | 4;
  }
  if (i.reads_flags()) use.reads |= kFlagsBit;
  if (i.sets_flags() && i.operation != Operation::bit_not) use.writes |= kFlagsBit;
  return use;
}

bool loads(const Instruction& i) {
  if (i.operation == Operation::load_address) return false;
  return i.source.kind == Kind::memory || i.destination.kind == Kind::memory;
}

}  // namespace

StaticLoop classify_loop(const std::uint8_t* code, std::size_t size) {
  StaticLoop loop;
  bool takes_lock = false;
  std::uint32_t written = 0, read_first = 0;
  for (std::size_t at = 0; at < size;) {
    Instruction i;
    if (!decode(code + at, size - at, i)) return loop;
    if (i.is_for_wait_proof() || i.memory.in_thread) return loop;
    at += i.length;
    ++loop.instructions;
    if (i.jumps() && at < size) {
      std::size_t target = at + static_cast<std::size_t>(i.target);
      if (i.operation == Operation::jump || target < size) return loop;
    }
    if (i.stores()) {
      if (!i.locked) return loop;
      takes_lock = true;
    }
    if (loads(i)) {
      ++loop.loads;
      loop.memory = i.memory;
      loop.width = i.source_width ? i.source_width : i.width;
    }
    Use use = use_of(i);
    read_first |= use.reads & ~written;
    written |= use.writes;
  }
  if (read_first & written) return loop;
  loop.kind = takes_lock ? LoopClass::lock : LoopClass::wait;
  return loop;
}

}  // namespace roost::spin
