// sigsetjmp: libc's own, once preload/jump.cc has noted that the mask is kept. Jumps there, since it
// returns to its caller a second time. (glibc's headers make it of sigsetjmp.)
#if defined(__x86_64__)
        .text
        .globl  __sigsetjmp
        .type   __sigsetjmp, @function
__sigsetjmp:
        .cfi_startproc
        .irp    register, rdi, rsi
        push    %\register
        .cfi_adjust_cfa_offset 8
        .endr
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        mov     %esi, %edi
        call    roost_sigsetjmp_of_libc
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        .irp    register, rsi, rdi
        pop     %\register
        .cfi_adjust_cfa_offset -8
        .endr
        jmp     *%rax
        .cfi_endproc
        .size   __sigsetjmp, . - __sigsetjmp
#endif
        .section .note.GNU-stack, "", @progbits
