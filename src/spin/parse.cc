// The layout of x86-64 instructions: prefixes, opcode map, operand byte, displacement, immediate.
#include "spin/instruction.h"

namespace roost::spin {
namespace {

// Bytes consumed one after the other; reading past the end makes it fail.
class Reader {
 public:
  Reader(const std::uint8_t* bytes, std::size_t size)
      : bytes_(bytes), size_(size < kMaxInstructionBytes ? size : kMaxInstructionBytes) {}
  std::uint8_t peek() { return at_ < size_ ? bytes_[at_] : fail(); }
  std::uint8_t next() {
    std::uint8_t byte = peek();
    ++at_;
    return byte;
  }
  std::int64_t signed_number(unsigned bytes) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) value |= std::uint64_t{next()} << (8 * i);
    if (bytes == 0 || bytes == 8) return static_cast<std::int64_t>(value);
    unsigned shift = 64 - 8 * bytes;
    return static_cast<std::int64_t>(value << shift) >> shift;
  }
  unsigned consumed() const { return static_cast<unsigned>(at_); }
  bool failed() const { return failed_ || at_ > size_; }

 private:
  std::uint8_t fail() {
    failed_ = true;
    return 0;
  }
  const std::uint8_t* bytes_;
  std::size_t size_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

// What follows an opcode.
enum Follows : std::uint8_t {
  kNothing,
  kOperand,
  kImmediate8,
  kImmediate16,
  kImmediateFull,  // 2 or 4 bytes by the operand size
  kOperand8,
  kOperandFull,
  kOffset32,
  kInvalid,
};

Follows one_byte(std::uint8_t opcode) {
  if (opcode < 0x40) {
    switch (opcode & 7) {
      case 4:
        return kImmediate8;
      case 5:
        return kImmediateFull;
      case 6:
      case 7:
        return kInvalid;
      default:
        return kOperand;
    }
  }
  switch (opcode >> 4) {
    case 5:
      return kNothing;
    case 7:
      return kImmediate8;
    case 9:
      return opcode == 0x9a ? kInvalid : kNothing;
    case 0xb:
      return opcode < 0xb8 ? kImmediate8 : kImmediateFull;
    default:
      break;
  }
  switch (opcode) {
    case 0x60:
    case 0x61:
    case 0x62:
    case 0x82:
    case 0xce:
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xea:
      return kInvalid;
    case 0x63:
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
    case 0xfe:
    case 0xff:
      return kOperand;
    case 0x68:
    case 0xa9:
      return kImmediateFull;
    case 0x69:
    case 0x81:
    case 0xc7:
      return kOperandFull;
    case 0x6a:
    case 0xa8:
    case 0xcd:
    case 0xeb:
      return kImmediate8;
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xc0:
    case 0xc1:
    case 0xc6:
      return kOperand8;
    case 0xc2:
    case 0xca:
      return kImmediate16;
    case 0xe8:
    case 0xe9:
      return kOffset32;
    default:
      break;
  }
  if (opcode >= 0x84 && opcode <= 0x8f) return kOperand;
  if (opcode >= 0xd8 && opcode <= 0xdf) return kOperand;
  if (opcode >= 0xe0 && opcode <= 0xe7) return kImmediate8;
  if (opcode == 0xf6 || opcode == 0xf7) return kOperand;  // and an immediate for some
  return kNothing;
}

bool shuffles(std::uint8_t opcode) {  // the vector instructions of map 1 with an immediate
  return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6);
}

Follows two_byte(std::uint8_t opcode) {
  if (opcode >= 0x80 && opcode <= 0x8f) return kOffset32;
  if (opcode >= 0xc8 && opcode <= 0xcf) return kNothing;
  if (opcode >= 0x30 && opcode <= 0x37) return kNothing;
  if (shuffles(opcode) || opcode == 0x0f || opcode == 0xa4 || opcode == 0xac || opcode == 0xba)
    return kOperand8;
  switch (opcode) {
    case 0x04:
    case 0x0a:
    case 0x0c:
      return kInvalid;
    case 0x05:
    case 0x06:
    case 0x07:
    case 0x08:
    case 0x09:
    case 0x0b:
    case 0x0e:
    case 0x77:
    case 0xa0:
    case 0xa1:
    case 0xa2:
    case 0xa8:
    case 0xa9:
    case 0xaa:
      return kNothing;
    default:
      return kOperand;
  }
}

Follows vector_opcode(unsigned map, std::uint8_t opcode, bool evex) {
  if (map == 3) return kOperand8;
  if (map == 1) {
    if (opcode == 0x77 && !evex) return kNothing;
    return shuffles(opcode) ? kOperand8 : kOperand;
  }
  return map == 2 || (evex && (map == 5 || map == 6)) ? kOperand : kInvalid;
}

void read_prefixes(Reader& in, Form& form) {
  for (;;) {
    switch (in.peek()) {
      case 0x66:
        form.operand_size = true;
        break;
      case 0x67:
        form.address_size = true;
        break;
      case 0xf0:
        form.lock = true;
        break;
      case 0xf2:
      case 0xf3:
        form.repeat = in.peek();
        break;
      case 0x64:
        form.memory.in_thread = true;
        break;
      case 0x65:
        form.other_segment = true;
        break;
      case 0x2e:
      case 0x36:
      case 0x3e:
      case 0x26:
        break;
      default:
        if ((in.peek() & 0xf0) == 0x40) form.rex = in.next();
        return;
    }
    in.next();
    if (in.failed()) return;
  }
}

Follows read_opcode(Reader& in, Form& form) {
  std::uint8_t first = in.next();
  if (first == 0xc5 || first == 0xc4 || first == 0x62) {
    form.vector = true;
    form.map = 1;
    std::uint8_t payload = in.next();
    if (first == 0xc4) form.map = payload & 0x1f;
    if (first == 0x62) form.map = payload & 7;
    // The inverted high bits of the operand's registers, where the REX prefix has them.
    form.rex = static_cast<std::uint8_t>(~payload >> 5 & (first == 0xc5 ? 4 : 7));
    for (int more = first == 0x62 ? 2 : first == 0xc4; more > 0; --more) in.next();
    form.opcode = in.next();
    return vector_opcode(form.map, form.opcode, first == 0x62);
  }
  form.opcode = first;
  if (first == 0x8f && (in.peek() & 0x1f) >= 8) return kInvalid;  // XOP, of a few old processors
  if (first != 0x0f) return one_byte(first);
  form.opcode = in.next();
  if (form.opcode == 0x38 || form.opcode == 0x3a) {
    form.map = form.opcode == 0x38 ? 2 : 3;
    form.opcode = in.next();
    return form.map == 2 ? kOperand : kOperand8;
  }
  form.map = 1;
  return two_byte(form.opcode);
}

void read_operand(Reader& in, Form& form) {
  form.has_modrm = true;
  form.modrm = in.next();
  unsigned mode = form.modrm >> 6;
  if (mode == 3) return;
  MemoryOperand& memory = form.memory;
  unsigned low = form.modrm & 7;
  form.displacement_bytes = mode == 1 ? 1 : mode == 2 ? 4 : 0;
  if (low == 4) {
    std::uint8_t sib = in.next();
    unsigned index = (sib >> 3 & 7) | (form.rex & 2) << 2;
    if (index != 4) memory.index = static_cast<std::int8_t>(index);
    memory.scale = static_cast<std::uint8_t>(1 << (sib >> 6));
    low = sib & 7;
    if (low == 5 && mode == 0) {
      form.displacement_bytes = 4;
    } else {
      memory.base = static_cast<std::int8_t>(low | (form.rex & 1) << 3);
    }
  } else if (low == 5 && mode == 0) {
    form.displacement_bytes = 4;
    memory.base = kInstructionPointer;
  } else {
    memory.base = static_cast<std::int8_t>(form.rm());
  }
  memory.displacement = static_cast<std::int32_t>(in.signed_number(form.displacement_bytes));
}

unsigned immediate_bytes(const Form& form, Follows follows) {
  unsigned full = form.operand_size && !(form.rex & 8) ? 2 : 4;
  if (form.map == 0 && !form.vector) {
    if (form.opcode == 0xf6 && (form.modrm & 0x30) == 0) return 1;
    if (form.opcode == 0xf7 && (form.modrm & 0x30) == 0) return full;
    if (form.opcode >= 0xb8 && form.opcode <= 0xbf && (form.rex & 8)) return 8;
    if (form.opcode >= 0xa0 && form.opcode <= 0xa3) return form.address_size ? 4 : 8;
    if (form.opcode == 0xc8) return 3;
  }
  switch (follows) {
    case kImmediate8:
    case kOperand8:
      return 1;
    case kImmediate16:
      return 2;
    case kImmediateFull:
    case kOperandFull:
      return full;
    case kOffset32:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

bool parse(const std::uint8_t* bytes, std::size_t size, Form& form) {
  form = {};
  Reader in(bytes, size);
  read_prefixes(in, form);
  Follows follows = read_opcode(in, form);
  if (follows == kInvalid || in.failed()) return false;
  // Processors disagree on the length of these, unless REX.W makes the prefix void, as in calls of
  // __tls_get_addr, which are padded so.
  if (follows == kOffset32 && form.operand_size && !(form.rex & 8)) return false;
  if (follows == kOperand || follows == kOperand8 || follows == kOperandFull)
    read_operand(in, form);
  form.immediate_bytes = immediate_bytes(form, follows);
  form.immediate = in.signed_number(form.immediate_bytes);
  form.length = in.consumed();
  return !in.failed();
}

bool ends_flow(const Form& form) {
  if (form.vector) return false;
  if (form.map == 1) return form.opcode == 0x0b;  // ud2
  if (form.map != 0) return false;
  switch (form.opcode) {
    case 0xc2:
    case 0xc3:
    case 0xe9:
    case 0xeb:
    case 0xf4:
      return true;
    case 0xff:
      return (form.modrm >> 3 & 7) == 4;  // an indirect jump
    default:
      return false;
  }
}

bool direct_jump(const Form& form) {
  if (form.vector) return false;
  if (form.map == 1) return form.opcode >= 0x80 && form.opcode <= 0x8f;
  return form.map == 0 && ((form.opcode >= 0x70 && form.opcode <= 0x7f) ||
                           (form.opcode >= 0xe0 && form.opcode <= 0xe3) ||
                           (form.opcode >= 0xe8 && form.opcode <= 0xeb && form.opcode != 0xea));
}

}  // namespace roost::spin
