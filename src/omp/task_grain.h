// Whether tasks are worth the way to another member.
//
// A task that is queued and taken by a thief moves some six cache lines between two cores, 0.05 to
// 0.5 us. A task whose body takes less than that is executed sooner by the member that creates it,
// in 0.03 us; but that member cannot know how long a body will take. Thieves can: they time the
// bodies of tasks they have stolen. If those were short, many times in a row, the thief tells the
// member it had them from, which then executes a number of new tasks at once, ever more of them as
// long as they stay short. The first that is seen not to ends this. What long tasks have cost
// others, who could have executed them meanwhile, is weighed against what short ones have saved;
// where it is more, it takes twice as much telling next time.
//
// To read the clock takes as long as half of such a task. So the member reads it once for some
// tasks in a row, which take less than one long task together, with all that it does between them.
// Where they take more, it reads it before and after each from then on.
//
// Programs have tasks that wait for each other, though nothing says that somebody else executes one
// of them. So it takes as many tasks as libgomp queues at most, created one after the other without
// a wait for any.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/ticks.h"
#include "base/types.h"

namespace roost::omp {

// kNow: ticks(), but for tests.
template <std::uint64_t (*kNow)()>
class TaskGrainBy {
 public:
  // By the member, where it waits for tasks, and before its first.
  void begin_row() { row_ = 0; }
  // By the member, of a team of so many, for each of its new tasks: whether to execute it at once.
  bool fine(std::uint32_t members) {
    if (row_ < kRowOfEach * members) {
      ++row_;
      left_of_group_ = 0;
      return false;
    }
    if (!left_) {
      std::uint32_t told = told_.load(std::memory_order_relaxed);
      if (told - heard_ < needed_) return false;
      left_ = count_;
      group_ = 1;
      careful_ = false;
    }
    timed_ = true;
    if (!left_of_group_) begin_group(kNow(), group_ == 1);
    return true;
  }
  // By the member, after it has executed a task at once, for whatever reason, and within no other.
  void executed() {
    if (__builtin_expect(!timed_, 1)) return;
    timed_ = false;
    if (--left_of_group_ == 0) judge(kNow());
  }
  // By thieves, of a member whose tasks were short many times in a row.
  void tell() { told_.fetch_add(1, std::memory_order_relaxed); }

 private:
  // `alone`: it is one task's body, and nothing between tasks.
  void begin_group(std::uint64_t now, bool alone) {
    began_ = now;
    alone_ = alone;
    left_of_group_ = group_;
  }

  void judge(std::uint64_t now) {
    std::uint64_t took = now - began_;
    if (took <= kLong) return all_short(now);
    if (alone_) return end_by_long(took);
    careful_ = true;
    group_ = 1;
  }
  void all_short(std::uint64_t now) {
    if (saved_ < kMostSaved) saved_ += kSaved * group_;
    if (left_ > group_) {
      left_ -= group_;
      if (careful_) return;
      if (group_ < kMostOfGroup) group_ *= 2;
      return begin_group(now, false);
    }
    left_ = 0;
    if (count_ < kMost) count_ *= 2;
    heard_ = told_.load(std::memory_order_relaxed);
  }
  void end_by_long(std::uint64_t body) {
    left_ = 0;
    saved_ -= static_cast<std::int64_t>(body);
    if (saved_ < 0) {
      saved_ = 0;
      count_ = kFirst;
      if (needed_ < kMostNeeded) needed_ *= 2;
    }
    heard_ = told_.load(std::memory_order_relaxed);
  }

  static constexpr std::uint32_t kRowOfEach = 64;                    // tasks
  static constexpr std::uint32_t kFirst = 256, kMost = 1 << 16;      // tasks
  static constexpr std::uint32_t kMostOfGroup = 4;                   // tasks
  static constexpr std::uint32_t kMostNeeded = 1 << 20;              // tellings
  static constexpr std::uint64_t kLong = 2000;                       // ticks: 0.4 to 2 us
  static constexpr std::int64_t kSaved = 500, kMostSaved = 1 << 26;  // ticks

  // The member's own.
  bool timed_ = false;               // it has begun to execute one
  bool alone_ = false;               // what began_ is the beginning of is one task's body
  bool careful_ = false;             // the clock is read before and after each
  std::uint32_t row_ = 0;            // tasks it has created since it last waited
  std::uint32_t left_ = 0;           // tasks still to be executed at once
  std::uint32_t group_ = 1;          // tasks between two looks at the clock
  std::uint32_t left_of_group_ = 0;  // 0: none is begun
  std::uint32_t count_ = kFirst;
  std::uint32_t heard_ = 0;  // of what it was told
  std::uint32_t needed_ = 1;
  std::int64_t saved_ = 0;
  std::uint64_t began_ = 0;  // the group
  // The thieves'; seldom written.
  alignas(kCoreStride) std::atomic<std::uint32_t> told_{0};
};

using TaskGrain = TaskGrainBy<ticks>;

// A thief's record of the tasks it has stolen.
class StolenTasks {
 public:
  // After the execution of a task of member `victim`, whose body took so many ticks. Whether to
  // tell that member that they are short.
  bool short_again(std::uint32_t victim, std::uint64_t body) {
    if (body > kShort || victim != victim_) {
      row_ = 0;
      victim_ = victim;
    }
    if (body > kShort || ++row_ < kRow) return false;
    row_ = 0;
    return true;
  }

 private:
  static constexpr unsigned kRow = 32;
  static constexpr std::uint64_t kShort =
      500;  // ticks, with what the thief has to fetch: 0.1 to 0.5 us
  std::uint32_t victim_ = 0;
  std::uint32_t row_ = 0;
};

}  // namespace roost::omp
