// The `syscall; ret` behind os/raw_syscall.h, and the pointer to it.
#if defined(__x86_64__) && defined(ROOST_GUEST)
        .text
        .p2align 4
        .type own_gate, @function
own_gate:
        .cfi_startproc
        syscall
        ret
        .cfi_endproc
        .size own_gate, . - own_gate

        .section .data.rel.local, "aw"
        .globl roost_syscall_gate
        .hidden roost_syscall_gate
        .p2align 3
        .type roost_syscall_gate, @object
roost_syscall_gate:
        .quad own_gate
        .size roost_syscall_gate, 8
#endif
        .section .note.GNU-stack, "", @progbits
