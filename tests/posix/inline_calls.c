// Inline system calls that do not wait: they mean what they mean at their own place, with
// registers, stack, signal mask and thread pointer as the program has them.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "child.h"
#include "inline_syscall.h"

#if defined(__x86_64__)
#include <asm/prctl.h>
#include <linux/sched.h>
#endif

// Threads make the trap worth while, so there is one.
static uint32_t over;
static pthread_t begin(void) {
  pthread_t thread;
  over = 0;
  EXPECT_EQ(pthread_create(&thread, NULL, inline_await_set, &over), 0);
  return thread;
}
static void end(pthread_t thread) {
  inline_set(&over, 1);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

CASE(plain_calls_answer_as_libc_does) {
  pthread_t thread = begin();
  errno = 77;
  EXPECT_EQ(INLINE(SYS_getpid), getpid());
  EXPECT_EQ(INLINE(SYS_gettid), gettid());
  EXPECT_EQ(INLINE(SYS_getuid), getuid());
  EXPECT_EQ(INLINE(SYS_close, -1), -EBADF);
  EXPECT_EQ(INLINE(99999), -ENOSYS);
  EXPECT_EQ(errno, 77);
  char name[16] = "", again[16] = "";
  EXPECT_EQ(INLINE(SYS_prctl, PR_SET_NAME, "inline"), 0);
  EXPECT_EQ(INLINE(SYS_prctl, PR_GET_NAME, name), 0);
  EXPECT_EQ(pthread_getname_np(pthread_self(), again, sizeof again), 0);
  EXPECT_EQ(strcmp(name, "inline"), 0);
  EXPECT_EQ(strcmp(again, "inline"), 0);
  end(thread);
}

CASE(affinity_set_by_either_way_is_read_by_the_other) {
  pthread_t thread = begin();
  unsigned char all[128] = {0}, set[128] = {0};
  long bytes = INLINE(SYS_sched_getaffinity, 0, sizeof all, all);
  EXPECT(bytes > 0);
  cpu_set_t one, got;
  int cpu = 0;
  while (!(all[cpu / 8] >> cpu % 8 & 1)) ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  EXPECT_EQ(INLINE(SYS_sched_setaffinity, 0, sizeof one, &one), 0);
  EXPECT_EQ(sched_getaffinity(0, sizeof got, &got), 0);
  EXPECT(CPU_EQUAL(&one, &got));
  EXPECT_EQ(INLINE(SYS_sched_getaffinity, 0, sizeof set, set), bytes);
  EXPECT_EQ(memcmp(set, &one, sizeof one), 0);
  EXPECT_EQ(sched_setaffinity(0, sizeof all, (const cpu_set_t*)all), 0);
  EXPECT_EQ(INLINE(SYS_sched_setaffinity, 0, 0, &one), -EINVAL);
  end(thread);
}

#if defined(__x86_64__)
// Every register before and after; rax aside. rcx and r11 the instruction itself overwrites.
struct registers {
  uint64_t rbx, rbp, rdi, rsi, rdx, r8, r9, r10, r12, r13, r14, r15, rcx, r11, rax, flags;
  uint64_t red_zone[2];
  unsigned char vectors[16][16];
};
__attribute__((noinline)) static void call_with(struct registers* r, long number) {
  __asm__ volatile(
      "push %%rbp\n push %%rbx\n push %[r]\n sub $256, %%rsp\n"
      "mov %[number], %%rax\n mov %[r], %%r11\n"
      "movdqu 144(%%r11), %%xmm0\n movdqu 160(%%r11), %%xmm1\n movdqu 384(%%r11), %%xmm15\n"
      "mov 128(%%r11), %%rcx\n mov %%rcx, -8(%%rsp)\n mov 136(%%r11), %%rcx\n mov %%rcx, "
      "-128(%%rsp)\n"
      "mov 0(%%r11), %%rbx\n mov 8(%%r11), %%rbp\n mov 16(%%r11), %%rdi\n mov 24(%%r11), %%rsi\n"
      "mov 32(%%r11), %%rdx\n mov 40(%%r11), %%r8\n mov 48(%%r11), %%r9\n mov 56(%%r11), %%r10\n"
      "mov 64(%%r11), %%r12\n mov 72(%%r11), %%r13\n mov 80(%%r11), %%r14\n mov 88(%%r11), %%r15\n"
      "stc\n"
      "syscall\n"
      "1: mov %%rcx, -16(%%rsp)\n mov %%r11, -24(%%rsp)\n mov 256(%%rsp), %%r11\n"
      "mov %%rax, 112(%%r11)\n mov -16(%%rsp), %%rcx\n mov %%rcx, 96(%%r11)\n"
      "mov -24(%%rsp), %%rcx\n mov %%rcx, 104(%%r11)\n"
      "lea -128(%%rsp), %%rsp\n pushfq\n pop %%rcx\n lea 128(%%rsp), %%rsp\n mov %%rcx, "
      "120(%%r11)\n"
      "lea 1b(%%rip), %%rcx\n sub %%rcx, 96(%%r11)\n"
      "mov -8(%%rsp), %%rcx\n mov %%rcx, 128(%%r11)\n"
      "mov %%rbx, 0(%%r11)\n mov %%rbp, 8(%%r11)\n mov %%rdi, 16(%%r11)\n mov %%rsi, 24(%%r11)\n"
      "mov %%rdx, 32(%%r11)\n mov %%r8, 40(%%r11)\n mov %%r9, 48(%%r11)\n mov %%r10, 56(%%r11)\n"
      "mov %%r12, 64(%%r11)\n mov %%r13, 72(%%r11)\n mov %%r14, 80(%%r11)\n mov %%r15, 88(%%r11)\n"
      "movdqu %%xmm0, 144(%%r11)\n movdqu %%xmm1, 160(%%r11)\n movdqu %%xmm15, 384(%%r11)\n"
      "add $256, %%rsp\n pop %%r11\n pop %%rbx\n pop %%rbp\n"
      :
      : [r] "r"(r), [number] "r"(number)
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
        "xmm0", "xmm1", "xmm15", "memory", "cc");
}
static void expect_registers_kept(long number, long rdi, long rsi, long rdx, long r10,
                                  long result) {
  struct registers before, after;
  memset(&before, 0, sizeof before);
  for (unsigned i = 0; i < sizeof before.vectors; ++i)
    ((unsigned char*)before.vectors)[i] = (unsigned char)(i * 7 + 1);
  before.rbx = 0x1111, before.rbp = 0x2222, before.r8 = 0, before.r9 = 0xffffffff;
  before.r12 = 0x3333, before.r13 = 0x4444, before.r14 = 0x5555, before.r15 = 0x6666;
  before.red_zone[0] = 0x7777, before.red_zone[1] = 0x8888;
  before.rdi = (uint64_t)rdi, before.rsi = (uint64_t)rsi, before.rdx = (uint64_t)rdx;
  before.r10 = (uint64_t)r10;
  after = before;
  call_with(&after, number);
  EXPECT_EQ(after.rax, result);
  EXPECT_EQ(after.rcx, 0);        // of the instruction after the call
  EXPECT_EQ(after.flags & 1, 1);  // carry
  EXPECT_EQ(after.r11 & 1, 1);    // the flags, as the instruction leaves them
  after.rax = after.rcx = after.r11 = after.flags = 0;
  EXPECT_EQ(memcmp(&before, &after, sizeof before), 0);
}
CASE(registers_flags_and_red_zone_are_kept) {
  pthread_t thread = begin();
  static uint32_t word;
  const struct timespec soon = {0, 1000000};
  expect_registers_kept(SYS_getpid, 1, 2, 3, 4, getpid());
  expect_registers_kept(SYS_close, -1, 2, 3, 4, -EBADF);
  expect_registers_kept(SYS_futex, ADDRESS(&word), FUTEX_WAIT, 0, ADDRESS(&soon), -ETIMEDOUT);
  expect_registers_kept(SYS_futex, ADDRESS(&word), FUTEX_WAIT, 1, 0, -EAGAIN);
  expect_registers_kept(SYS_sched_yield, 1, 2, 3, 4, 0);
  expect_registers_kept(SYS_rt_sigprocmask, SIG_BLOCK, 0, 0, 8, 0);
  end(thread);
}

// A thread without libc: it may only use what does not need a thread pointer.
static char stack[65536] __attribute__((aligned(64)));
static uint32_t child_tid, child_word;
// Makes a clone whose child goes on on another stack, at this very place, and ends there.
__attribute__((noinline)) static long clone_thread(long flags) {
  long result;
  register long r10 __asm__("r10") = ADDRESS(&child_tid);
  register long r8 __asm__("r8") = 0;
  __asm__ volatile(
      "syscall\n test %%rax, %%rax\n jnz 1f\n"
      "movl $1, %[word]\n"
      "mov %[wake], %%rdi\n mov $129, %%esi\n mov $1, %%edx\n mov $202, %%eax\n syscall\n"
      "xor %%edi, %%edi\n mov $60, %%eax\n syscall\n hlt\n"
      "1:"
      : "=a"(result), [word] "+m"(child_word)
      : "a"((long)SYS_clone), "D"(flags), "S"(ADDRESS(stack + sizeof stack)),
        "d"(ADDRESS(&child_tid)), "r"(r10), "r"(r8), [wake] "b"(ADDRESS(&child_word))
      : "rcx", "r11", "memory");
  return result;
}
static void wait_for_clone(long tid) {
  EXPECT(tid > 0);
  inline_await_change(&child_word, 0);
  // Cleared and woken by the kernel, as a futex that is not private.
  for (uint32_t now; (now = __atomic_load_n(&child_tid, __ATOMIC_ACQUIRE)) != 0;)
    INLINE(SYS_futex, &child_tid, FUTEX_WAIT, now, 0);
}
CASE(clone_starts_a_thread_on_its_own_stack) {
  pthread_t thread = begin();
  for (int i = 0; i < 5; ++i) {
    child_word = 0;
    child_tid = 1;
    wait_for_clone(clone_thread(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                                CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID));
    EXPECT_EQ(INLINE(SYS_getpid), getpid());
  }
  end(thread);
}

CASE(fork_makes_a_child_that_goes_on_by_itself) {
  pthread_t thread = begin();
  for (int i = 0; i < 5; ++i) {
    long pid = INLINE(SYS_fork);
    if (pid == 0) {
      uint32_t word = 0;
      const struct timespec soon = {0, 1000000};
      long result = INLINE(SYS_futex, &word, FUTEX_WAIT, 0, &soon);
      INLINE(SYS_exit_group, result == -ETIMEDOUT ? 7 : 8);
    }
    EXPECT_EQ(outcome_of((pid_t)pid), 7);
    pid = INLINE(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) INLINE(SYS_exit_group, 9);
    EXPECT_EQ(outcome_of((pid_t)pid), 9);
  }
  end(thread);
}

CASE(a_vfork_child_shares_the_stack_until_it_ends) {
  pthread_t thread = begin();
  volatile int seen = 0;
  for (int i = 0; i < 5; ++i) {
    long pid = INLINE(SYS_vfork);
    if (pid == 0) {
      seen = seen + 1;
      INLINE(SYS_exit_group, 5);
    }
    EXPECT_EQ(seen, i + 1);
    EXPECT_EQ(outcome_of((pid_t)pid), 5);
    EXPECT_EQ(INLINE(SYS_getpid), getpid());
  }
  end(thread);
}

CASE(clone3_takes_its_arguments_from_memory) {
  pthread_t thread = begin();
  struct clone_args arguments;
  memset(&arguments, 0, sizeof arguments);
  arguments.exit_signal = SIGCHLD;
  long pid = INLINE(SYS_clone3, &arguments, sizeof arguments);
  if (pid == -ENOSYS) {
    end(thread);
    SKIP("no clone3");
  }
  if (pid == 0) INLINE(SYS_exit_group, 6);
  EXPECT_EQ(outcome_of((pid_t)pid), 6);
  arguments.flags = CLONE_VM | CLONE_VFORK;
  pid = INLINE(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) INLINE(SYS_exit_group, 4);
  EXPECT_EQ(outcome_of((pid_t)pid), 4);
  EXPECT_EQ(INLINE(SYS_clone3, 8, sizeof arguments), -EFAULT);
  EXPECT_EQ(INLINE(SYS_clone3, &arguments, 1), -EINVAL);
  end(thread);
}

CASE(the_thread_pointer_can_be_read_and_set) {
  pthread_t thread = begin();
  unsigned long base = 0;
  EXPECT_EQ(INLINE(SYS_arch_prctl, ARCH_GET_FS, &base), 0);
  EXPECT(base != 0);
  EXPECT_EQ(INLINE(SYS_arch_prctl, ARCH_SET_FS, base), 0);
  EXPECT_EQ(INLINE(SYS_getpid), getpid());
  end(thread);
}
#endif

ROLE(exec_again) {
  if (getenv("INLINE_EXEC")) _exit(11);
  pthread_t thread = begin();
  char* arguments[] = {(char*)"exec", (char*)"@exec_again", NULL};
  char* environment[] = {(char*)"INLINE_EXEC=1", NULL};
  EXPECT_EQ(INLINE(SYS_execve, "/nonexistent", arguments, environment), -ENOENT);
  INLINE(SYS_execve, "/proc/self/exe", arguments, environment);
  _exit((int)thread & 1);
}
CASE(exec_replaces_the_program) { EXPECT_EQ(outcome_of_role("@exec_again"), 11); }

// Many places, more than any table of them may hold.
#define CALL_1 EXPECT_EQ(INLINE(SYS_getpid), pid);
#define CALL_8 CALL_1 CALL_1 CALL_1 CALL_1 CALL_1 CALL_1 CALL_1 CALL_1
#define CALL_64 CALL_8 CALL_8 CALL_8 CALL_8 CALL_8 CALL_8 CALL_8 CALL_8
CASE(there_may_be_any_number_of_places) {
  pthread_t thread = begin();
  pid_t pid = getpid();
  for (int i = 0; i < 3; ++i) {
    CALL_64 CALL_64 CALL_64 CALL_64 CALL_64
  }
  end(thread);
}

CASE(memory_is_mapped_and_unmapped) {
  pthread_t thread = begin();
  char* memory =
      (char*)INLINE(SYS_mmap, 0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT((uintptr_t)memory < (uintptr_t)-4096);
  memory[0] = 1;
  EXPECT_EQ(INLINE(SYS_mprotect, memory, 4096, PROT_READ), 0);
  EXPECT_EQ(memory[0], 1);
  EXPECT_EQ(INLINE(SYS_munmap, memory, 8192), 0);
  end(thread);
}
