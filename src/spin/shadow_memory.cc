// A table of words that were written, before a cache of what was read.
#include "spin/shadow_memory.h"

#include <string.h>
#include <sys/auxv.h>

namespace roost::spin {
namespace {

// What of an access lies in one word: the bits, and how far they are to be shifted.
struct Part {
  std::uint64_t word, bits;
  int shift;  // to the left, into the word
};

// The one or two words of an access of up to 8 bytes. Their number.
unsigned parts_of(std::uint64_t address, unsigned width, Part (&parts)[2]) {
  std::uint64_t mask = low_bytes(width);
  std::uint64_t word = address & ~7ull;
  auto shift = static_cast<int>(address & 7) * 8;
  parts[0] = {word, mask << shift, shift};
  if ((address & 7) + width <= 8) return 1;
  parts[1] = {word + 8, mask >> (64 - shift), shift - 64};
  return 2;
}

std::uint64_t whole_bytes(std::uint64_t bits) {
  std::uint64_t bytes = 0;
  for (unsigned shift = 0; shift < 64; shift += 8)
    if (bits >> shift & 0xff) bytes |= 0xffull << shift;
  return bytes;
}

std::uint64_t shifted(std::uint64_t value, int by) { return by >= 0 ? value << by : value >> -by; }

}  // namespace

// What the kernel keeps for clock_gettime lies before its code for that: no system call can read
// it.
bool ShadowMemory::is_clock_data(std::uint64_t address) {
  constexpr std::uint64_t kMost = 8 * 4096;
  std::uint64_t code = getauxval(AT_SYSINFO_EHDR);
  return address < code && address >= code - kMost;
}

std::size_t ShadowMemory::slot_of(std::uint64_t address) const {
  std::size_t at = (address >> 3) * 0x9e3779b97f4a7c15 >> 56;
  static_assert(kTable == 256);
  while (table_[at] && words_[table_[at] - 1].address != address) at = (at + 1) % kTable;
  return at;
}

const ShadowMemory::Word* ShadowMemory::find(std::uint64_t address) const {
  std::uint8_t number = table_[slot_of(address)];
  return number ? &words_[number - 1] : nullptr;
}

ShadowMemory::Word* ShadowMemory::add(std::uint64_t address, std::uint64_t first) {
  Word* word = &words_[n_words_++];
  table_[slot_of(address)] = static_cast<std::uint8_t>(n_words_);
  *word = {address, first, first, first, 0, 0, 0, 0, -1, false, false};
  return word;
}

ShadowMemory::Word* ShadowMemory::find(std::uint64_t address) {
  return const_cast<Word*>(static_cast<const ShadowMemory*>(this)->find(address));
}

bool ShadowMemory::read_real(std::uint64_t address, std::uint64_t& value) {
  std::uint64_t start = address & ~std::uint64_t{kLine - 1};
  Line& line = lines_[start / kLine % kLines];
  if (line.address != start) {
    line.address = 0;
    if (start == 0) return false;
    if (is_clock_data(start)) {
      memcpy(line.bytes, reinterpret_cast<const void*>(start), kLine);  // as the thread will
    } else if (!read_(start, line.bytes, kLine)) {
      return false;
    }
    line.address = start;
  }
  memcpy(&value, line.bytes + (address - start), sizeof value);
  return true;
}

bool ShadowMemory::write_word(std::uint64_t address, std::uint64_t bits, std::uint64_t value,
                              bool locked) {
  Word* word = find(address);
  if (!word) {
    std::uint64_t first;
    if (n_words_ == kMaxWords || !read_real(address, first)) return false;
    word = add(address, first);
  }
  if (word->excused != ~0ull && word->last_access < stale_since_) stale_since_ = word->last_access;
  word->last_access = now_;
  bool differed = word->differs();
  std::uint64_t before = word->value;
  word->value = (before & ~bits) | (value & bits);
  word->written |= bits;
  word->locked |= locked;
  bool changes = (before ^ word->value) & ~word->excused;
  seen_change_ |= watches_ && changes && !word->locked;
  word->was_zero |= (word->value & word->written) == 0;
  different_ += unsigned{word->differs()} - unsigned{differed};
  return true;
}

bool ShadowMemory::read(std::uint64_t address, unsigned width, std::uint64_t& value) {
  Part parts[2];
  value = 0;
  for (unsigned i = 0, n = parts_of(address, width, parts); i < n; ++i) {
    std::uint64_t word;
    if (Word* written = find(parts[i].word)) {
      written->last_access = now_;
      word = written->value;
    } else if (!read_real(parts[i].word, word)) {
      return false;
    }
    value |= shifted(word & parts[i].bits, -parts[i].shift);
  }
  return true;
}

bool ShadowMemory::write(std::uint64_t address, unsigned width, std::uint64_t value,
                         const std::uint64_t* was) {
  Part parts[2];
  for (unsigned i = 0, n = parts_of(address, width, parts); i < n; ++i) {
    std::uint64_t in_place = shifted(value, parts[i].shift);
    if (!write_word(parts[i].word, parts[i].bits, in_place, was)) return false;
  }
  return true;
}

bool ShadowMemory::time_stamp(TimeStamp& stamp) {
  if (stamp_.ticks == 0 && !read_time_stamp(stamp_)) return false;
  stamp = stamp_;
  return true;
}

void ShadowMemory::mark() {
  for (Word& word : used()) {
    word.marked = word.value;
    word.was_zero = false;
  }
  different_ = 0;
}

void ShadowMemory::prefer_zero() {
  for (Word& word : used())
    if (word.was_zero) word.marked &= ~word.written;
  count_different();
}

void ShadowMemory::restore() {
  for (Word& word : used()) {
    word.value = word.first;
    word.last_access = -1;
  }
  count_steps(0);
  count_different();
}

void ShadowMemory::count_different() {
  different_ = 0;
  for (const Word& word : used()) different_ += word.differs();
}

bool ShadowMemory::was_written(std::uint64_t address, unsigned width) const {
  for (std::uint64_t word = address & ~7ull; word < address + width; word += 8)
    if (find(word)) return true;
  return false;
}

void ShadowMemory::excuse_bytes(std::uint64_t address, unsigned width) {
  Part parts[2];
  for (unsigned i = 0, n = parts_of(address, width, parts); i < n; ++i)
    if (Word* word = find(parts[i].word)) word->excused |= parts[i].bits;
  count_different();
}

unsigned ShadowMemory::take_for_counters(bool more) {
  unsigned count = 0;
  for (Word& word : used()) {
    std::uint64_t before = more ? word.counters | word.depends : 0;
    word.counters = before | whole_bytes((word.value ^ word.marked) & ~word.excused);
    word.depends = word.counters;
    count += word.counters != 0;
  }
  return count;
}

void ShadowMemory::set_depends(std::uint64_t address, unsigned width, bool depends) {
  if (width > 8) {
    set_depends(address + 8, width - 8, depends);
    width = 8;
  }
  Part parts[2];
  for (unsigned i = 0, n = parts_of(address, width, parts); i < n; ++i) {
    Word* word = find(parts[i].word);
    if (!word) continue;
    word->depends = depends ? word->depends | parts[i].bits : word->depends & ~parts[i].bits;
  }
}

bool ShadowMemory::depends(std::uint64_t address, unsigned width) const {
  if (width > 8) return depends(address, 8) || depends(address + 8, width - 8);
  Part parts[2];
  for (unsigned i = 0, n = parts_of(address, width, parts); i < n; ++i)
    if (const Word* word = find(parts[i].word); word && (word->depends & parts[i].bits))
      return true;
  return false;
}

bool ShadowMemory::only_counters_differ() const {
  for (const Word& word : used())
    if ((word.value ^ word.marked) & ~word.excused & ~word.counters) return false;
  return true;
}

bool ShadowMemory::only_counters_depend() const {
  for (const Word& word : used())
    if (word.depends & ~word.counters) return false;
  return true;
}

bool ShadowMemory::has_counters() const {
  for (const Word& word : used())
    if (word.counters) return true;
  return false;
}

void ShadowMemory::excuse_counters() {
  for (Word& word : used()) word.excused |= word.counters;
  count_different();
}

}  // namespace roost::spin
