// Calls on another stack than the caller's.
#pragma once

namespace roost::spin {

// Calls `function(data)` with the stack that ends at `top`, a multiple of 16. Nothing may be thrown
// through it. In a signal handler, with signals blocked: the kernel may else put another one's
// frame over this one's, whose stack is not in use now. x86-64; elsewhere on the caller's stack.
inline void call_on_stack(void* top, void (*function)(void*), void* data) {
#if defined(__x86_64__)
  asm volatile(
      "mov %%rsp, %%rbx\n\t"
      "mov %[top], %%rsp\n\t"
      "call *%[function]\n\t"
      "mov %%rbx, %%rsp"
      : "+D"(data)
      : [top] "r"(top), [function] "r"(function)
      : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15");
#else
  static_cast<void>(top);
  function(data);
#endif
}

// The same for anything that can be called without arguments.
template <class Function>
void on_stack(void* top, Function function) {
  call_on_stack(
      top, [](void* f) { (*static_cast<Function*>(f))(); }, &function);
}

}  // namespace roost::spin
