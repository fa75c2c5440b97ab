// Model of the ring of a thread's events: one that writes and overwrites, one that reads meanwhile.
#include "check.h"
#include "trace/ring.h"

namespace roost::model {
namespace {

using namespace trace;

// Two slots and three events: the third lands on the first one's.
struct ReaderBesideWriter : rl::test_suite<ReaderBesideWriter, 2> {
  static constexpr std::uint64_t kSize = 2, kEvents = 3;
  RingCursor<World> cursor;
  Slot<World> slots[kSize];
  Ring<World> ring{&cursor, slots, kSize};

  static std::uint64_t word(std::uint64_t number, unsigned i) { return 10 * (number + 1) + i; }

  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint64_t n = 0; n < kEvents; ++n)
        ring.write({{word(n, 0), word(n, 1), word(n, 2), word(n, 3)}});
      return;
    }
    for (std::uint64_t n = 0; n < kEvents; ++n) {
      EventWords words;
      if (!ring.read(n, words)) continue;
      for (unsigned i = 0; i < 4; ++i) RL_ASSERT(words.word[i] == word(n, i));
    }
  }
};

}  // namespace
}  // namespace roost::model

int main() {
  using namespace roost::model;
  Check check;
  check.holds<ReaderBesideWriter>("a reader beside the writer:", 300000);
  // [ring-1] and [ring-2], release and acquire.
  for (const char* function : {"write", "read"}) {
    check.fails_without<ReaderBesideWriter>({Take::orderings, "trace/ring.h", function},
                                            rl::test_result_user_assert_failed, 300000);
  }
  return check.result();
}
