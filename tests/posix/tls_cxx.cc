// C++ thread_local objects: constructed on first use in each thread, destroyed at its end, last
// constructed first, before a join returns; also those of a library loaded at run time.
#include <pthread.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "expect.h"
#include "library.h"

namespace {

std::atomic<int> constructed, destroyed;

struct Counted {
  int value = 17;
  std::vector<int> owned = std::vector<int>(100, 3);
  Counted() { ++constructed; }
  ~Counted() {
    EXPECT_EQ(owned.size(), 100);
    ++destroyed;
  }
};

thread_local Counted counted;
thread_local std::string name = "fresh";
thread_local std::unique_ptr<int> owner;

void use() {
  EXPECT_EQ(counted.value, 17);
  EXPECT(name == "fresh");
  EXPECT(!owner);
  counted.value = 18;
  name = "a string that is too long to be kept inside of the object itself";
  owner = std::make_unique<int>(5);
}

}  // namespace

CASE(constructed_and_destroyed_once_for_each_thread) {
  constructed = destroyed = 0;
  for (int i = 1; i <= 200; ++i) {
    std::thread(use).join();
    EXPECT_EQ(constructed, i);
    EXPECT_EQ(destroyed, i);
  }
}

CASE(not_constructed_where_not_used) {
  constructed = destroyed = 0;
  for (int i = 0; i < 20; ++i) std::thread([] {}).join();
  EXPECT_EQ(constructed, 0);
  EXPECT_EQ(destroyed, 0);
}

CASE(many_threads_at_once) {
  constructed = destroyed = 0;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 30; ++i) threads.emplace_back(use);
    for (auto& thread : threads) thread.join();
  }
  EXPECT_EQ(constructed, 150);
  EXPECT_EQ(destroyed, 150);
}

namespace {

std::string order;

struct Noted {
  char letter;
  ~Noted() { order += letter; }
};

}  // namespace

CASE(destroyed_in_reverse_order_of_construction) {
  for (int i = 0; i < 20; ++i) {
    order.clear();
    std::thread([] {
      thread_local Noted a{'a'};
      thread_local Noted b{'b'};
      thread_local Noted c{'c'};
      (void)a.letter, (void)b.letter, (void)c.letter;
    }).join();
    EXPECT(order == "cba");
  }
}

namespace {

struct UsesAnother {
  ~UsesAnother() {
    thread_local Noted late{'l'};
    (void)late.letter;
    order += 'u';
  }
};

}  // namespace

CASE(an_object_made_in_a_destructor_is_destroyed_too) {
  for (int i = 0; i < 20; ++i) {
    order.clear();
    std::thread([] {
      thread_local UsesAnother uses;
      (void)&uses;
    }).join();
    EXPECT(order == "ul");
  }
}

namespace {

struct StartsThread {
  ~StartsThread() {
    std::thread([] { order += 's'; }).join();
  }
};

}  // namespace

CASE(a_destructor_may_start_a_thread) {
  for (int i = 0; i < 20; ++i) {
    order.clear();
    std::thread([] {
      thread_local StartsThread starts;
      (void)&starts;
    }).join();
    EXPECT(order == "s");
  }
}

CASE(function_locals_are_initialised_in_each_thread) {
  for (int i = 0; i < 50; ++i) {
    int seen = 0;
    std::thread([&] {
      thread_local int number = i;
      seen = number;
      number = -1;
    }).join();
    EXPECT_EQ(seen, i);
  }
}

CASE(destroyed_when_the_thread_is_cancelled_or_exits) {
  constructed = destroyed = 0;
  for (int i = 1; i <= 40; ++i) {
    pthread_t thread;
    auto body = [](void* cancel) -> void* {
      use();
      if (!cancel) pthread_exit(nullptr);
      pthread_cancel(pthread_self());
      pthread_testcancel();
      return nullptr;
    };
    EXPECT_EQ(pthread_create(&thread, nullptr, body, i % 2 ? &constructed : nullptr), 0);
    EXPECT_EQ(pthread_join(thread, nullptr), 0);
    EXPECT_EQ(destroyed, i);
  }
}

CASE(objects_of_a_loaded_library) {
  void* library = open_library("tls_cxx");
  auto use_there = reinterpret_cast<int (*)()>(symbol_in(library, "counted_use"));
  auto made = reinterpret_cast<int (*)()>(symbol_in(library, "counted_constructed"));
  auto gone = reinterpret_cast<int (*)()>(symbol_in(library, "counted_destroyed"));
  for (int i = 1; i <= 30; ++i) {
    std::thread([&] {
      EXPECT_EQ(use_there(), 1);
      EXPECT_EQ(use_there(), 2);
    }).join();
    EXPECT_EQ(made(), i);
    EXPECT_EQ(gone(), i);
  }
  EXPECT_EQ(dlclose(library), 0);
}

CASE(a_library_stays_until_its_objects_are_destroyed) {
  // Closed while the thread that used it still lives.
  for (int i = 0; i < 10; ++i) {
    std::thread([] {
      void* library = open_library("tls_cxx");
      auto use_there = reinterpret_cast<int (*)()>(symbol_in(library, "counted_use"));
      EXPECT_EQ(use_there(), 1);
      EXPECT_EQ(dlclose(library), 0);
    }).join();
  }
}
