// What unwinds through a handler finds what it has interrupted: backtraces, exceptions out of
// faults, the end of the thread.
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "expect.h"

namespace {

void handle(int signal, void (*handler)(int), int flags = 0) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  EXPECT_EQ(sigaction(signal, &action, nullptr), 0);
}

// Where `marked` is: handlers look for that in the backtrace.
__attribute__((noinline)) void marked() {
  raise(SIGUSR1);
  __asm__ volatile("" ::: "memory");
}
bool in_marked(const void* address) {
  constexpr std::uintptr_t kBytes = 64;
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(&marked) <
         kBytes;
}

volatile sig_atomic_t found;
void look(int) {
  void* frames[64];
  int depth = backtrace(frames, 64);
  for (int i = 0; i < depth; ++i)
    if (in_marked(frames[i])) found = found + 1;
}

}  // namespace

CASE(a_backtrace_goes_on_behind_it) {
  void* first[1];
  backtrace(first, 1);  // loads the unwinder
  handle(SIGUSR1, look);
  marked();
  EXPECT_EQ(found, 1);
  struct sigaction before;
  EXPECT_EQ(sigaction(SIGUSR1, nullptr, &before), 0);
  EXPECT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
  marked();
  EXPECT_EQ(found, 2);
  EXPECT(signal(SIGUSR1, look) != SIG_ERR);
  marked();
  EXPECT_EQ(found, 3);
}

namespace {

struct Fault {};
void throw_fault(int) { throw Fault{}; }
volatile int* const nowhere =
    static_cast<volatile int*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

std::string events;  // a letter each
struct Noted {
  char letter;
  ~Noted() { events += letter; }
};

__attribute__((noinline)) int touch(int a, int b) {
  Noted noted{'t'};
  return a + *nowhere + b;  // -fnon-call-exceptions
}

void exceptions(int flags) {
  handle(SIGSEGV, throw_fault, SA_NODEFER | flags);
  for (int i = 0; i < 100; ++i) {
    events.clear();
    int kept = i;
    try {
      kept += touch(i, 1);
      EXPECT(!"it may not be read");
    } catch (const Fault&) {
      events += 'c';
    }
    EXPECT(events == "tc");
    EXPECT_EQ(kept, i);
  }
}

}  // namespace

CASE(an_exception_leaves_it) { exceptions(0); }

CASE(an_exception_leaves_it_from_an_alternate_stack) {
  static char memory[1 << 16];
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  EXPECT_EQ(sigaltstack(&stack, nullptr), 0);
  exceptions(SA_ONSTACK);
}

namespace {

void end_thread(int) { pthread_exit(nullptr); }
void* be_interrupted(void*) {
  Noted noted{'e'};
  touch(1, 2);
  events += '!';
  return nullptr;
}

}  // namespace

CASE(the_end_of_the_thread_runs_what_it_has_interrupted) {
  handle(SIGSEGV, end_thread);
  events.clear();
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, nullptr, be_interrupted, nullptr), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT(events == "te");
}
