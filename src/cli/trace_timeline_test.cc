// What events mean, on rings made by hand.
#include "cli/trace_timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/trace_write.h"

namespace roost::cli {
namespace {

using trace::Event;
using trace::Kind;

constexpr int kPid = 100;

ThreadTrace thread(int tid, std::vector<Event> events) {
  return {kPid, tid, "prog", "default", std::move(events), 0};
}

Timeline timeline_of(std::vector<ThreadTrace> threads, bool alive = false) {
  return build_timeline({std::move(threads), 0}, 1000, [alive](int) { return alive; });
}

// "name begin-end" of the slices of a category, those that are cut with a "!".
std::vector<std::string> shown(const Timeline& timeline, const std::string& category) {
  std::vector<std::string> found;
  for (const TraceItem& item : timeline.items) {
    if (item.category != category || item.instant) continue;
    bool cut = std::any_of(item.arguments.begin(), item.arguments.end(),
                           [](const TraceArgument& one) { return std::string(one.name) == "cut"; });
    found.push_back(item.name + " " + std::to_string(item.begin) + "-" + std::to_string(item.end) +
                    (cut ? "!" : ""));
  }
  return found;
}

using Shown = std::vector<std::string>;

Event at(Nanoseconds time, Kind kind, CoreIndex core = kNoCore, std::uint64_t a = 0) {
  return {.time = time, .kind = kind, .core = core, .a = a};
}

Event openmp(Nanoseconds time, unsigned event, std::uint64_t a, std::uint64_t b,
             unsigned detail = 0, unsigned value = 0) {
  return {.time = time,
          .kind = static_cast<Kind>(static_cast<unsigned>(Kind::openmp) + event),
          .detail = static_cast<std::uint8_t>(detail),
          .value = value,
          .a = a,
          .b = b};
}
constexpr unsigned kImplicit = 7, kSchedule = 6, kSync = 23, kAcquire = 26, kAcquired = 27,
                   kReleased = 17;

TEST(TraceTimeline, ACoreGoesFromThreadToThread) {
  auto name = trace::packed("mutex");
  Timeline timeline = timeline_of(
      {thread(1, {at(10, Kind::attached),
                  at(20, Kind::running, 0),
                  {.time = 50, .kind = Kind::blocked, .core = 0, .a = name.a, .b = name.b},
                  at(51, Kind::granted, 0, 2),
                  at(90, Kind::running, 0),
                  at(99, Kind::ended, 0)}),
       thread(2, {at(30, Kind::attached), at(30, Kind::ready, 0, 2), at(60, Kind::running, 0),
                  at(70, Kind::ready, 0, 1), at(80, Kind::yielded, 0)})});
  EXPECT_EQ(shown(timeline, "thread"), (Shown{"prog 1 20-50", "prog 2 60-80", "prog 1 90-99"}));
  EXPECT_EQ(shown(timeline, "schedule"),
            (Shown{"ready 10-20", "core 0 20-50", "blocked in mutex 50-70", "ready 70-90",
                   "core 0 90-99", "ready 30-60", "core 0 60-80", "ready 80-99!"}));
}

TEST(TraceTimeline, AWakeUpBeforeTheWaitIsWrittenIsOne) {
  Timeline timeline = timeline_of({thread(1, {at(10, Kind::running, 0), at(30, Kind::blocked, 0),
                                              at(40, Kind::running, 1), at(50, Kind::ended, 1)}),
                                   thread(2, {at(20, Kind::ready, 0, 1)})});
  EXPECT_EQ(shown(timeline, "schedule"), (Shown{"core 0 10-30", "ready 30-40", "core 1 40-50"}));
}

TEST(TraceTimeline, TheKeeperTakesACore) {
  Timeline timeline =
      timeline_of({thread(1, {at(10, Kind::running, 0), at(90, Kind::ready, 0, 1),
                              at(95, Kind::running, 0), at(99, Kind::ended, 0)}),
                   thread(2, {at(60, Kind::running, 0), at(80, Kind::ended, 0)}),
                   thread(3, {at(50, Kind::shared, 0, 1), at(51, Kind::granted, 0, 2)})});
  EXPECT_EQ(shown(timeline, "thread"), (Shown{"prog 1 10-50", "prog 2 60-80", "prog 1 95-99"}));
}

TEST(TraceTimeline, WhatAKilledThreadHadEndsWhereItsCoreGoesOn) {
  std::vector<ThreadTrace> threads = {thread(1, {at(10, Kind::running, 0)}),
                                      thread(2, {at(40, Kind::running, 0), at(50, Kind::ended, 0)}),
                                      thread(3, {at(45, Kind::attached)})};
  EXPECT_EQ(shown(timeline_of(threads), "thread"), (Shown{"prog 1 10-40!", "prog 2 40-50"}));
  threads.erase(threads.begin() + 1);
  EXPECT_EQ(shown(timeline_of(threads), "thread"), (Shown{"prog 1 10-45!"}));
  EXPECT_EQ(shown(timeline_of(threads, true), "thread"), (Shown{"prog 1 10-1000!"}));
}

TEST(TraceTimeline, AnIdleCoreIsShown) {
  Timeline timeline = timeline_of(
      {thread(1, {at(10, Kind::running, 0), at(20, Kind::blocked, 0), at(21, Kind::idle, 0)}),
       thread(2, {at(40, Kind::granted, 0, 1)})});
  EXPECT_EQ(shown(timeline, "idle"), (Shown{"idle 21-40"}));
}

// Two members on one OS thread take turns.
TEST(TraceTimeline, MembersThatShareAThreadHaveTracksOfTheirOwn) {
  Timeline timeline = timeline_of(
      {thread(1, {at(5, Kind::running, 0),
                  openmp(10, kImplicit, 7, 11, 0, trace::implicit_value(trace::kBegins, 0, 2)),
                  openmp(15, kSync, 7, 11, 3, trace::kBegins),
                  openmp(20, kImplicit, 7, 12, 0, trace::implicit_value(trace::kBegins, 1, 2)),
                  openmp(25, kSync, 7, 12, 3, trace::kBegins), openmp(30, kSchedule, 12, 11, 7),
                  openmp(35, kSync, 7, 11, 3, trace::kEnds),
                  openmp(40, kImplicit, 0, 11, 0, trace::implicit_value(trace::kEnds, 0, 0)),
                  openmp(45, kSchedule, 11, 12, 7), openmp(50, kSync, 7, 12, 3, trace::kEnds),
                  openmp(55, kImplicit, 0, 12, 0, trace::implicit_value(trace::kEnds, 1, 0)),
                  at(60, Kind::ended, 0)})});
  EXPECT_EQ(shown(timeline, "openmp"), (Shown{"region 7, member 0 of 2 10-40", "barrier 15-35",
                                              "region 7, member 1 of 2 20-55", "barrier 25-50"}));
  EXPECT_EQ(shown(timeline, "member"),
            (Shown{"region 7, member 0 of 2 10-20", "region 7, member 1 of 2 20-30",
                   "region 7, member 0 of 2 30-40", "region 7, member 1 of 2 45-55"}));
}

TEST(TraceTimeline, ExplicitTasksLieWithinTheirMembers) {
  Timeline timeline = timeline_of(
      {thread(1, {openmp(10, kImplicit, 7, 11, 0, trace::implicit_value(trace::kBegins, 0, 1)),
                  openmp(20, kSchedule, 11, 13, 7), openmp(21, kAcquire, 0x100, 0, 5),
                  openmp(22, kAcquired, 0x100, 0, 5), openmp(25, kReleased, 0x100, 0, 5),
                  openmp(30, kSchedule, 13, 11, 1),
                  openmp(40, kImplicit, 0, 11, 0, trace::implicit_value(trace::kEnds, 0, 0))})});
  EXPECT_EQ(shown(timeline, "openmp"), (Shown{"region 7, member 0 of 1 10-40", "task 13 20-30",
                                              "takes critical 21-22", "has critical 22-25"}));
}

// The beginning was overwritten.
TEST(TraceTimeline, EndsWithoutABeginAreLeftOut) {
  Timeline timeline = timeline_of(
      {thread(1, {at(10, Kind::blocked, 0), openmp(11, kSync, 7, 11, 3, trace::kEnds),
                  openmp(12, kImplicit, 0, 11, 0, trace::implicit_value(trace::kEnds, 0, 0)),
                  openmp(13, kImplicit, 8, 14, 0, trace::implicit_value(trace::kBegins, 0, 2))})});
  EXPECT_EQ(shown(timeline, "thread"), Shown{});
  EXPECT_EQ(shown(timeline, "openmp"), (Shown{"region 8, member 0 of 2 13-13!"}));
}

TEST(TraceWrite, TheFileIsJsonWithTimesFromTheFirstEvent) {
  Timeline timeline = timeline_of(
      {thread(1, {at(5'000'000'001, Kind::running, 0), at(5'000'001'236, Kind::ended, 0)})});
  std::ostringstream out;
  write_trace(out, timeline, {"a \"command\"", 3, 0});
  EXPECT_EQ(out.str().rfind(kTraceBegins, 0), 0u);
  auto json = nlohmann::json::parse(out.str());
  EXPECT_EQ(json["otherData"]["command"], "a \"command\"");
  EXPECT_EQ(json["otherData"]["events overwritten"], 3);
  unsigned slices = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++slices;
    EXPECT_EQ(event["ts"], 0.0);
    EXPECT_EQ(event["dur"], 1.235);
  }
  EXPECT_EQ(slices, 2u);
}

}  // namespace
}  // namespace roost::cli
