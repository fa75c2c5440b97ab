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
        .irp    register, rbx, rbp, r12, r13, r14, r15
        push    %\register
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %\register, 0
        .endr
        mov     %rsp, %rdi
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    roost_yield_from
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        .irp    register, r15, r14, r13, r12, rbp, rbx
        pop     %\register
        .cfi_adjust_cfa_offset -8
        .cfi_restore %\register
        .endr
        ret
        .cfi_endproc
        .size   sched_yield, .-sched_yield
#endif
        .section .note.GNU-stack,"",@progbits
