// Where the program's handlers return to (preload/handler_return.h): the address that led here is
// taken off the stack, and libc's return goes on. What unwinds through it is told, as by libc's,
// where the kernel has left the registers of what was interrupted: in a ucontext, at the top of the
// stack now. It looks for what holds one byte before the address, which is why a `nop` stands there.
#if defined(__x86_64__)
        .macro  saved register, at
        .cfi_escape 0x10, \register, 3, 0x77, (\at & 0x7f) | 0x80, \at >> 7 // *(%rsp + at)
        .endm
        .text
        .balign 16
        .cfi_startproc
        .cfi_signal_frame
        .cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06 // the frame was *(%rsp + 160)
        saved   8, 40   // r8 to r15
        saved   9, 48
        saved   10, 56
        saved   11, 64
        saved   12, 72
        saved   13, 80
        saved   14, 88
        saved   15, 96
        saved   5, 104  // rdi
        saved   4, 112  // rsi
        saved   6, 120  // rbp
        saved   3, 128  // rbx
        saved   1, 136  // rdx
        saved   0, 144  // rax
        saved   2, 152  // rcx
        saved   7, 160  // rsp
        saved   16, 168 // rip
        nop
        .globl  roost_handler_return
        .hidden roost_handler_return
        .type   roost_handler_return, @function
roost_handler_return:
        movq    $0, -8(%rsp)
        jmp     *roost_handler_return_of_libc(%rip)
        .cfi_endproc
        .size   roost_handler_return, . - roost_handler_return
#endif
        .section .note.GNU-stack, "", @progbits
