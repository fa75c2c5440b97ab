// What a strand does for its siblings while it waits in a call that is not this library's: in a
// loop of the program, or in libc.
#include "base/ticks.h"
#include "ult/overflow.h"
#include "ult/spinners.h"
#include "ult/strands.h"

namespace roost::ult {
namespace {

// Begins what find() has for the batches around the running strand, the innermost first, and comes
// back when somebody goes on with the strand. False if there is nothing.
template <class Find>
bool begin_around(Carrier& own, Find&& find) {
  for (const Batch* batch = own.current->inside; batch;
       batch = batch->parent.load(std::memory_order_relaxed)) {
    Call call;
    if (!find(batch, call)) continue;
    queue_self(own);
    begin_on_fresh_strand(own, call, batch);
    return true;
  }
  return false;
}

bool begin_call_around(Carrier& own) {
  return begin_around(
      own, [&own](const Batch* batch, Call& call) { return find_call(own, batch, call); });
}

// Only by who looks again soon: one that sleeps may wait for a call that nobody else can begin.
bool begin_share_around(Carrier& own) {
  constexpr Nanoseconds kAWhile = 100'000;
  return begin_around(own, [&own](const Batch* batch, Call& call) {
    return !leaves_rest(own, *batch, kAWhile) && find_call(own, batch, call);
  });
}

// Pieces of their other work, in the name of a call that is over: those who made the calls may all
// have left before there were any.
bool begin_pieces_around(Carrier& own) {
  return begin_around(own, [](const Batch* batch, Call& call) {
    if (!batch->pieces.load(std::memory_order_relaxed)) return false;
    std::uint32_t number = batch->free_helper.exchange(0, std::memory_order_acq_rel);
    if (!number) return false;
    call = {const_cast<Batch*>(batch), (number - 1) | kHelps};
    return true;
  });
}

// Whether what the running strand spins for is about to come from another core. To let a sibling
// run would take longer: it goes on with its own work for as long as it likes.
bool waits_for_moment(Carrier& own) {
  constexpr std::uint64_t kMoment = 200'000, kGap = 20'000;  // ticks: 40 to 200 us, and a tenth
  const Batch* inside = own.current->inside;
  if (!inside || !inside->apart.load(std::memory_order_relaxed)) return false;
  std::uint64_t now = ticks();
  if (own.apart != own.current || now - own.apart_to > kGap) own.apart_from = now;
  own.apart = own.current;
  own.apart_to = now;
  if (now - own.apart_from > kMoment) return false;
  cpu_pause();
  return true;
}

int yields(Carrier& own) {
  // Calls first: strands that spin are ready all the time.
  return begin_call_around(own) || let_ready_run(own) || begin_pieces_around(own);
}

int spins(Carrier& own) {
  if (waits_for_moment(own)) return 1;
  const Batch* inside = own.current->inside;
  if (inside) inside->spins.store(true, std::memory_order_relaxed);
  return begin_share_around(own) || let_ready_run(own) || begin_pieces_around(own);
}

// The next strand to go on that is not known to wait still, or null. What is woken elsewhere
// meanwhile is found after the sleep is announced.
Strand* next_that_may_go_on(Carrier& own) {
  collect_woken(own);
  StrandQueue waiting;
  Strand* found = nullptr;
  while (Strand* strand = pop_ready(own)) {
    if (strand == own.current) {  // woken for a wait around this one
      went_on(*strand);
    } else if (strand->blocked && strand->looked == own.progress) {
      waiting.push(strand);
    } else {
      went_on(*strand);
      found = strand;
      break;
    }
  }
  while (Strand* strand = waiting.pop()) own.ready.push(strand);
  return found;
}

// [block-1] 0: nothing else can go on; the thread may sleep, and who makes a strand of this carrier
// ready ends that.
int blocks(Carrier& own, bool has_looked) {
  Strand* self = own.current;
  if (!has_looked) {
    end_sleep(own);
    ++own.progress;
  }
  self->blocked = true;
  self->looked = own.progress;
  for (;;) {
    if (begin_call_around(own)) return 1;
    if (Strand* other = next_that_may_go_on(own)) {
      queue_self(own);
      switch_to(own, other);
      return 1;
    }
    if (begin_pieces_around(own)) return 1;
    own.sleeper.thread.store(host::own_thread(), std::memory_order_relaxed);
    announce_sleep(own);  // [sleep-1]
    if (!own.woken.load(std::memory_order_seq_cst)) return 0;
    end_sleep(own);
  }
}

void goes_on(Carrier& own) {
  end_sleep(own);
  own.current->blocked = false;
  ++own.progress;
}

}  // namespace

int light_event(int event) {
  Carrier* own = here.carrier;
  if (event == ROOST_LIGHT_THREAD_SPINS) {
    note_spinner(own);
    return 0;
  }
  if (!own || on_alternate_stack(*own)) return 0;
  switch (event) {
    case ROOST_LIGHT_SPINS:
      return spins(*own);
    case ROOST_LIGHT_BLOCKS:
      return blocks(*own, false);
    case ROOST_LIGHT_LOOKED:
      return blocks(*own, true);
    case ROOST_LIGHT_YIELDS:
      return yields(*own);
    case ROOST_LIGHT_GOES_ON:
      goes_on(*own);
      return 0;
    default:
      return 0;
  }
}

}  // namespace roost::ult
