// Yields TIMES on its way through a function, beside a child on the same cores that yields, too.
// Prints the times.
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
// Yields, as a library that looks for messages does, until nothing is outstanding; `which` stays in
// a register that calls preserve, as what a program passes on does. What follows lies far off.
void pass_by(long which);
volatile int outstanding;
__asm__(
    ".text\n.p2align 4\n.globl pass_by\n.type pass_by,@function\npass_by:\n.cfi_startproc\n"
    "push %rbx\n.cfi_adjust_cfa_offset 8\nmov %rdi, %rbx\n"
    "1: call sched_yield@PLT\n"
    "cmpl $0, outstanding(%rip)\n"
    "je 2f\n"
    "jmp 1b\n"
    ".rept 200\nnop\n.endr\n"
    "2: pop %rbx\n.cfi_adjust_cfa_offset -8\nret\n"
    ".cfi_endproc\n.size pass_by, .-pass_by\n");
#else
static void pass_by(long which) {
  (void)which;
  sched_yield();
}
#endif

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  long times = atol(argv[1]);
  pid_t child = fork();
  if (child == 0)
    for (;;) sched_yield();
  for (long i = 0; i < times; ++i) pass_by(i);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  printf("%ld times\n", times);
  return 0;
}
