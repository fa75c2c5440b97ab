// Threads that meet at barriers like MKL's: who waits looks 5000 times, with a
// pause each time, and yields from then on.
//
//   counted_barrier THREADS MEETINGS
// They wait in either of two kinds of loop.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

// Waits until *word is at least `value`. With the comparison at the loop's
// head, and with another one before the loop.
void wait_at_head(_Atomic unsigned long* word, unsigned long value);
void wait_at_end(_Atomic unsigned long* word, unsigned long value);
#if defined(__x86_64__)
#define BEGIN(name)                                                \
  ".text\n.p2align 4\n.type " name ",@function\n" name             \
  ":\n.cfi_startproc\n"                                            \
  "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n" \
  "sub $32, %rsp\n.cfi_adjust_cfa_offset 32\n"                     \
  "mov %rdi, %rcx\nmov %rsi, %rdx\nxor %ebx, %ebx\n"
#define END(name)                                                 \
  "9: add $32, %rsp\n.cfi_adjust_cfa_offset -32\n"                \
  "pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\nret\n" \
  ".cfi_endproc\n.size " name ", .-" name "\n"
#define YIELD                                                        \
  "3: mov %rdx, 16(%rsp)\nmov %rcx, 8(%rsp)\ncall sched_yield@plt\n" \
  "mov 8(%rsp), %rcx\nmov 16(%rsp), %rdx\njmp 1b\n"
__asm__(BEGIN("wait_at_head") "1: mov (%rcx), %rax\ncmp %rax, %rdx\njbe 9f\n"
                              "2: cmp $0x1387, %ebx\njg 3f\npause\nmov (%rcx), "
                              "%rax\nadd $1, %ebx\n"
                              "cmp %rax, %rdx\nja 2b\njmp 9f\n" YIELD END(
                                  "wait_at_head"));
__asm__(BEGIN("wait_at_end") "1: mov (%rcx), %rax\ncmp %rax, %rdx\njbe 9f\ncmp "
                             "$0x1387, %ebx\njg 3f\n"
                             "2: pause\nmov (%rcx), %rax\nadd $1, %ebx\ncmp "
                             "%rax, %rdx\njbe 9f\n"
                             "cmp $0x1387, %ebx\njle 2b\n" YIELD END(
                                 "wait_at_end"));
#else
void wait_at_head(_Atomic unsigned long* word, unsigned long value) {
  while (atomic_load(word) < value) sched_yield();
}
void wait_at_end(_Atomic unsigned long* word, unsigned long value) { wait_at_head(word, value); }
#endif

static unsigned long threads, meetings;
static _Atomic unsigned long arrived;

static void* member(void* unused) {
  for (unsigned long i = 1; i <= meetings; ++i) {
    atomic_fetch_add(&arrived, 1);
    (i % 2 ? wait_at_head : wait_at_end)(&arrived, i * threads);
  }
  return unused;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  threads = strtoul(argv[1], NULL, 10);
  meetings = strtoul(argv[2], NULL, 10);
  pthread_t* ids = calloc(threads, sizeof *ids);
  if (!ids) return 1;
  for (unsigned long i = 0; i < threads; ++i)
    if (pthread_create(&ids[i], NULL, member, NULL)) return 1;
  for (unsigned long i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  free(ids);
  return 0;
}
