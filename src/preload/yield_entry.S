// sched_yield: keeps what the caller's registers were, so that its loop can be looked at
// (preload/yield.cc). The other names of the call are the same function.
#if defined(__x86_64__)
        .text
        .globl  sched_yield
        .globl  pthread_yield
        .globl  thrd_yield
        .type   sched_yield, @function
        .type   pthread_yield, @function
        .type   thrd_yield, @function
sched_yield:
pthread_yield:
thrd_yield:
        .cfi_startproc
        push    %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        push    %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        push    %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r12, 0
        push    %r13
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r13, 0
        push    %r14
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r14, 0
        push    %r15
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r15, 0
        mov     %rsp, %rdi
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    roost_yield_from
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        pop     %r15
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r15
        pop     %r14
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r14
        pop     %r13
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r13
        pop     %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r12
        pop     %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   sched_yield, .-sched_yield
#endif
        .section .note.GNU-stack,"",@progbits
