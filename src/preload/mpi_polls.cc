// MPI's functions that ask whether something has come, and return at once: MPI_Test and its kin.
//
// Who calls them over and over waits, through code that no proof follows (locks, malloc), and the
// libraries yield in their blocking functions alone. So after some polls in vain, soon after each
// other, a READY thread gets the core. Ranks, and the members of a region, wait for each other
// so (DBCSR's masters, until the members beside them are done).
#include "base/callers_own.h"
#include "base/ticks.h"
#include "preload/real.h"
#include "preload/yield.h"
#include "sched/self.h"

namespace roost {
namespace {

// None of them has more arguments, which are integers and pointers, in whatever MPI.
using Poll = int(long, long, long, long, long, long);

class MpiPolls {
 public:
  // After a poll. Whether that was vain, as some before it, soon after each other.
  bool waits(bool has_come) {
    constexpr unsigned kFew = 4;
    constexpr std::uint64_t kSoon = 50'000;  // ticks: 10 to 50 us
    std::uint64_t now = ticks();
    vain_ = !has_come && now - last_ < kSoon ? vain_ + 1 : 0;
    last_ = now;
    return vain_ >= kFew;
  }
  void gave_way() { last_ = ticks(); }
  void found() { vain_ = 0; }

 private:
  unsigned vain_ = 0;
  std::uint64_t last_ = 0;
};
constinit thread_local MpiPolls polls __attribute__((tls_model("initial-exec")));

// MPI_ERR_OTHER, to who calls what is there without MPI because Roost defines it.
constexpr int kNoMpi = 16;

int number_at(long address) { return *reinterpret_cast<const int*>(address); }

// `poll()` returns MPI's error, `has_come()` tells whether something has; a call that fails says
// nothing. Open MPI looks at the requests, then for messages, and yields, but not at the requests
// again: so a poll in vain is made once more, unless others have had the core during the first.
template <class Call, class HasCome>
int poll_and_let_run(const Call& poll, const HasCome& has_come) {
  std::uint16_t handed_off = self.hand_offs;
  int error = poll();
  if (!polls.waits(error || has_come()) || self.hand_offs != handed_off) return error;
  error = poll();
  if (error || has_come()) {
    polls.found();
  } else {
    let_others_run();
    polls.gave_way();
  }
  return error;
}

}  // namespace

// `has_come`: by the arguments a to f. Any thread that MPI allows.
#define ROOST_MPI_POLL(name, has_come)                                                        \
  ROOST_EXPORT int name(long, long, long, long, long, long);                                  \
  static constinit CallersOwn<Poll> own_##name{#name, name};                                  \
  ROOST_LISTED_APART static constinit Real<Poll> next_##name{#name};                          \
  int name(long a, long b, long c, long d, long e, long f) {                                  \
    auto* own = own_##name.of(__builtin_return_address(0));                                   \
    if (!own) own = next_##name.find();                                                       \
    if (!own) return kNoMpi;                                                                  \
    return poll_and_let_run([=] { return own(a, b, c, d, e, f); }, [=] { return has_come; }); \
  }
// Fortran's functions call those that begin with P.
#define ROOST_MPI_POLLS(name, has_come) \
  ROOST_MPI_POLL(name, has_come) ROOST_MPI_POLL(P##name, has_come)

// (request, flag, status)
ROOST_MPI_POLLS(MPI_Test, number_at(b) != 0)
ROOST_MPI_POLLS(MPI_Request_get_status, number_at(b) != 0)
// (count, requests, index, flag, status): the index is negative if there is nothing to wait for.
ROOST_MPI_POLLS(MPI_Testany, number_at(d) != 0 && number_at(c) >= 0)
// (count, requests, flag, statuses)
ROOST_MPI_POLLS(MPI_Testall, number_at(c) != 0)
// (count, requests, number of those that came, indices, statuses)
ROOST_MPI_POLLS(MPI_Testsome, number_at(c) > 0)
// (source, tag, communicator, flag, status), and (source, tag, communicator, flag, message, status)
ROOST_MPI_POLLS(MPI_Iprobe, number_at(d) != 0)
ROOST_MPI_POLLS(MPI_Improbe, number_at(d) != 0)

}  // namespace roost
