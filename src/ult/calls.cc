// Calls that nobody has begun: whose they are, and which of them a carrier takes.
#include "ult/carriers.h"
#include "ult/kernel.h"
#include "ult/strands.h"

namespace roost::ult {
namespace {

bool take_from(Carrier& owner, const Batch* under, Call& call) {
  Batch* overdue = owner.overdue.load(std::memory_order_acquire);
  if (__builtin_expect(overdue != nullptr, 0) && take_of(*overdue, under, call)) return true;
  if (!owner.n_open.load(std::memory_order_relaxed)) return false;
  // The innermost first: it ends soonest, and who waits for it goes on.
  for (unsigned i = kOpenBatches; i-- > 0;) {
    Batch* batch = owner.open[i].load(std::memory_order_acquire);
    if (batch && take_of(*batch, under, call)) return true;
  }
  return false;
}

bool is_open(const Batch* batch, const Batch* under) {
  return batch && batch->tickets.left() && may_begin(under, *batch);
}

bool anything_open(const Carrier& owner, const Batch* under) {
  if (is_open(owner.overdue.load(std::memory_order_acquire), under)) return true;
  if (!owner.n_open.load(std::memory_order_relaxed)) return false;
  for (const std::atomic<Batch*>& slot : owner.open)
    if (is_open(slot.load(std::memory_order_acquire), under)) return true;
  return false;
}

}  // namespace

bool take_of(Batch& batch, const Batch* under, Call& call) {
  Tickets<RealWorld>::Word seen = batch.tickets.look();
  if (!Tickets<RealWorld>::left(seen) || !may_begin(under, batch)) return false;
  if (!batch.tickets.take_if(seen)) return false;
  call = {&batch, Tickets<RealWorld>::next(seen)};
  return true;
}

bool find_call(Carrier& carrier, const Batch* under, Call& call) {
  if (!under) return false;
  // What is waited for itself may have found no room to be shown.
  if (under != &kAnything && take_of(*const_cast<Batch*>(under), under, call)) return true;
  if (take_from(carrier, under, call)) return true;
  constexpr unsigned kVictims = 4;
  unsigned n = carriers_count();
  for (unsigned tries = 0; tries < kVictims && tries < n; ++tries) {
    carrier.victim = carrier.victim + 1 < n ? carrier.victim + 1 : 0;
    Carrier* other = carrier_at(carrier.victim);
    if (other != &carrier && take_from(*other, under, call)) return true;
  }
  return false;
}

bool something_elsewhere(Carrier& carrier, const Batch* under) {
  unsigned n = carriers_count();
  carrier.glance = carrier.glance + 1 < n ? carrier.glance + 1 : 0;
  return anything_open(*carrier_at(carrier.glance), under);
}

bool any_call(const Batch* under) {
  if (!under) return false;
  unsigned n = carriers_count();
  for (unsigned i = 0; i < n; ++i)
    if (anything_open(*carrier_at(i), under)) return true;
  return false;
}

bool leaves_rest(Carrier& own, const Batch& batch, Nanoseconds at_most) {
  unsigned share = batch.share.load(std::memory_order_relaxed);
  if (!share || !batch.tickets.left()) return false;
  if (own.live + 1 < share) {
    own.left_rest_ns = 0;
    return false;
  }
  Nanoseconds now = kernel::now();
  if (!own.left_rest_ns) own.left_rest_ns = now;
  return now - own.left_rest_ns < at_most;
}

bool has_other_work(Carrier& carrier, const Batch* under) {
  return has_ready(carrier) || (under && (under->tickets.left() || anything_open(carrier, under) ||
                                          something_elsewhere(carrier, under)));
}

}  // namespace roost::ult
