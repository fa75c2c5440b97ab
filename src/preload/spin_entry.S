// From a rewritten wait loop into C++ and back, with every register as it was.
//
// A stub (preload/spin_site.cc) calls this with the site's address, RAX and the flags on the stack
// above the return address, below the 128 bytes of the red zone. Vector and x87 registers are saved
// by XSAVE; the components that C++ code and libc may change: x87, SSE, AVX, AVX-512.
#if defined(__x86_64__)
        .text
        .globl  roost_spin_entry
        .hidden roost_spin_entry
        .type   roost_spin_entry, @function
roost_spin_entry:
        .irp    register, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
        push    %\register
        .endr
        mov     %rsp, %rdi
        mov     %rsp, %rbx
        sub     $2752, %rsp
        and     $-64, %rsp
        cld
        xor     %eax, %eax
        // XSAVE writes some bits of its header only.
        .irp    offset, 512, 520, 528, 536, 544, 552, 560, 568
        mov     %rax, \offset(%rsp)
        .endr
        mov     $0xe7, %eax
        xor     %edx, %edx
        xsave64 (%rsp)
        mov     %rsp, %rbp
        call    roost_spin_pass
        mov     $0xe7, %eax
        xor     %edx, %edx
        xrstor64 (%rbp)
        mov     %rbx, %rsp
        .irp    register, r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx
        pop     %\register
        .endr
        ret
        .size   roost_spin_entry, .-roost_spin_entry

// Where a signal handler has an interrupted thread go on (return_into_yield): as from a stub of no
// site, below the red zone, with the address to come back to on the stack.
        .globl  roost_nudge_return
        .hidden roost_nudge_return
        .type   roost_nudge_return, @function
roost_nudge_return:
        pushfq
        push    %rax
        push    $0
        call    roost_spin_entry
        lea     8(%rsp), %rsp
        pop     %rax
        popfq
        ret     $128
        .size   roost_nudge_return, .-roost_nudge_return
#endif
        .section .note.GNU-stack,"",@progbits
