// vfork: gives the core away until the child has another image or is gone.
//
// The child goes on in the caller's frame, and on its stack, before the parent does: between the two
// the stack below the caller's frame is the child's, so the return address is kept in a register, as
// libc keeps it. The parent puts it back.
#if defined(__x86_64__)
        .text
        .globl  vfork
        .globl  __vfork
        .type   vfork, @function
        .type   __vfork, @function
vfork:
__vfork:
        .cfi_startproc
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    roost_vfork_begins
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        pop     %rdi
        .cfi_adjust_cfa_offset -8
        .cfi_register %rip, %rdi
        mov     $58, %eax
        syscall
        push    %rdi
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rip, 0
        test    %rax, %rax
        jz      1f
        mov     %rax, %rdi
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    roost_vfork_ends
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
1:      ret
        .cfi_endproc
        .size   vfork, . - vfork
#endif
        .section .note.GNU-stack, "", @progbits
