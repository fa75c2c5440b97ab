// The switch between stacks on x86-64 (ult/context.h; layout of a suspended stack, lowest first):
//
//   mxcsr, x87 control word    8 bytes
//   r15 r14 r13 r12 rbx rbp    48 bytes
//   return address
#if defined(__x86_64__)
        .text

        .globl  roost_ult_switch
        .hidden roost_ult_switch
        .type   roost_ult_switch, @function
        .p2align 4
roost_ult_switch:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r12, 0
        pushq   %r13
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r13, 0
        pushq   %r14
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r14, 0
        pushq   %r15
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r15, 0
        pushq   $0      // all 8 bytes are compared
        .cfi_adjust_cfa_offset 8
        stmxcsr (%rsp)
        fnstcw  4(%rsp)
        movq    (%rsp), %rax
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        // Loading a control word costs more than comparing it, and it is nearly always the same.
        cmpq    %rax, (%rsp)
        je      1f
        ldmxcsr (%rsp)
        fldcw   4(%rsp)
1:      addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %r15
        .cfi_adjust_cfa_offset -8
        .cfi_restore r15
        popq    %r14
        .cfi_adjust_cfa_offset -8
        .cfi_restore r14
        popq    %r13
        .cfi_adjust_cfa_offset -8
        .cfi_restore r13
        popq    %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore r12
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbx
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbp
        ret
        .cfi_endproc
        .size   roost_ult_switch, . - roost_ult_switch

// Where a prepared stack begins: calls r12 with r13. The outermost frame of its backtraces.
        .globl  roost_ult_begin
        .hidden roost_ult_begin
        .type   roost_ult_begin, @function
        .p2align 4
roost_ult_begin:
        .cfi_startproc
        .cfi_undefined rip
        endbr64
        movq    %r13, %rdi
        xorl    %ebp, %ebp
        call    *%r12
        ud2
        .cfi_endproc
        .size   roost_ult_begin, . - roost_ult_begin

#endif
        .section .note.GNU-stack, "", @progbits
