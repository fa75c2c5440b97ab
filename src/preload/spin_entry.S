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
        push    %rcx
        push    %rdx
        push    %rbx
        push    %rbp
        push    %rsi
        push    %rdi
        push    %r8
        push    %r9
        push    %r10
        push    %r11
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        mov     %rsp, %rdi
        mov     %rsp, %rbx
        sub     $2752, %rsp
        and     $-64, %rsp
        cld
        xor     %eax, %eax
        // XSAVE writes some bits of its header only.
        mov     %rax, 512(%rsp)
        mov     %rax, 520(%rsp)
        mov     %rax, 528(%rsp)
        mov     %rax, 536(%rsp)
        mov     %rax, 544(%rsp)
        mov     %rax, 552(%rsp)
        mov     %rax, 560(%rsp)
        mov     %rax, 568(%rsp)
        mov     $0xe7, %eax
        xor     %edx, %edx
        xsave64 (%rsp)
        mov     %rsp, %rbp
        call    roost_spin_pass
        mov     $0xe7, %eax
        xor     %edx, %edx
        xrstor64 (%rbp)
        mov     %rbx, %rsp
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %r11
        pop     %r10
        pop     %r9
        pop     %r8
        pop     %rdi
        pop     %rsi
        pop     %rbp
        pop     %rbx
        pop     %rdx
        pop     %rcx
        ret
        .size   roost_spin_entry, .-roost_spin_entry
#endif
        .section .note.GNU-stack,"",@progbits
