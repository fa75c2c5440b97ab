// Loops that wait, with no padding in reach, whose first instruction is long enough to become a
// jump: what else goes through it, faults at it, and changes of the same bytes. Written out, since
// compilers lay code out as they like.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include "exchange_actions.h"
#include "expect.h"
#include "inline_syscall.h"

#if defined(__x86_64__)
#define FAR_FROM_PADDING ".rept 160\nclc\n.endr\n"
#define FUNCTION(name, body)                                                                \
  ".p2align 4\n.globl " name "\n.type " name ",@function\n" name ":\n.cfi_startproc\n" body \
  ".cfi_endproc\n.size " name ", .-" name "\n"

struct meeting {
  char before[512];
  volatile int word;
};
// Waits while meeting->word is `value`.
void wait_at_head(struct meeting* meeting, int value);
extern uint8_t head_of_wait[];
// The same of `turn`, in code that the program may write.
void wait_in_writable(int value);
extern volatile int turn;
// Waits while `turn` is `value`; yields after 5000 / step rounds, never if that is 0.
void wait_counted(int value, int step);
__asm__(".text\n"
        FUNCTION("wait_at_head",
                 FAR_FROM_PADDING
                 ".p2align 3\nhead_of_wait:\nmov 512(%rdi), %eax\ncmp %esi, %eax\n"
                 "je head_of_wait\n" FAR_FROM_PADDING "ret\n")
        FUNCTION("wait_counted",
                 "push %rbx\n.cfi_adjust_cfa_offset 8\n"
                 "push %rbp\n.cfi_adjust_cfa_offset 8\n"
                 "push %r12\n.cfi_adjust_cfa_offset 8\n"
                 "mov %edi, %r12d\nmov %esi, %ebp\nxor %ebx, %ebx\njmp 1f\n"
                 FAR_FROM_PADDING
                 ".p2align 3\n1: cmp $5000, %ebx\njge 3f\n"
                 "pause\nadd %ebp, %ebx\nmov turn(%rip), %eax\ncmp %r12d, %eax\nje 1b\njmp 4f\n"
                 "3: call sched_yield@PLT\nmov turn(%rip), %eax\ncmp %r12d, %eax\nje 1b\n"
                 "4:\n" FAR_FROM_PADDING
                 "pop %r12\n.cfi_adjust_cfa_offset -8\n"
                 "pop %rbp\n.cfi_adjust_cfa_offset -8\n"
                 "pop %rbx\n.cfi_adjust_cfa_offset -8\nret\n")
        ".section .writable_text,\"awx\",@progbits\n.p2align 12\n"
        FUNCTION("wait_in_writable",
                 "jmp 1f\n" FAR_FROM_PADDING
                 ".p2align 3\n1: mov turn(%rip), %eax\ncmp %edi, %eax\nje 1b\nret\n")
        ".p2align 6\n.globl turn\nturn: .long 0\n.p2align 12\n.text\n");

enum { THREADS = 6 };
static struct meeting meeting;
static int arrived, stop, stopped, rounds;
static void (*wait_for)(int value, long id);

static void compute(void) {
  for (volatile int i = 0; i < 20000; ++i) continue;
}

static void meet(volatile int* word, long id) {
  int value = *word;
  if (__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST) == THREADS) {
    arrived = 0;
    stopped = __atomic_load_n(&stop, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
  } else {
    wait_for(value, id);
  }
}

static void* meet_at_turns(void* id) {
  for (int i = 0; i < rounds; ++i) {
    compute();
    meet(&turn, (long)id);
  }
  return NULL;
}

static void all_meet_at_turns(void (*wait)(int value, long id), int times) {
  wait_for = wait;
  rounds = times;
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, meet_at_turns, (void*)i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

static void count_by_id(int value, long id) { wait_counted(value, id & 1); }
static void beside_variables(int value, long id) {
  (void)id;
  wait_in_writable(value);
}
static void at_head(int value, long id) {
  (void)id;
  wait_at_head(&meeting, value);
}

static void* meet_until_stopped(void* unused) {
  do {
    compute();
    meet(&meeting.word, 0);
  } while (!stopped);
  return unused;
}

static pthread_t waiters[THREADS];
static void begin_to_meet_at_head(void) {
  wait_for = at_head;
  stop = stopped = 0;
  for (int i = 0; i < THREADS; ++i) pthread_create(&waiters[i], NULL, meet_until_stopped, NULL);
  usleep(200000);
}
static void end_to_meet(void) {
  __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < THREADS; ++i) pthread_join(waiters[i], NULL);
}

static volatile int faults_elsewhere, faults;
static void on_fault(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  if (registers[REG_RIP] != (greg_t)(uintptr_t)head_of_wait) faults_elsewhere = 1;
  ++faults;
  registers[REG_RDI] = (greg_t)(uintptr_t)&meeting;
}

// Some count on their way, so that the bound they count to is changed; others wait for ever.
CASE(a_count_is_made_small_whose_comparison_may_be_a_jump) {
  all_meet_at_turns(count_by_id, 100);
  EXPECT_EQ(turn % 100, 0);
}

CASE(code_that_may_be_written_is_left_alone) {
  all_meet_at_turns(beside_variables, 50);
  EXPECT_EQ(turn % 50, 0);
}

static int is_moved(void) { return *(volatile uint8_t*)head_of_wait != 0x8b; }

// As a check before each operation, whether something was initialised. Later they may wait again.
CASE(those_who_do_not_wait_get_their_code_back) {
  begin_to_meet_at_head();
  int was_moved = is_moved();
  end_to_meet();
  for (int i = 0; i < 12000000; ++i) wait_at_head(&meeting, -1);
  EXPECT(!is_moved());
  begin_to_meet_at_head();
  for (int i = 0; i < 1000 && was_moved && !is_moved(); ++i) usleep(10000);
  EXPECT_EQ(is_moved(), was_moved);
  end_to_meet();
}

static void fault_at_times(void) {
  faults = faults_elsewhere = 0;
  for (int i = 0; i < 50; ++i) {
    wait_at_head(NULL, -1);
    usleep(2000);
  }
  EXPECT_EQ(faults, 50);
  EXPECT_EQ(faults_elsewhere, 0);
}

static void set_fault_handler(struct sigaction* before) {
  struct sigaction action = {0};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  EXPECT_EQ(sigaction(SIGSEGV, &action, before), 0);
}

CASE(handlers_of_faults_find_the_instruction) {
  struct sigaction found;
  begin_to_meet_at_head();
  set_fault_handler(&found);
  EXPECT(found.sa_handler == SIG_DFL);
  fault_at_times();
  EXPECT_EQ(sigaction(SIGSEGV, NULL, &found), 0);
  EXPECT(found.sa_sigaction == on_fault);
  EXPECT(found.sa_flags & SA_SIGINFO);
  // With three arguments all the same.
  void (*as_old_handler)(int) = found.sa_handler;
  EXPECT(signal(SIGSEGV, SIG_DFL) == as_old_handler);
  EXPECT(signal(SIGSEGV, as_old_handler) == SIG_DFL);
  fault_at_times();
  EXPECT(signal(SIGSEGV, SIG_DFL) == as_old_handler);
  EXPECT_EQ(sigaction(SIGSEGV, NULL, &found), 0);
  EXPECT(found.sa_handler == SIG_DFL);
  end_to_meet();
}

CASE(handlers_that_were_there_before_find_it_too) {
  set_fault_handler(NULL);
  begin_to_meet_at_head();
  fault_at_times();
  struct sigaction found;
  EXPECT_EQ(sigaction(SIGSEGV, NULL, &found), 0);
  EXPECT(found.sa_sigaction == on_fault);
  end_to_meet();
}

// As a crash reporter may do that makes its system calls itself.
CASE(threads_that_exchange_actions_of_faults_get_each_once) {
  begin_to_meet_at_head();
  exchange_actions_of(SIGSEGV);
  exchange_actions_of(SIGBUS);
  end_to_meet();
}

CASE(what_a_system_call_has_told_can_be_set_again) {
  struct {
    void (*handler)(int);
    unsigned long flags;
    void* restorer;
    uint64_t mask;
  } told;
  set_fault_handler(NULL);
  begin_to_meet_at_head();
  EXPECT_EQ(INLINE(SYS_rt_sigaction, SIGSEGV, NULL, ADDRESS(&told), sizeof told.mask), 0);
  EXPECT(signal(SIGSEGV, SIG_DFL) != SIG_DFL);
  struct sigaction again = {.sa_handler = told.handler, .sa_flags = SA_SIGINFO};
  EXPECT_EQ(sigaction(SIGSEGV, &again, NULL), 0);
  fault_at_times();
  end_to_meet();
}
#else
CASE(there_is_no_rewriting_here) {}
#endif
