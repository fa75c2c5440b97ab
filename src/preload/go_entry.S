// From Go's system call to roost_go_call (preload/go_calls.cc), on the thread's own call stack.
//
// The stub has put the address of its `syscall` into RCX. Only RCX and R11 are free, as that
// instruction overwrites them. At the end every register is as the kernel leaves it, but for the
// vector registers: the call is at the end of a function, whose callers expect no more than zero in
// XMM15.
//
// A signal handler may interrupt this anywhere and make such a call itself: while `busy`, its call
// is trapped; before, it has the stack and is done with it before this goes on.
#if defined(__x86_64__)
        .text
        .globl  roost_go_entry
        .hidden roost_go_entry
        .type   roost_go_entry, @function
roost_go_entry:
        .cfi_startproc
        .cfi_undefined rip
        mov     roost_go_stack@GOTTPOFF(%rip), %r11
        add     %fs:0, %r11
        cmpq    $0, (%r11)
        je      2f
        cmpb    $0, 8(%r11)
        jne     2f
        movb    $1, 8(%r11)
        xchg    %rsp, (%r11)
        push    %rcx
        push    %rcx
        push    %rbx
        mov     %r11, %rbx
        // A SystemCall: number, a to f.
        .irp    register, r9, r8, r10, rdx, rsi, rdi, rax
        push    %\register
        .endr
        mov     %rsp, %rdi
        mov     %rcx, %rsi
        cld
        call    roost_go_call
        mov     %rax, %rcx
        .irp    register, rax, rdi, rsi, rdx, r10, r8, r9
        pop     %\register
        .endr
        mov     %rbx, %r11
        pop     %rbx
        add     $16, %rsp
        xchg    %rsp, (%r11)
        movb    $0, 8(%r11)
        pxor    %xmm15, %xmm15
2:      jmp     *%rcx
        .cfi_endproc
        .size   roost_go_entry, .-roost_go_entry
#endif
        .section .note.GNU-stack,"",@progbits
