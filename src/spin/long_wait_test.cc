// Real threads in loops of many kinds, asked by signals: who waits is found, who computes is not,
// and one that was led to where it rests goes on as if nothing had been.
#include "spin/long_wait.h"

#include <fenv.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "spin/interrupted.h"
#include "spin/other_stack.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

namespace roost::spin {
namespace {

bool read_bytes(std::uint64_t address, void* to, std::size_t bytes) {
  iovec local{to, bytes}, remote{reinterpret_cast<void*>(address), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

bool read_program(std::uint64_t address, CodeWindow& code) {
  return read_code(address, code, read_bytes);
}

// The loops are those of a program that is built without sanitizers, whatever this test is built
// with: their checks would be calls and looks at memory of their own.
#define PLAIN __attribute__((no_sanitize("address", "undefined")))

std::atomic<int> flag{0}, lock_word{0};
std::atomic<long> in_registers{0};
volatile long private_depth = 0, counted = 0;
volatile int sink = 0;

[[gnu::noinline]] PLAIN bool is_set() {
  asm volatile("");
  return flag.load(std::memory_order_acquire) != 0;
}
[[gnu::noinline]] PLAIN bool is_set_below(int depth) {
  bool set = depth > 0 ? is_set_below(depth - 1) : is_set();
  asm volatile("" : "+r"(set));
  return set;
}

PLAIN void looks_through_calls() {
  while (!is_set_below(5)) {
  }
}
PLAIN void counts() {
  long count = 0;
  while (flag.load() == 0) {
    asm volatile("" : "+r"(count));
    ++count;
    counted = counted + 1;
  }
  in_registers = count;
}
[[gnu::noinline]] PLAIN bool is_set_inside() {
  private_depth = private_depth + 1;
  bool set = is_set();
  private_depth = private_depth - 1;
  return set;
}
PLAIN void looks_under_lock() {
  for (bool set = false; !set;) {
    while (lock_word.exchange(1) != 0) {
    }
    set = is_set_inside();
    lock_word.store(0, std::memory_order_release);
  }
}
PLAIN void looks_inside() {
  for (bool set = false; !set;) {
    private_depth = private_depth + 1;
    set = is_set();
    private_depth = private_depth - 1;
  }
}
PLAIN void gives_lock_back_for_a_while() {
  while (lock_word.exchange(1) != 0) {
  }
  while (!is_set()) {
    lock_word.store(0, std::memory_order_release);
    for (int i = 0; i < 20; ++i) asm volatile("pause");
    while (lock_word.exchange(1) != 0) {
    }
  }
  lock_word.store(0, std::memory_order_release);
}
PLAIN void backs_off() {
  for (unsigned delay = 1; !is_set(); delay = delay < 256 ? 2 * delay : delay)
    for (unsigned i = 0; i < delay; ++i) asm volatile("pause" : "+r"(i));
}
PLAIN void looks_at_the_clock() {
  timespec now;
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (!is_set() && now.tv_sec >= 0);
}

// With a rounding mode of its own; and nobody must find a sum in the midst that is another's.
std::atomic<int> wrong_sums{0};
[[gnu::noinline]] PLAIN double third(double one) { return one / 3; }
[[gnu::noinline]] PLAIN void note_sums(const double (&sums)[6], double expected) {
  for (const double& sum : sums) wrong_sums += sum != expected;
}
PLAIN void delays_by_adding() {
  fesetround(FE_UPWARD);
  volatile double one = 1;
  double rounded_up = third(one);
  struct Copy {
    double values[6];
  };
  while (!is_set()) {
    Copy copy{};
    for (double& value : copy.values) value += third(one);
    note_sums(copy.values, rounded_up);
  }
  wrong_sums += fegetround() != FE_UPWARD;
  wrong_sums += rounded_up <= 1.0 / 3;
  fesetround(FE_TONEAREST);
}

// These compute; so that they end, the flag is looked at after the work.
PLAIN void recurses() {
  struct {
    long operator()(long n) { return n < 2 ? n : (*this)(n - 1) + (*this)(n - 2); }
  } fibonacci;
  while (flag.load() == 0) sink = static_cast<int>(fibonacci(27));
}
PLAIN void fills() {
  static unsigned array[4096];
  while (flag.load() == 0) {
    for (unsigned i = 0; i < 4096; ++i) array[i] += i ^ static_cast<unsigned>(sink);
    sink = static_cast<int>(array[17]);
  }
}
PLAIN void adds_up() {
  static volatile int array[65536];
  while (flag.load() == 0) {
    int sum = 0;
    for (volatile int& element : array) sum += element;
    sink = sum;
  }
}
PLAIN void searches_at_random() {
  static unsigned table[64] = {0, 1};
  unsigned state = 1;
  while (flag.load() == 0 || table[state % 2] > 1) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    if (table[state % 64] > 5) sink = 1;
  }
}
// For ever, with delays that do not pause.
PLAIN void looks_between_delays() {
  while (!is_set())
    for (int i = 0; i < 20; ++i) {
      asm volatile("" : "+m"(i));
    }
}
PLAIN void looks_many_times() {
  for (long i = 0; i < 1L << 60 && flag.load() == 0; ++i) asm volatile("pause" : "+r"(i));
}
// A worker that backs off, looks for work a million times, and then would sleep.
PLAIN void looks_for_work() {
  for (volatile long looks = 0; looks < 1L << 60;) {
    looks = looks + 1;
    for (unsigned i = 0; i < 16; ++i) asm volatile("pause" : "+r"(i));
    if (is_set()) return;
  }
}
PLAIN void polls_for_a_time() {
  timespec now;
  do {
    asm volatile("pause");
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (!is_set() && now.tv_sec >= 0);
}
PLAIN void counts_to_the_end() {
  for (long i = 0; i < 1L << 60 && flag.load() == 0; ++i) asm volatile("" : "+r"(i));
}

bool asks_for_rest = true;

struct Answer {
  std::atomic<int> asked{0}, waits{0}, rests{0}, bounded{0}, not_at_rest{0}, had_lock{0};
  LongRound last{};

  void note(const LongRound& round) {
    if (!round.waits) return;
    ++waits;
    last = round;
  }
} answer;

void on_signal(int, siginfo_t*, void* data) {
  auto& context = *static_cast<ucontext_t*>(data);
  static std::uint32_t choice = 0;
  Registers registers = registers_of(context);
  const Reader reader{read_program, read_bytes};
  if (asks_for_rest) {
    ProofLimit limit{8192};
    LongWait wait = prove_long_wait(registers, reader, limit, ++choice);
    answer.note(wait);
    if (wait.waits) {
      answer.rests += go_to_rest(registers, read_program, wait);
      set_registers(context, registers);
      answer.not_at_rest += private_depth != 0;
      answer.had_lock += lock_word != 0;
    }
  } else {
    ProofLimit limit{8192};
    LongSpin spin = prove_long_spin(registers, reader, limit);
    answer.note(spin);
    answer.bounded += spin.is_bounded;
  }
  ++answer.asked;  // last: who waits for it may set the flag
}

class LongWaitTest : public testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigaction(SIGUSR1, &action, &before_);
  }
  void TearDown() override { sigaction(SIGUSR1, &before_, nullptr); }

  // Asks a thread in `loop` so often, then sets the flag.
  void ask(void (*loop)(), int times = 200) {
    flag = 0;
    counted = 0;
    answer.asked = answer.waits = answer.rests = answer.bounded = answer.not_at_rest =
        answer.had_lock = 0;
    std::thread thread([loop] {
      static char stack[128 * 1024];
      stack_t ours = {stack, 0, sizeof stack}, none = {nullptr, SS_DISABLE, 0};
      sigaltstack(&ours, nullptr);
      loop();
      sigaltstack(&none, nullptr);
    });
    for (int i = 1; i <= times; ++i) {
      usleep(200 + static_cast<unsigned>(i) * 7 % 100);
      pthread_kill(thread.native_handle(), SIGUSR1);
      while (answer.asked < i) usleep(50);
    }
    flag = 1;
    thread.join();
  }

  struct sigaction before_ = {};
};

TEST_F(LongWaitTest, Finds_who_looks_through_calls) {
  ask(looks_through_calls);
  EXPECT_GT(answer.waits, 190);
  EXPECT_EQ(answer.rests, answer.waits);
  EXPECT_TRUE(answer.last.all_loads);
  bool found = false;
  for (const Load& load : answer.last.loads)
    found |= load.address == reinterpret_cast<std::uint64_t>(&flag) && load.value == 0;
  EXPECT_TRUE(found);
}

TEST_F(LongWaitTest, Finds_who_counts_and_loses_no_count) {
  ask(counts);
  EXPECT_GT(answer.waits, 190);
  EXPECT_EQ(counted, in_registers);
  EXPECT_FALSE(answer.last.all_loads) << "others see the counter";
}

TEST_F(LongWaitTest, What_only_the_thread_writes_is_at_rest) {
  ask(looks_under_lock, 1000);
  EXPECT_GT(answer.waits, 900);
  EXPECT_EQ(answer.rests, answer.waits);
  EXPECT_EQ(answer.not_at_rest, 0);
  EXPECT_EQ(lock_word, 0);
  EXPECT_FALSE(answer.last.all_loads);
}

TEST_F(LongWaitTest, Does_not_guess_which_value_is_rest) {
  ask(looks_inside);
  EXPECT_EQ(answer.waits, 0);
}

TEST_F(LongWaitTest, Rests_where_the_lock_is_not_had) {
  ask(gives_lock_back_for_a_while);
  EXPECT_GT(answer.waits, 190);
  EXPECT_EQ(answer.had_lock, 0);
  EXPECT_EQ(lock_word, 0);
}

TEST_F(LongWaitTest, Finds_who_backs_off) {
  ask(backs_off);
  EXPECT_GT(answer.waits, 190);
}

TEST_F(LongWaitTest, Finds_who_looks_at_the_clock_and_says_so) {
  ask(looks_at_the_clock);
  EXPECT_GT(answer.waits, 190);
  EXPECT_TRUE(answer.last.looks_at_clock);
}

TEST_F(LongWaitTest, Finds_who_adds_up_and_rounds_as_he_does) {
  ask(delays_by_adding);
  EXPECT_GT(answer.waits, 190);
  EXPECT_EQ(wrong_sums, 0);
}

TEST_F(LongWaitTest, Does_not_take_computations_for_waits) {
  for (bool rest : {true, false}) {
    asks_for_rest = rest;
    for (void (*loop)() : {recurses, fills, adds_up, searches_at_random, counts_to_the_end}) {
      ask(loop, 40);
      EXPECT_EQ(answer.waits, 0);
    }
  }
  asks_for_rest = true;
}

TEST_F(LongWaitTest, Finds_who_looks_many_times_where_nobody_asks_for_rest) {
  for (bool rest : {true, false}) {
    asks_for_rest = rest;
    for (void (*loop)() : {looks_many_times, looks_for_work}) {
      ask(loop);
      if (rest) {
        EXPECT_EQ(answer.waits, 0);
      } else {
        EXPECT_GT(answer.waits, 190);
        EXPECT_EQ(answer.bounded, answer.waits);
        EXPECT_FALSE(answer.last.all_loads);
      }
    }
    for (void (*loop)() : {looks_through_calls, looks_between_delays}) {
      ask(loop);
      EXPECT_GT(answer.waits, 190);
      EXPECT_EQ(answer.bounded, 0);
    }
  }
  ask(polls_for_a_time);
  EXPECT_GT(answer.waits, 190);
  EXPECT_EQ(answer.bounded, answer.waits);
  ask(looks_at_the_clock);
  EXPECT_EQ(answer.waits, 0) << "a delay";
  asks_for_rest = true;
}

}  // namespace
}  // namespace roost::spin

#endif
