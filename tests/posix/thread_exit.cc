// pthread_exit and the ends of threads in C++: cleanup handlers, destructors of locals, of
// thread_locals and of keys run, once and in their order; exceptions stay what they are.
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include "child.h"
#include "expect.h"

namespace {

std::string events;  // one letter each, written by one thread at a time

struct Noted {
  char letter;
  ~Noted() { events += letter; }
};

void note(void* letter) { events += *static_cast<const char*>(letter); }

pthread_key_t key;

struct KeyOwner {
  KeyOwner() { pthread_key_create(&key, note); }
  ~KeyOwner() { pthread_key_delete(key); }
};

void* run(void* (*body)(void*), void* argument = nullptr) {
  pthread_t thread;
  void* result = nullptr;
  EXPECT_EQ(pthread_create(&thread, nullptr, body, argument), 0);
  EXPECT_EQ(pthread_join(thread, &result), 0);
  return result;
}

template <int depth>
[[gnu::noinline]] void exit_below(void* value) {
  Noted local{static_cast<char>('0' + depth)};
  if constexpr (depth == 0) {
    pthread_exit(value);
  } else {
    exit_below<depth - 1>(value);
  }
}

}  // namespace

CASE(exit_hands_over_the_value) {
  int object;
  EXPECT(run([](void* value) -> void* { pthread_exit(value); }, &object) == &object);
  EXPECT(run([](void*) -> void* { pthread_exit(nullptr); }) == nullptr);
}

CASE(exit_unwinds_every_frame) {
  for (int i = 0; i < 100; ++i) {
    events.clear();
    int object;
    void* result = run(
        [](void* value) -> void* {
          exit_below<3>(value);
          return nullptr;
        },
        &object);
    EXPECT(result == &object);
    EXPECT(events == "0123");
  }
}

CASE(cleanup_handlers_run_last_pushed_first) {
  events.clear();
  run([](void*) -> void* {
    pthread_cleanup_push(note, const_cast<char*>("a"));
    pthread_cleanup_push(note, const_cast<char*>("b"));
    pthread_cleanup_push(note, const_cast<char*>("c"));
    pthread_cleanup_pop(1);
    pthread_exit(nullptr);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return nullptr;
  });
  EXPECT(events == "cba");
}

CASE(popped_handlers_do_not_run) {
  events.clear();
  run([](void*) -> void* {
    pthread_cleanup_push(note, const_cast<char*>("a"));
    pthread_cleanup_pop(0);
    return nullptr;
  });
  EXPECT(events.empty());
}

CASE(locals_then_thread_locals_then_keys) {
  KeyOwner owner;
  for (int i = 0; i < 50; ++i) {
    for (bool by_exit : {false, true}) {
      events.clear();
      run(
          [](void* exits) -> void* {
            static thread_local Noted of_thread{'t'};
            (void)of_thread.letter;
            pthread_setspecific(key, "k");
            Noted local{'l'};
            pthread_cleanup_push(note, const_cast<char*>("h"));
            if (*static_cast<bool*>(exits)) pthread_exit(nullptr);
            pthread_cleanup_pop(1);
            return nullptr;
          },
          &by_exit);
      EXPECT(events == "hltk");
    }
  }
}

CASE(a_handler_may_end_a_thread_that_has_just_begun) {
  static int mark;
  struct sigaction action {};
  action.sa_handler = [](int) { pthread_exit(&mark); };
  EXPECT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  for (int i = 0; i < 1000; ++i) {
    pthread_t thread;
    void* result = nullptr;
    auto wait = [](void*) -> void* {
      for (;;) pause();
    };
    EXPECT_EQ(pthread_create(&thread, nullptr, wait, nullptr), 0);
    timespec moment{0, i % 300 * 1000};
    if (i % 2) nanosleep(&moment, nullptr);
    EXPECT_EQ(pthread_kill(thread, SIGUSR1), 0);
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT(result == &mark);
  }
  action.sa_handler = SIG_DFL;
  EXPECT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
}

CASE(keys_are_destroyed_after_an_exit) {
  events.clear();
  EXPECT_EQ(pthread_key_create(&key, note), 0);
  run([](void*) -> void* {
    pthread_setspecific(key, "k");
    pthread_exit(nullptr);
  });
  EXPECT(events == "k");
  EXPECT_EQ(pthread_key_delete(key), 0);
}

CASE(catch_all_sees_the_exit_and_passes_it_on) {
  events.clear();
  int object;
  void* result = run(
      [](void* value) -> void* {
        Noted local{'l'};
        try {
          pthread_exit(value);
        } catch (...) {
          events += 'c';
          throw;
        }
        return nullptr;
      },
      &object);
  EXPECT(result == &object);
  EXPECT(events == "cl");
}

CASE(exceptions_inside_a_thread_are_caught_there) {
  for (int i = 0; i < 50; ++i) {
    std::string what;
    std::thread([&] {
      try {
        throw std::runtime_error("inside");
      } catch (const std::exception& e) {
        what = e.what();
      }
    }).join();
    EXPECT(what == "inside");
  }
}

CASE(current_exception_is_none_in_a_new_thread) {
  // The exception state is thread-local: what a thread left in its catch block is not the next
  // one's.
  for (int i = 0; i < 20; ++i) {
    bool none = false;
    int uncaught = -1;
    std::thread([&] {
      none = std::current_exception() == nullptr;
      uncaught = std::uncaught_exceptions();
      try {
        throw 1;
      } catch (...) {
        pthread_exit(nullptr);
      }
    }).join();
    EXPECT(none);
    EXPECT_EQ(uncaught, 0);
  }
}

CASE(an_uncaught_exception_aborts_the_process) {
  EXPECT_EQ(outcome_in_child([] {
              close(2);
              std::thread([] { throw 1; }).join();
            }),
            -SIGABRT);
}

CASE(detached_std_threads_end_by_themselves) {
  int done = 0;
  for (int i = 0; i < 100; ++i) {
    std::thread([&done] { __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST); }).detach();
  }
  while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < 100) std::this_thread::yield();
}

CASE(a_handler_that_waits_for_another_thread) {
  // Cleanup may use every call, creating and joining threads included.
  events.clear();
  run([](void*) -> void* {
    pthread_cleanup_push([](void*) { run([](void*) -> void* { return events += 'n', nullptr; }); },
                         nullptr);
    pthread_exit(nullptr);
    pthread_cleanup_pop(0);
    return nullptr;
  });
  EXPECT(events == "n");
}
