// How a carrier changes between its strands, and where it finds calls to begin: what the parts of
// this layer share (strands.cc, calls.cc, siblings.cc, carrier.cc).
//
// All of it is for the carrier's own thread, but make_ready().
#pragma once

#include "ult/carrier.h"

namespace roost::ult {

// ---- Strands ------------------------------------------------------------------------------------

// By anyone: the strand goes on when its carrier comes to it. Once until it has gone on [signal-1].
void make_ready(Strand* strand);
// What was woken elsewhere, in the order of its waking, behind what is ready.
void collect_woken(Carrier& carrier);
// It is in no queue any more, and looks at what it waits for after this [signal-1].
inline void went_on(Strand& strand) { strand.signalled.exchange(false, std::memory_order_acq_rel); }
// The first of the ready ones, or null. [signal-2] One that has no call is passed over: who woke it
// took its record from the list first, and its wait and its call were over before the wake-up came.
Strand* pop_ready(Carrier& carrier);
// The next strand to go on, or null. It looks at what it waits for after this [signal-1].
Strand* next_ready(Carrier& carrier);
// Puts the running strand behind the ready ones.
void queue_self(Carrier& carrier);
// Goes on with the next ready strand, behind which the running one queues; false if there is none.
bool let_ready_run(Carrier& carrier);
// Goes on with another strand; returns when somebody goes on with the caller's.
void switch_to(Carrier& carrier, Strand* to);
// Shows Roost and the watch what the running strand is.
void show_running(Carrier& carrier);

// ---- Calls --------------------------------------------------------------------------------------

struct Call {
  Batch* batch = nullptr;
  unsigned number = 0;
};

// Takes the next call of the batch if it may be begun and the batch still is the one looked at.
bool take_of(Batch& batch, const Batch* under, Call& call);
// A call to begin: of this carrier's batches, or of another's. Looks at a few others at each try,
// going round.
bool find_call(Carrier& carrier, const Batch* under, Call& call);
// Whether this carrier has begun its share of the batch and leaves the rest to others, who take
// theirs as soon as they wait; for a while only, as they may have no core.
bool leaves_rest(Carrier& own, const Batch& batch, Nanoseconds at_most);
// Whether the next carrier in turn has a call to begin.
bool something_elsewhere(Carrier& carrier, const Batch* under);
// Whether anybody has a call to begin; looks at all, before a sleep.
bool any_call(const Batch* under);

// Begins the call on a stack of its own, which may then begin others `under`; returns when somebody
// goes on with the caller's strand.
void begin_on_fresh_strand(Carrier& carrier, const Call& call, const Batch* under);

// Nothing to do: polls, then sleeps until there may be something.
void idle(Carrier& carrier, const Batch* under, bool pieces, Patience& patience);

}  // namespace roost::ult
