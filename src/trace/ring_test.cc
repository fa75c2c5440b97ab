// The ring alone: order, overwriting, and readers beside the writer.
#include "trace/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace roost::trace {
namespace {

struct SmallRing {
  static constexpr std::uint64_t kSize = 8;
  RingCursor<RealWorld> cursor;
  std::vector<Slot<RealWorld>> slots{kSize};
  Ring<RealWorld> ring{&cursor, slots.data(), kSize};
};

// All words of an event that say which one it is.
EventWords numbered(std::uint64_t number) { return {{number, number * 3, number * 5, number * 7}}; }
bool is_numbered(const EventWords& words, std::uint64_t number) {
  EventWords wanted = numbered(number);
  return std::equal(words.word, words.word + 4, wanted.word);
}

TEST(TraceRing, AnEventComesBackAsItWas) {
  SmallRing small;
  Event event{123, Kind::running, 200, 17, 0xfedcba98, 1ull << 63, 42};
  small.ring.write(words_of(event));
  EventWords words;
  ASSERT_TRUE(small.ring.read(0, words));
  Event read = event_of(words);
  EXPECT_EQ(read.time, 123u);
  EXPECT_EQ(read.kind, Kind::running);
  EXPECT_EQ(read.detail, 200);
  EXPECT_EQ(read.core, 17);
  EXPECT_EQ(read.value, 0xfedcba98);
  EXPECT_EQ(read.a, 1ull << 63);
  EXPECT_EQ(read.b, 42u);
}

TEST(TraceRing, NothingIsReadThatWasNotWritten) {
  SmallRing small;
  EventWords words;
  EXPECT_EQ(small.ring.written(), 0u);
  EXPECT_FALSE(small.ring.read(0, words));
  small.ring.write(numbered(1));
  EXPECT_FALSE(small.ring.read(1, words));
}

TEST(TraceRing, TheOldestAreOverwrittenAndCounted) {
  SmallRing small;
  for (std::uint64_t i = 0; i < 21; ++i) small.ring.write(numbered(i));
  EXPECT_EQ(small.ring.written(), 21u);
  EventWords words;
  for (std::uint64_t i = 0; i < 21; ++i) {
    bool kept = i + SmallRing::kSize >= 21;
    ASSERT_EQ(small.ring.read(i, words), kept) << i;
    if (kept) {
      EXPECT_TRUE(is_numbered(words, i));
    }
  }
}

// As one that was killed there, or that a signal handler interrupted, leaves it.
TEST(TraceRing, AnUnfinishedEventIsNotRead) {
  SmallRing small;
  small.ring.write(numbered(0));
  small.cursor.next.fetch_add(1, std::memory_order_relaxed);
  small.ring.write(numbered(2));
  EventWords words;
  EXPECT_TRUE(small.ring.read(0, words));
  EXPECT_FALSE(small.ring.read(1, words));
  ASSERT_TRUE(small.ring.read(2, words));
  EXPECT_TRUE(is_numbered(words, 2));
}

TEST(TraceRing, AReaderBesideTheWriterSeesWholeEvents) {
  SmallRing small;
  constexpr std::uint64_t kEvents = 200'000;
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < kEvents; ++i) small.ring.write(numbered(i));
  });
  for (std::uint64_t written = 0; written < kEvents;) {
    written = small.ring.written();
    std::uint64_t first = written > SmallRing::kSize ? written - SmallRing::kSize : 0;
    for (std::uint64_t i = first; i < written; ++i) {
      EventWords words;
      if (small.ring.read(i, words)) {
        ASSERT_TRUE(is_numbered(words, i)) << i;
      }
    }
  }
  writer.join();
}

TEST(TraceEvent, NamesArePackedIntoTwoWords) {
  Name name = packed("pthread_cond_timedwait");
  char text[17] = {};
  for (unsigned i = 0; i < 16; ++i)
    text[i] = static_cast<char>((i < 8 ? name.a : name.b) >> (8 * (i % 8)));
  EXPECT_STREQ(text, "pthread_cond_tim");
  EXPECT_EQ(packed(nullptr).a, 0u);
}

}  // namespace
}  // namespace roost::trace
