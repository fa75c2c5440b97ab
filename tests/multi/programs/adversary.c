// Threads that give nobody else a chance, until they are killed: adversary HOW THREADS.
//
//   spin     wait in a loop for a word that never changes
//   blocked  the same, with every signal blocked that can be
//   clone    compute in threads made by clone(), which libc does not know, while one waits for them
//   stdio    hold the lock of stdout while they wait for input that never comes; others print
// Writes "begun" once its first thread runs.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int never;
static int begun;

static void say_begun(void) {
  if (__atomic_exchange_n(&begun, 1, __ATOMIC_SEQ_CST)) return;
  const char* message = "begun\n";
  if (write(STDOUT_FILENO, message, strlen(message)) < 0) _exit(1);
}

static void* spin(void* unused) {
  say_begun();
  while (!__atomic_load_n(&never, __ATOMIC_ACQUIRE)) {
  }
  return unused;
}

static void* spin_blocked(void* unused) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  return spin(unused);
}

static int compute(void* unused) {
  (void)unused;
  say_begun();
  for (volatile int turn = 0;; turn = !turn) {
  }
  return 0;
}

static void* clone_one(void* unused) {
  enum { STACK = 65536 };
  char* stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) exit(1);
  int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  if (clone(compute, stack + STACK, flags, NULL) < 0) exit(1);
  return unused;
}

static int silent[2];
static void* hold_stdout(void* unused) {
  flockfile(stdout);
  say_begun();
  char byte;
  if (read(silent[0], &byte, 1) < 0) exit(1);
  return unused;
}

static void* print(void* unused) {
  puts("printed");
  return unused;
}

int main(int argc, char** argv) {
  if (argc != 3 || pipe(silent) != 0) return 2;
  static const struct {
    const char* name;
    void* (*first)(void*), *(*others)(void*);
  } ways[] = {{"spin", spin, spin},
              {"blocked", spin_blocked, spin_blocked},
              {"clone", clone_one, clone_one},
              {"stdio", hold_stdout, print}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (strcmp(argv[1], ways[i].name) != 0) continue;
    pthread_t thread;
    for (int n = 0; n < atoi(argv[2]); ++n) {
      void* (*body)(void*) = n == 0 ? ways[i].first : ways[i].others;
      if (pthread_create(&thread, NULL, body, NULL) != 0) return 1;
      while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE)) sched_yield();
    }
    for (;;) pause();
  }
  return 2;
}
