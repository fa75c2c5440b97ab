// Where a trapped system call is made again with the program's registers, stack and signal mask.
//
// The trap's handler sets the thread's selector to let it through and the program counter to the stub that
// belongs to the call's site; the stub makes the call, arms the trap again and jumps back to behind the
// site. It uses no stack, so it serves calls that change or share it, and changes no register but rcx,
// which ends with what the `syscall` instruction leaves there. A table has one stub a site, because
// after a clone nothing but code tells where to go on.
//
// And dlopen, dlmopen, dlsym: jumps to libc's, which look at their caller's address.
#if defined(__x86_64__)

#define PLAIN_STUBS 256
#define CLONE_STUBS 32

        .bss
        .p2align 6
        .globl roost_plain_sites, roost_clone_sites, roost_fork_sites
        .hidden roost_plain_sites, roost_clone_sites, roost_fork_sites
roost_plain_sites: .skip 8*PLAIN_STUBS
roost_clone_sites: .skip 8*CLONE_STUBS
roost_fork_sites: .skip 8*CLONE_STUBS

        .text
        .globl roost_plain_stubs, roost_clone_stubs, roost_fork_stubs
        .hidden roost_plain_stubs, roost_clone_stubs, roost_fork_stubs

        .macro arm
        mov     roost_trap_selector@GOTTPOFF(%rip), %rcx
        movb    $1, %fs:(%rcx)
        .endm

// The child, which has no trap, may share the caller's thread-local storage or have one that is not
// libc's: it leaves both alone. So does what returns 0 after it changed the thread pointer.
        .macro arm_parent
        mov     %rax, %rcx
        jrcxz   1f
        arm
1:
        .endm

// The child is a process of its own that Roost does not know: self.record = nullptr.
        .macro arm_parent_or_forget
        mov     %rax, %rcx
        jrcxz   1f
        arm
        jmp     2f
1:      mov     _ZN5roost4selfE@GOTTPOFF(%rip), %rcx
        movq    $0, %fs:(%rcx)
2:
        .endm

        .macro stubs name, count, align, after
        .p2align \align
roost_\name\()_stubs:
        .set i, 0
        .rept \count
        syscall
        \after
        mov     roost_\name\()_sites+8*i(%rip), %rcx
        jmp     *%rcx
        .p2align \align
        .set i, i+1
        .endr
        .endm

        stubs plain, PLAIN_STUBS, 5, arm
        stubs clone, CLONE_STUBS, 5, arm_parent
        stubs fork, CLONE_STUBS, 6, arm_parent_or_forget

        .macro call_keeping_arguments function
        .irp    register, rdi, rsi, rdx
        push    %\register
        .cfi_adjust_cfa_offset 8
        .endr
        call    \function
        .irp    register, rdx, rsi, rdi
        pop     %\register
        .cfi_adjust_cfa_offset -8
        .endr
        .endm

// A thread that opens objects looks at its next scheduling point, or at dlsym, whether they hold
// inline system calls.
        .macro to_libc name, before:vararg
        .globl  \name
        .type   \name, @function
\name:
        .cfi_startproc
        \before
        mov     roost_real_\name(%rip), %rax
        test    %rax, %rax
        jz      1f
        jmp     *%rax
1:      call_keeping_arguments roost_find_dl
        jmp     *roost_real_\name(%rip)
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .macro note_dlopen
        mov     roost_seen_epoch@GOTTPOFF(%rip), %rax
        movl    $-1, %fs:(%rax)
        lock incl roost_opened_objects(%rip)
        .endm

        .macro look_after_dlopen
        mov     roost_seen_epoch@GOTTPOFF(%rip), %rax
        cmpl    $-1, %fs:(%rax)
        jne     2f
        call_keeping_arguments roost_look_after_dlopen
2:
        .endm

        to_libc dlopen, note_dlopen
        to_libc dlmopen, note_dlopen
        to_libc dlsym, look_after_dlopen
#endif
        .section .note.GNU-stack, "", @progbits
