// Calls to the sanitizers' runtimes, where the process has them.
#include "ult/sanitizer.h"

#include "ult/carrier.h"
#include "ult/context.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_STACK_REGISTER(low, high) (void)0
#define VALGRIND_MAKE_MEM_UNDEFINED(low, bytes) (void)(low), (void)(bytes)
#endif

extern "C" {
// sanitizer/common_interface_defs.h
void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, std::size_t bytes)
    __attribute__((weak));
void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom_left,
                                     std::size_t* bytes_left) __attribute__((weak));
// sanitizer/tsan_interface.h
void* __tsan_get_current_fiber() __attribute__((weak));
void* __tsan_create_fiber(unsigned flags) __attribute__((weak));
void __tsan_switch_to_fiber(void* fibre, unsigned flags) __attribute__((weak));
void __tsan_acquire(void* what) __attribute__((weak));
void __tsan_release(void* what) __attribute__((weak));
}

namespace roost::ult {

constinit std::atomic<bool> sanitized{false};

void introduce_stack(const Stack& stack) { VALGRIND_STACK_REGISTER(stack.bottom(), stack.top()); }

void introduce_below(std::uintptr_t stack_pointer, std::size_t red_zone) {
  std::size_t bytes = red_zone + sizeof(std::uintptr_t);
  VALGRIND_MAKE_MEM_UNDEFINED(stack_pointer - red_zone - bytes, bytes);
}

void look_for_sanitizers() {
  bool address = __sanitizer_start_switch_fiber && __sanitizer_finish_switch_fiber;
  bool thread = __tsan_get_current_fiber && __tsan_create_fiber && __tsan_switch_to_fiber;
  if (address || thread) sanitized.store(true, std::memory_order_relaxed);
}

namespace sanitizer {

namespace {
void leave(Carrier& own, Strand& from, Strand& to) {
  own.left = &from;
  if (to.stack.low) {
    to.fibre.bottom = to.stack.bottom();
    to.fibre.bytes = to.stack.bytes - kGuardBytes;
  }
  if (__sanitizer_start_switch_fiber)
    __sanitizer_start_switch_fiber(&from.fibre.fake_stack, to.fibre.bottom, to.fibre.bytes);
  if (!__tsan_switch_to_fiber) return;
  if (!from.fibre.context) from.fibre.context = __tsan_get_current_fiber();
  if (!to.fibre.context) to.fibre.context = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(to.fibre.context, 0);
}
}  // namespace

void switch_to(Carrier& own, Strand& from, Strand& to) {
  leave(own, from, to);
  roost_ult_switch(&from.stack_pointer, to.stack_pointer);
  arrive(own);
}

void arrive(Carrier& own) {
  if (!__sanitizer_finish_switch_fiber || !own.left) return;
  Fibre& left = own.left->fibre;
  __sanitizer_finish_switch_fiber(own.current->fibre.fake_stack, &left.bottom, &left.bytes);
  own.left = nullptr;
}

void release(const void* what) {
  if (__tsan_release) __tsan_release(const_cast<void*>(what));
}
void acquire(const void* what) {
  if (__tsan_acquire) __tsan_acquire(const_cast<void*>(what));
}

}  // namespace sanitizer
}  // namespace roost::ult
