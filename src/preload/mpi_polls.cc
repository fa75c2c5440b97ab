// MPI's functions that ask whether something has come, and return at once: MPI_Test and its kin.
//
// Who calls them over and over waits, through code that no proof follows (locks, malloc), and the
// libraries yield in their blocking functions alone. So after some polls in vain, soon after each
// other, a READY thread gets the core. Ranks, and the members of a region, wait for each other
// so (DBCSR's masters, until the members beside them are done).
#include "base/callers_own.h"
#include "base/ticks.h"
#include "preload/light.h"
#include "preload/real.h"
#include "preload/yield.h"

namespace roost {
namespace {

// None of them has more arguments, which are integers and pointers, in whatever MPI.
using Poll = int(long, long, long, long, long, long);

class MpiPolls {
 public:
  void note(bool has_come) {
    constexpr unsigned kFew = 4;
    constexpr std::uint64_t kSoon = 50'000;  // ticks: 10 to 50 us
    std::uint64_t now = ticks();
    vain_ = !has_come && now - last_ < kSoon ? vain_ + 1 : 0;
    if (vain_ >= kFew) {
      if (!let_light_sibling_run()) let_ready_thread_run();
      now = ticks();
    }
    last_ = now;
  }

 private:
  unsigned vain_ = 0;
  std::uint64_t last_ = 0;
};
constinit thread_local MpiPolls polls __attribute__((tls_model("initial-exec")));

int number_at(long address) { return *reinterpret_cast<const int*>(address); }

}  // namespace

// `has_come`: whether something has, by the arguments a to f. A call that fails says nothing. Any
// thread that MPI allows.
#define ROOST_MPI_POLL(name, has_come)                                       \
  ROOST_EXPORT int name(long, long, long, long, long, long);                 \
  static constinit CallersOwn<Poll> own_##name{#name, name};                 \
  ROOST_LISTED static constinit Real<Poll> next_##name{#name};               \
  int name(long a, long b, long c, long d, long e, long f) {                 \
    auto* own = own_##name.of(__builtin_return_address(0));                  \
    int error = own ? own(a, b, c, d, e, f) : next_##name(a, b, c, d, e, f); \
    polls.note(error || (has_come));                                         \
    return error;                                                            \
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
