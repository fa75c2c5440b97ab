// The same executor as in a proof, on the memory itself.
#include "spin/go_on.h"

#include <type_traits>

#include "spin/code_cache.h"
#include "spin/rounding.h"

namespace roost::spin {

#if defined(__x86_64__)

namespace {

// The thread's own memory.
class DirectMemory final : public Memory {
 public:
  bool read(std::uint64_t address, unsigned width, std::uint64_t& value) override {
    return access(address, width, [&](auto* at) {
      value = load(at);
      return true;
    });
  }
  bool write(std::uint64_t address, unsigned width, std::uint64_t value,
             const std::uint64_t* was) override {
    return access(address, width, [&](auto* at) {
      using Value = std::remove_pointer_t<decltype(at)>;
      if (was) return replace(at, static_cast<Value>(*was), static_cast<Value>(value));
      store(at, static_cast<Value>(value));
      return true;
    });
  }
  bool time_stamp(TimeStamp& stamp) override { return read_time_stamp(stamp); }

 private:
  // In assembler: one access each, of any alignment, which sanitizers do not judge.
  template <class Value>
  static std::uint64_t load(Value* at) {
    Value value;
    asm volatile("mov %1, %0" : "=r"(value) : "m"(*at) : "memory");
    return value;
  }
  template <class Value>
  static void store(Value* at, Value value) {
    asm volatile("mov %1, %0" : "=m"(*at) : "r"(value) : "memory");
  }
  template <class Value>
  static bool replace(Value* at, Value was, Value value) {
    bool done;
    asm volatile("lock cmpxchg %3, %1"
                 : "=@ccz"(done), "+m"(*at), "+a"(was)
                 : "r"(value)
                 : "memory");
    return done;
  }
  template <class Access>
  static bool access(std::uint64_t address, unsigned width, Access access) {
    switch (width) {
      case 1:
        return access(reinterpret_cast<std::uint8_t*>(address));
      case 2:
        return access(reinterpret_cast<std::uint16_t*>(address));
      case 4:
        return access(reinterpret_cast<std::uint32_t*>(address));
      default:
        return access(reinterpret_cast<std::uint64_t*>(address));
    }
  }
};

}  // namespace

bool go_on_for(Registers& registers, ReadCodeWindow read_code, unsigned steps) {
  CodeCache code(read_code);
  DirectMemory memory;
  Effect effect;
  Rounding rounding(registers);
  bool is_known = true;
  for (unsigned n = 0; n < steps && is_known; ++n) {
    const Instruction* instruction = code.at(registers.instruction_pointer);
    Registers before = registers;
    if (instruction && execute(*instruction, memory, registers, effect)) continue;
    registers = before;
    // Another has written between the read and the write of one instruction, or it is unknown.
    is_known = instruction && instruction->locked;
  }
  rounding.note(registers);
  return is_known;
}

#else

bool go_on_for(Registers&, ReadCodeWindow, unsigned) { return false; }

#endif

}  // namespace roost::spin
