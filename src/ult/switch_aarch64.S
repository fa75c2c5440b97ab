// The switch between stacks on aarch64 (ult/context.h; layout of a suspended stack, lowest first):
//
//   x19 to x30, d8 to d15    160 bytes
//   fpcr                     16 bytes, 8 of them unused
#if defined(__aarch64__)
        .text

        .globl  roost_ult_switch
        .hidden roost_ult_switch
        .type   roost_ult_switch, %function
        .p2align 4
roost_ult_switch:
        .cfi_startproc
        sub     sp, sp, #176
        .cfi_adjust_cfa_offset 176
        stp     x19, x20, [sp, #0]
        stp     x21, x22, [sp, #16]
        stp     x23, x24, [sp, #32]
        stp     x25, x26, [sp, #48]
        stp     x27, x28, [sp, #64]
        stp     x29, x30, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mrs     x9, fpcr
        str     x9, [sp, #160]
        mov     x10, sp
        str     x10, [x0]
        mov     sp, x1
        ldr     x10, [sp, #160]
        cmp     x9, x10
        b.eq    1f
        msr     fpcr, x10
1:      ldp     x19, x20, [sp, #0]
        ldp     x21, x22, [sp, #16]
        ldp     x23, x24, [sp, #32]
        ldp     x25, x26, [sp, #48]
        ldp     x27, x28, [sp, #64]
        ldp     x29, x30, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        add     sp, sp, #176
        .cfi_adjust_cfa_offset -176
        ret
        .cfi_endproc
        .size   roost_ult_switch, . - roost_ult_switch

// Where a prepared stack begins: calls x19 with x20. The outermost frame of its backtraces.
        .globl  roost_ult_begin
        .hidden roost_ult_begin
        .type   roost_ult_begin, %function
        .p2align 4
roost_ult_begin:
        .cfi_startproc
        .cfi_undefined x30
        mov     x0, x20
        mov     x29, xzr
        blr     x19
        brk     #1
        .cfi_endproc
        .size   roost_ult_begin, . - roost_ult_begin

#endif
        .section .note.GNU-stack, "", %progbits
