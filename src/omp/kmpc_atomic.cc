// LLVM's entry points: atomic updates (__kmpc_atomic_*). Clang has instructions for nearly all of
// them; Intel's compilers and older code call these. Their names say the type's size, the
// operation, and what they give back:
//   fixedN, fixedNu, floatN, cmplxN   integers, floating point, complex of N-byte parts
//   OP          x = x OP y              OP_rev   x = y OP x
//   OP_cpt, OP_cpt_rev  the same; returns the new value if `new_one`, else the old one
//   rd, wr, swp  read, write, exchange
// Not here: 16-byte floating point (float16, cmplx16), which neither libomp as distributed has.
//
// Types with an instruction to compare and exchange use it; the others a lock chosen by address.
#include <bit>
#include <cstring>

#include "omp/export.h"
#include "omp/kmpc.h"
#include "omp/lock_events.h"

namespace roost::omp {
namespace {

using Cmplx4 = _Complex float;
using Cmplx8 = _Complex double;
using Cmplx10 = _Complex long double;

struct alignas(64) LineLock {
  Lock lock;
};
constinit LineLock locks[32];

class Guard {
 public:
  explicit Guard(const void* address)
      : lock_(locks[(reinterpret_cast<std::uintptr_t>(address) >> 3) % 32].lock) {
    lock_.acquire();
  }
  ~Guard() { lock_.release(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  Lock& lock_;
};

template <std::size_t bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = std::uint8_t;
};
template <>
struct WordOf<2> {
  using Type = std::uint16_t;
};
template <>
struct WordOf<4> {
  using Type = std::uint32_t;
};
template <>
struct WordOf<8> {
  using Type = std::uint64_t;
};

// Complex numbers of eight bytes may stand at multiples of four.
template <class T>
constexpr bool kHasInstruction = sizeof(T) <= 8 && alignof(T) == sizeof(T);

// *x = f(*x); the new value if `new_one`, else the old.
template <class T, class F>
T update(T* x, bool new_one, F&& f) {
  if constexpr (kHasInstruction<T>) {
    using Word = typename WordOf<sizeof(T)>::Type;
    auto* word = reinterpret_cast<Word __attribute__((may_alias))*>(x);
    Word seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    for (;;) {
      T old = std::bit_cast<T>(seen);
      T result = static_cast<T>(f(old));
      if (__atomic_compare_exchange_n(word, &seen, std::bit_cast<Word>(result), true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        return new_one ? result : old;
      }
    }
  } else {
    Guard guard(x);
    T old = *x;
    T result = static_cast<T>(f(old));
    *x = result;
    return new_one ? result : old;
  }
}

template <class T>
T read(T* x) {
  if constexpr (kHasInstruction<T>) {
    T value;
    __atomic_load(x, &value, __ATOMIC_ACQUIRE);
    return value;
  } else {
    Guard guard(x);
    return *x;
  }
}
template <class T>
void write(T* x, T value) {
  if constexpr (kHasInstruction<T>) {
    __atomic_store(x, &value, __ATOMIC_RELEASE);
  } else {
    Guard guard(x);
    *x = value;
  }
}

// Any update: f(result, old, y).
template <class Word>
void update_by(void* x, void* y, void (*f)(void*, void*, void*)) {
  update(static_cast<Word*>(x), true, [&](Word old) {
    Word result;
    f(&result, &old, y);
    return result;
  });
}
void update_locked_by(void* x, void* y, void (*f)(void*, void*, void*)) {
  Guard guard(x);
  f(x, x, y);
}

constinit Lock whole;  // of __kmpc_atomic_start

}  // namespace

extern "C" {

// `old` and `y` are the operands.
#define FORM(type, T, name, Y, expression)                                  \
  ROOST_EXPORT void __kmpc_atomic_##type##_##name(Ident*, int, T* x, Y y) { \
    update(x, true, [&](T old) { return expression; });                     \
  }
#define FORM_CAPTURE(type, T, name, expression)                                       \
  ROOST_EXPORT T __kmpc_atomic_##type##_##name(Ident*, int, T* x, T y, int new_one) { \
    return update(x, new_one != 0, [&](T old) { return expression; });                \
  }
#define OPERATION(type, T, name, expression) \
  FORM(type, T, name, T, expression)         \
  FORM_CAPTURE(type, T, name##_cpt, expression)
// Those whose operands' order matters.
#define ORDERED_OPERATION(type, T, name, expression, reversed) \
  OPERATION(type, T, name, expression)                         \
  FORM(type, T, name##_rev, T, reversed)                       \
  FORM_CAPTURE(type, T, name##_cpt_rev, reversed)
#define ACCESS(type, T)                                                           \
  ROOST_EXPORT T __kmpc_atomic_##type##_rd(Ident*, int, T* x) { return read(x); } \
  ROOST_EXPORT void __kmpc_atomic_##type##_wr(Ident*, int, T* x, T y) { write(x, y); }
#define EXCHANGE(type, T)                                             \
  ROOST_EXPORT T __kmpc_atomic_##type##_swp(Ident*, int, T* x, T y) { \
    return update(x, false, [&](T) { return y; });                    \
  }
#define ARITHMETIC(type, T)                         \
  OPERATION(type, T, add, old + y)                  \
  OPERATION(type, T, mul, old* y)                   \
  ORDERED_OPERATION(type, T, sub, old - y, y - old) \
  ORDERED_OPERATION(type, T, div, old / y, y / old)
#define EXTREMES(type, T)                    \
  OPERATION(type, T, max, old < y ? y : old) \
  OPERATION(type, T, min, y < old ? y : old)

// Sums wrap around: U is unsigned, and wide enough not to become int.
#define FIXED(type, T, U)                                                             \
  OPERATION(type, T, add, static_cast<U>(old) + static_cast<U>(y))                    \
  OPERATION(type, T, mul, static_cast<U>(old) * static_cast<U>(y))                    \
  ORDERED_OPERATION(type, T, sub, static_cast<U>(old) - static_cast<U>(y),            \
                    static_cast<U>(y) - static_cast<U>(old))                          \
  ORDERED_OPERATION(type, T, div, old / y, y / old)                                   \
  ORDERED_OPERATION(type, T, shl, static_cast<U>(old) << y, static_cast<U>(y) << old) \
  ORDERED_OPERATION(type, T, shr, old >> y, y >> old)                                 \
  OPERATION(type, T, andb, old& y)                                                    \
  OPERATION(type, T, orb, old | y)                                                    \
  OPERATION(type, T, xor, old ^ y)                                                    \
  OPERATION(type, T, andl, old&& y)                                                   \
  OPERATION(type, T, orl, old || y)                                                   \
  OPERATION(type, T, eqv, ~(old ^ y))                                                 \
  OPERATION(type, T, neqv, old ^ y)                                                   \
  EXTREMES(type, T)                                                                   \
  ACCESS(type, T)                                                                     \
  EXCHANGE(type, T)                                                                   \
  FORM(type, T, mul_float8, double, static_cast<double>(old) * y)                     \
  FORM(type, T, div_float8, double, static_cast<double>(old) / y)
#define FIXED_UNSIGNED(type, T)                     \
  ORDERED_OPERATION(type, T, div, old / y, y / old) \
  ORDERED_OPERATION(type, T, shr, old >> y, y >> old)
#define FLOAT(type, T) ARITHMETIC(type, T) EXTREMES(type, T) ACCESS(type, T) EXCHANGE(type, T)

FIXED(fixed1, std::int8_t, std::uint32_t)
FIXED(fixed2, std::int16_t, std::uint32_t)
FIXED(fixed4, std::int32_t, std::uint32_t)
FIXED(fixed8, std::int64_t, std::uint64_t)
FIXED_UNSIGNED(fixed1u, std::uint8_t)
FIXED_UNSIGNED(fixed2u, std::uint16_t)
FIXED_UNSIGNED(fixed4u, std::uint32_t)
FIXED_UNSIGNED(fixed8u, std::uint64_t)

FLOAT(float4, float)
FLOAT(float8, double)
FLOAT(float10, long double)
FORM(float4, float, add_float8, double, old + y)
FORM(float4, float, sub_float8, double, old - y)
FORM(float4, float, mul_float8, double, old* y)
FORM(float4, float, div_float8, double, old / y)

ARITHMETIC(cmplx8, Cmplx8)
ACCESS(cmplx8, Cmplx8)
EXCHANGE(cmplx8, Cmplx8)
ARITHMETIC(cmplx10, Cmplx10)
ACCESS(cmplx10, Cmplx10)
EXCHANGE(cmplx10, Cmplx10)

// The capturing forms of the smallest complex type give the value back through a pointer.
#define FORM_CAPTURE_TO(name, expression)                                                      \
  ROOST_EXPORT void __kmpc_atomic_cmplx4_##name(Ident*, int, Cmplx4* x, Cmplx4 y, Cmplx4* out, \
                                                int new_one) {                                 \
    *out = update(x, new_one != 0, [&](Cmplx4 old) { return expression; });                    \
  }
#define OPERATION_TO(name, expression)                    \
  FORM(cmplx4, Cmplx4, name, Cmplx4, expression)          \
  FORM(cmplx4, Cmplx4, name##_cmplx8, Cmplx8, expression) \
  FORM_CAPTURE_TO(name##_cpt, expression)
OPERATION_TO(add, old + y)
OPERATION_TO(sub, old - y)
OPERATION_TO(mul, old* y)
OPERATION_TO(div, old / y)
FORM(cmplx4, Cmplx4, sub_rev, Cmplx4, y - old)
FORM(cmplx4, Cmplx4, div_rev, Cmplx4, y / old)
FORM_CAPTURE_TO(sub_cpt_rev, y - old)
FORM_CAPTURE_TO(div_cpt_rev, y / old)
ACCESS(cmplx4, Cmplx4)
ROOST_EXPORT void __kmpc_atomic_cmplx4_swp(Ident*, int, Cmplx4* x, Cmplx4 y, Cmplx4* out) {
  *out = update(x, false, [&](Cmplx4) { return y; });
}

// Compare and exchange. bool: whether it was exchanged; val: the old value. _cpt: what the variable
// is afterwards goes to *after (with bool: only if it was not exchanged).
#define EXCHANGE_IF(bytes, T)                                                                      \
  ROOST_EXPORT bool __kmpc_atomic_bool_##bytes##_cas(Ident*, int, T* x, T expected, T desired) {   \
    return __atomic_compare_exchange_n(x, &expected, desired, false, __ATOMIC_SEQ_CST,             \
                                       __ATOMIC_SEQ_CST);                                          \
  }                                                                                                \
  ROOST_EXPORT bool __kmpc_atomic_bool_##bytes##_cas_cpt(Ident*, int, T* x, T expected, T desired, \
                                                         T* after) {                               \
    if (__atomic_compare_exchange_n(x, &expected, desired, false, __ATOMIC_SEQ_CST,                \
                                    __ATOMIC_SEQ_CST)) {                                           \
      return true;                                                                                 \
    }                                                                                              \
    *after = expected;                                                                             \
    return false;                                                                                  \
  }                                                                                                \
  ROOST_EXPORT T __kmpc_atomic_val_##bytes##_cas(Ident*, int, T* x, T expected, T desired) {       \
    __atomic_compare_exchange_n(x, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    return expected;                                                                               \
  }                                                                                                \
  ROOST_EXPORT T __kmpc_atomic_val_##bytes##_cas_cpt(Ident*, int, T* x, T expected, T desired,     \
                                                     T* after) {                                   \
    bool done = __atomic_compare_exchange_n(x, &expected, desired, false, __ATOMIC_SEQ_CST,        \
                                            __ATOMIC_SEQ_CST);                                     \
    *after = done ? desired : expected;                                                            \
    return expected;                                                                               \
  }
EXCHANGE_IF(1, std::int8_t)
EXCHANGE_IF(2, std::int16_t)
EXCHANGE_IF(4, std::int32_t)
EXCHANGE_IF(8, std::int64_t)

#define ANY_UPDATE(bytes, call)                                             \
  ROOST_EXPORT void __kmpc_atomic_##bytes(Ident*, int, void* x, void* y,    \
                                          void (*f)(void*, void*, void*)) { \
    call(x, y, f);                                                          \
  }
ANY_UPDATE(1, update_by<std::uint8_t>)
ANY_UPDATE(2, update_by<std::uint16_t>)
ANY_UPDATE(4, update_by<std::uint32_t>)
ANY_UPDATE(8, update_by<std::uint64_t>)
ANY_UPDATE(10, update_locked_by)
ANY_UPDATE(16, update_locked_by)
ANY_UPDATE(20, update_locked_by)
ANY_UPDATE(32, update_locked_by)

ROOST_EXPORT void __kmpc_atomic_start() {
  ompt::Entry entry;
  acquire_as(ompt::Mutex::atomic, whole);
}
ROOST_EXPORT void __kmpc_atomic_end() {
  ompt::Entry entry;
  release_as(ompt::Mutex::atomic, whole);
}

}  // extern "C"
}  // namespace roost::omp
