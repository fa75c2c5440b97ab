// The SSE and SSE2 instructions that compilers use for copies of structures and for arithmetic, by
// the processor's own.
#include "spin/vector.h"

#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace roost::spin {

#if defined(__x86_64__)

namespace {

using Kind = Operand::Kind;

// By opcode and prefix: 0, 66, F3 or F2.
enum class Shape : std::uint8_t {
  none,
  load,        // a register, from a register or memory
  store,       // the other way round
  store_only,  // to memory only
  load_only,   // from memory only
  from_general,
  to_general,
  general_from_vector,  // of registers only
};

unsigned scalar_bytes(std::uint8_t prefix) { return prefix == 0xf3 ? 4 : prefix == 0xf2 ? 8 : 16; }

Shape shape_of(std::uint8_t opcode, std::uint8_t prefix, unsigned& bytes) {
  bool packed = prefix == 0 || prefix == 0x66, integer = prefix == 0x66;
  bytes = 16;
  switch (opcode) {
    case 0x10:
    case 0x11:
      bytes = scalar_bytes(prefix);
      return opcode == 0x10 ? Shape::load : Shape::store;
    case 0x12:
    case 0x16:
      bytes = 8;
      return prefix == 0 ? Shape::load : integer ? Shape::load_only : Shape::none;
    case 0x13:
    case 0x17:
      bytes = 8;
      return packed ? Shape::store_only : Shape::none;
    case 0x28:
    case 0x14:
    case 0x15:
    case 0x54:
    case 0x55:
    case 0x56:
    case 0x57:
    case 0xc6:
      return packed ? Shape::load : Shape::none;
    case 0x29:
      return packed ? Shape::store : Shape::none;
    case 0x2b:
      return packed ? Shape::store_only : Shape::none;
    case 0xe7:
      return integer ? Shape::store_only : Shape::none;
    case 0x2a:
      return packed ? Shape::none : Shape::from_general;
    case 0x2c:
    case 0x2d:
      bytes = scalar_bytes(prefix);
      return packed ? Shape::none : Shape::to_general;
    case 0x2e:
    case 0x2f:
      bytes = prefix == 0 ? 4 : 8;
      return packed ? Shape::load : Shape::none;
    case 0x50:
      return packed ? Shape::general_from_vector : Shape::none;
    case 0xd7:
      return integer ? Shape::general_from_vector : Shape::none;
    case 0x51:
    case 0x58:
    case 0x59:
    case 0x5c:
    case 0x5d:
    case 0x5e:
    case 0x5f:
      bytes = scalar_bytes(prefix);
      return Shape::load;
    case 0x5a:
      bytes = scalar_bytes(prefix);
      return packed ? Shape::none : Shape::load;
    case 0x6e:
      return integer ? Shape::from_general : Shape::none;
    case 0x6f:
      return integer || prefix == 0xf3 ? Shape::load : Shape::none;
    case 0x7f:
      return integer || prefix == 0xf3 ? Shape::store : Shape::none;
    case 0x7e:
      bytes = 8;
      return prefix == 0xf3 ? Shape::load : integer ? Shape::to_general : Shape::none;
    case 0xd6:
      bytes = 8;
      return integer ? Shape::store : Shape::none;
    case 0x62:
    case 0x6c:
    case 0x6d:
    case 0x70:
    case 0x74:
    case 0x75:
    case 0x76:
    case 0xd4:
    case 0xda:
    case 0xdb:
    case 0xde:
    case 0xdf:
    case 0xeb:
    case 0xef:
    case 0xf8:
    case 0xfa:
    case 0xfb:
    case 0xfc:
    case 0xfe:
      return integer ? Shape::load : Shape::none;
    default:
      return Shape::none;
  }
}

std::uint8_t general_width(const Form& form) { return form.rex & 8 ? 8 : 4; }

__m128i load(const Vector& v) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(&v)); }
Vector stored(__m128i value) {
  Vector v;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&v), value);
  return v;
}
__m128 floats(const Vector& v) { return _mm_castsi128_ps(load(v)); }
__m128d doubles(const Vector& v) { return _mm_castsi128_pd(load(v)); }
Vector stored(__m128 value) { return stored(_mm_castps_si128(value)); }
Vector stored(__m128d value) { return stored(_mm_castpd_si128(value)); }

#define ROOST_ARITHMETIC(operation)                             \
  switch (i.prefix) {                                           \
    case 0:                                                     \
      a = stored(_mm_##operation##_ps(floats(a), floats(b)));   \
      return true;                                              \
    case 0x66:                                                  \
      a = stored(_mm_##operation##_pd(doubles(a), doubles(b))); \
      return true;                                              \
    case 0xf3:                                                  \
      a = stored(_mm_##operation##_ss(floats(a), floats(b)));   \
      return true;                                              \
    default:                                                    \
      a = stored(_mm_##operation##_sd(doubles(a), doubles(b))); \
      return true;                                              \
  }

bool square_root(const Instruction& i, Vector& a, const Vector& b) {
  switch (i.prefix) {
    case 0:
      a = stored(_mm_sqrt_ps(floats(b)));
      return true;
    case 0x66:
      a = stored(_mm_sqrt_pd(doubles(b)));
      return true;
    case 0xf3:
      a = stored(_mm_move_ss(floats(a), _mm_sqrt_ss(floats(b))));
      return true;
    default:
      a = stored(_mm_sqrt_sd(doubles(a), doubles(b)));
      return true;
  }
}

Vector shuffled(const Vector& low_from, const Vector& high_from, unsigned order) {
  std::uint32_t low[4], high[4];
  memcpy(low, &low_from, sizeof low);
  memcpy(high, &high_from, sizeof high);
  const std::uint32_t result[4] = {low[order & 3], low[order >> 2 & 3], high[order >> 4 & 3],
                                   high[order >> 6 & 3]};
  Vector v;
  memcpy(&v, result, sizeof v);
  return v;
}

// Moves of a part; `from_register`: what is not moved stays.
bool move_part(const Instruction& i, Vector& a, const Vector& b, bool from_register) {
  switch (i.opcode) {
    case 0x12:
      a.low = from_register ? b.high : b.low;
      return true;
    case 0x16:
      a.high = b.low;
      return true;
    case 0x7e:
      a = {b.low, 0};
      return true;
    case 0x10:
      if (from_register && i.prefix == 0xf3) {
        a.low = (a.low & ~0xffffffffull) | (b.low & 0xffffffff);
      } else if (from_register && i.prefix == 0xf2) {
        a.low = b.low;
      } else {
        a = b;
      }
      return true;
    default:
      a = b;
      return true;
  }
}

// The first operand becomes the result.
bool compute(const Instruction& i, Vector& a, const Vector& b, bool from_register) {
  auto order = static_cast<unsigned>(i.immediate) & 0xff;
  switch (i.opcode) {
    case 0x10:
    case 0x12:
    case 0x16:
    case 0x28:
    case 0x6f:
    case 0x7e:
      return move_part(i, a, b, from_register);
    case 0x14:
      a = i.prefix ? Vector{a.low, b.low} : stored(_mm_unpacklo_ps(floats(a), floats(b)));
      return true;
    case 0x15:
      a = i.prefix ? Vector{a.high, b.high} : stored(_mm_unpackhi_ps(floats(a), floats(b)));
      return true;
    case 0x62:
      a = stored(_mm_unpacklo_epi32(load(a), load(b)));
      return true;
    case 0x6c:
      a = {a.low, b.low};
      return true;
    case 0x6d:
      a = {a.high, b.high};
      return true;
    case 0x70:
      a = shuffled(b, b, order);
      return true;
    case 0xc6:
      a = i.prefix ? Vector{order & 1 ? a.high : a.low, order & 2 ? b.high : b.low}
                   : shuffled(a, b, order);
      return true;
    case 0x54:
    case 0xdb:
      a = {a.low & b.low, a.high & b.high};
      return true;
    case 0x55:
    case 0xdf:
      a = {~a.low & b.low, ~a.high & b.high};
      return true;
    case 0x56:
    case 0xeb:
      a = {a.low | b.low, a.high | b.high};
      return true;
    case 0x57:
    case 0xef:
      a = {a.low ^ b.low, a.high ^ b.high};
      return true;
    case 0x51:
      return square_root(i, a, b);
    case 0x58:
      ROOST_ARITHMETIC(add)
    case 0x59:
      ROOST_ARITHMETIC(mul)
    case 0x5c:
      ROOST_ARITHMETIC(sub)
    case 0x5d:
      ROOST_ARITHMETIC(min)
    case 0x5e:
      ROOST_ARITHMETIC(div)
    case 0x5f:
      ROOST_ARITHMETIC(max)
    case 0x5a:
      a = i.prefix == 0xf3 ? stored(_mm_cvtss_sd(doubles(a), floats(b)))
                           : stored(_mm_cvtsd_ss(floats(a), doubles(b)));
      return true;
    case 0x74:
      a = stored(_mm_cmpeq_epi8(load(a), load(b)));
      return true;
    case 0x75:
      a = stored(_mm_cmpeq_epi16(load(a), load(b)));
      return true;
    case 0x76:
      a = stored(_mm_cmpeq_epi32(load(a), load(b)));
      return true;
    case 0xd4:
      a = {a.low + b.low, a.high + b.high};
      return true;
    case 0xfb:
      a = {a.low - b.low, a.high - b.high};
      return true;
    case 0xda:
      a = stored(_mm_min_epu8(load(a), load(b)));
      return true;
    case 0xde:
      a = stored(_mm_max_epu8(load(a), load(b)));
      return true;
    case 0xf8:
      a = stored(_mm_sub_epi8(load(a), load(b)));
      return true;
    case 0xfa:
      a = stored(_mm_sub_epi32(load(a), load(b)));
      return true;
    case 0xfc:
      a = stored(_mm_add_epi8(load(a), load(b)));
      return true;
    case 0xfe:
      a = stored(_mm_add_epi32(load(a), load(b)));
      return true;
    default:
      return false;
  }
}

// COMISD is as UCOMISD but for a quiet NaN, which it flags as invalid.
std::uint32_t compared(const Instruction& i, const Vector& a, const Vector& b) {
  int ordered, less, equal;
  if (i.prefix) {
    ordered = _mm_movemask_pd(_mm_cmpord_sd(doubles(a), doubles(b))) & 1;
    less = _mm_ucomilt_sd(doubles(a), doubles(b));
    equal = _mm_ucomieq_sd(doubles(a), doubles(b));
  } else {
    ordered = _mm_movemask_ps(_mm_cmpord_ss(floats(a), floats(b))) & 1;
    less = _mm_ucomilt_ss(floats(a), floats(b));
    equal = _mm_ucomieq_ss(floats(a), floats(b));
  }
  if (!ordered) return kZero | kParity | kCarry;
  return (less ? std::uint32_t{kCarry} : 0) | (equal ? std::uint32_t{kZero} : 0);
}

Vector from_general(const Instruction& i, const Vector& a, std::uint64_t value) {
  if (i.opcode == 0x6e) return {value, 0};
  auto wide = static_cast<std::int64_t>(value);
  auto narrow = static_cast<std::int32_t>(value);
  if (i.prefix == 0xf3)
    return i.width == 8 ? stored(_mm_cvtsi64_ss(floats(a), wide))
                        : stored(_mm_cvtsi32_ss(floats(a), narrow));
  return i.width == 8 ? stored(_mm_cvtsi64_sd(doubles(a), wide))
                      : stored(_mm_cvtsi32_sd(doubles(a), narrow));
}

std::uint64_t to_general(const Instruction& i, const Vector& b) {
  bool truncates = i.opcode == 0x2c;
  if (i.opcode == 0x7e) return b.low;
  if (i.opcode == 0x50)
    return static_cast<std::uint64_t>(i.prefix ? _mm_movemask_pd(doubles(b))
                                               : _mm_movemask_ps(floats(b)));
  if (i.opcode == 0xd7) return static_cast<std::uint64_t>(_mm_movemask_epi8(load(b)));
  std::int64_t value;
  if (i.prefix == 0xf3 && i.width == 8) {
    value = truncates ? _mm_cvttss_si64(floats(b)) : _mm_cvtss_si64(floats(b));
  } else if (i.prefix == 0xf3) {
    value = truncates ? _mm_cvttss_si32(floats(b)) : _mm_cvtss_si32(floats(b));
  } else if (i.width == 8) {
    value = truncates ? _mm_cvttsd_si64(doubles(b)) : _mm_cvtsd_si64(doubles(b));
  } else {
    value = truncates ? _mm_cvttsd_si32(doubles(b)) : _mm_cvtsd_si32(doubles(b));
  }
  return static_cast<std::uint64_t>(value);
}

}  // namespace

bool decode_vector(const Form& form, Instruction& i) {
  i.prefix = form.repeat ? form.repeat : form.operand_size ? 0x66 : 0;
  i.opcode = form.opcode;
  unsigned bytes;
  Shape shape = shape_of(form.opcode, i.prefix, bytes);
  if (shape == Shape::none || !form.has_modrm) return false;
  bool of_memory = form.memory_form();
  i.operation =
      i.opcode == 0x2e || i.opcode == 0x2f ? Operation::vector_compare : Operation::vector;
  i.vector_bytes = static_cast<std::uint8_t>(bytes);
  i.width = general_width(form);
  Operand field{Kind::vector, static_cast<std::uint8_t>(form.field())};
  Operand general_field{Kind::general, field.number};
  Operand memory{Kind::memory, 0};
  Operand vector = of_memory ? memory : Operand{Kind::vector, static_cast<std::uint8_t>(form.rm())};
  Operand general =
      of_memory ? memory : Operand{Kind::general, static_cast<std::uint8_t>(form.rm())};
  switch (shape) {
    case Shape::load:
    case Shape::load_only:
      i.destination = field;
      i.source = vector;
      return of_memory || shape == Shape::load;
    case Shape::store:
    case Shape::store_only:
      i.destination = vector;
      i.source = field;
      return of_memory || shape == Shape::store;
    case Shape::from_general:
      i.destination = field;
      i.source = general;
      i.vector_bytes = i.width;
      return true;
    case Shape::to_general:
      if (i.opcode == 0x7e) {  // to memory or a register of that width
        i.destination = general;
        i.source = field;
        i.vector_bytes = i.width;
        return true;
      }
      i.destination = general_field;
      i.source = vector;
      return true;
    default:
      i.destination = general_field;
      i.source = vector;
      i.width = 4;
      return !of_memory;
  }
}

bool execute_vector(const Instruction& i, const VectorOperands& operands, Vector& result,
                    std::uint32_t& flags) {
  const Vector &a = operands.destination, &b = operands.source;
  result = a;
  if (i.operation == Operation::vector_compare) {
    flags = compared(i, a, b);
    return true;
  }
  bool loads_half = i.opcode == 0x7e && i.prefix == 0xf3;
  if (i.destination.kind == Kind::general || (i.opcode == 0x7e && !loads_half)) {
    result = {to_general(i, b), 0};
    return true;
  }
  switch (i.opcode) {
    case 0x2a:
    case 0x6e:
      result = from_general(i, a, b.low);
      return true;
    case 0x11: {  // to a register or memory, as a load the other way round
      Instruction load = i;
      load.opcode = 0x10;
      return compute(load, result, b, operands.from_register);
    }
    case 0x13:
      result = {b.low, 0};
      return true;
    case 0x17:
      result = {b.high, 0};
      return true;
    case 0xd6:
      result = {b.low, 0};
      return true;
    case 0x29:
    case 0x2b:
    case 0x7f:
    case 0xe7:
      result = b;
      return true;
    default:
      return compute(i, result, b, operands.from_register);
  }
}

#undef ROOST_ARITHMETIC

#else

bool decode_vector(const Form&, Instruction&) { return false; }
bool execute_vector(const Instruction&, const VectorOperands&, Vector&, std::uint32_t&) {
  return false;
}

#endif

}  // namespace roost::spin
