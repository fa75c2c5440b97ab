// Memory as a thread would leave it: what it would write is kept here, beside the memory itself.
//
// What is read is remembered, so that all of a proof sees memory as it was at about one time. Can
// tell whether what would be in memory now is what was to be there at an earlier time, and what
// depends on words that differ (spin/long_wait.h).
#pragma once

#include <cstddef>
#include <span>

#include "spin/memory.h"

namespace roost::spin {

// Copies what may not be there. Whether all of it was.
using ReadBytes = bool (*)(std::uint64_t address, void* to, std::size_t bytes);

class ShadowMemory final : public Memory {
 public:
  explicit ShadowMemory(ReadBytes read) : read_(read) {}

  bool read(std::uint64_t address, unsigned width, std::uint64_t& value) override;
  bool write(std::uint64_t address, unsigned width, std::uint64_t value,
             const std::uint64_t* was) override;
  // Whether it is the clock's, which only the kernel writes.
  static bool is_clock_data(std::uint64_t address);
  // Time stands still.
  bool time_stamp(TimeStamp& stamp) override;

  // Remembers what is in memory now.
  void mark();
  // The words that would differ from when that was. What is excused does not count.
  unsigned different() const { return different_; }
  // Whether the next instructions are watched, and whether one that was has changed a word which is
  // not excused, and which no read-modify-write has written that other cores see as one.
  void watch(bool on) { watches_ = on; }
  bool seen_change() const { return seen_change_; }
  // Remembers that those words are 0, as far as they are written, to which 0 has been written since
  // mark(); in others what the mark says.
  void prefer_zero();
  // Forgets what was written: memory is as it was at first. The mark stays, and steps are counted
  // anew.
  void restore();
  // The instructions executed since restore() are `steps`.
  void count_steps(std::int32_t steps) {
    now_ = steps;
    stale_since_ = steps;
  }
  // From which step on, if less than the last one, the thread may have had in a register what that
  // one has written: the words that it wrote were accessed before then.
  std::int32_t stale_since() const { return stale_since_; }
  // Whether any of it was written since the beginning.
  bool was_written(std::uint64_t address, unsigned width) const;
  // From now on the words do not count of which `excuses(address, locked)` says so. `locked`: some
  // read-modify-write has written it that other cores see as one. The number of other words.
  template <class Excuse>
  unsigned excuse(Excuse excuses) {
    unsigned others = 0;
    for (Word& word : used()) {
      bool is_excused = excuses(word.address, word.locked);
      if (is_excused) word.excused = ~0ull;
      others += !is_excused;
    }
    count_different();
    return others;
  }
  // The same of some bytes, up to 8.
  void excuse_bytes(std::uint64_t address, unsigned width);

  // The bytes that differ, and those marked by set_depends() if `more`, are counters from now on,
  // and marked so. The number of words that have some.
  unsigned take_for_counters(bool more);
  // What is written there depends on counters, or not. Of up to 16 bytes, as below.
  void set_depends(std::uint64_t address, unsigned width, bool depends);
  bool depends(std::uint64_t address, unsigned width) const;
  // Whether nothing else differs.
  bool only_counters_differ() const;
  // Whether nothing else depends on them.
  bool only_counters_depend() const;
  void excuse_counters();
  bool has_counters() const;

 private:
  static constexpr unsigned kTable = 256, kMaxWords = 160;
  static constexpr unsigned kLine = 64, kLines = 32;
  struct Word {
    std::uint64_t address;  // a multiple of 8
    std::uint64_t first, value, marked;
    std::uint64_t written, excused, counters, depends;  // bits
    std::int32_t last_access;                           // the step; -1: not since restore()
    bool locked, was_zero;

    bool differs() const { return ((value ^ marked) & ~excused) != 0; }
  };
  struct Line {
    std::uint64_t address;
    std::uint8_t bytes[kLine];
  };

  std::span<Word> used() { return {words_, n_words_}; }
  std::span<const Word> used() const { return {words_, n_words_}; }
  // Where in the table it is, or would be.
  std::size_t slot_of(std::uint64_t address) const;
  // Null if it was not written.
  Word* find(std::uint64_t address);
  const Word* find(std::uint64_t address) const;
  Word* add(std::uint64_t address, std::uint64_t first);
  // What is in memory itself.
  bool read_real(std::uint64_t address, std::uint64_t& value);
  bool write_word(std::uint64_t address, std::uint64_t bits, std::uint64_t value, bool locked);
  void count_different();

  ReadBytes read_;
  Word words_[kMaxWords];
  std::uint8_t table_[kTable] = {};  // hashed; numbers of words, from 1
  unsigned n_words_ = 0, different_ = 0;
  Line lines_[kLines] = {};
  TimeStamp stamp_{};
  std::int32_t now_ = 0, stale_since_ = 0;
  bool watches_ = false, seen_change_ = false;
};

}  // namespace roost::spin
