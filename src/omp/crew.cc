// A crew is a batch to which calls are added while it runs.
#include "omp/crew.h"

#include <algorithm>

#include "omp/export.h"
#include "omp/icv.h"
#include "omp/send.h"
#include "ult/carrier.h"
#include "ult/memory.h"
#include "ult/sanitizer.h"
#include "ult/spin_lock.h"
#include "ult/watch.h"

namespace roost::omp {
namespace {

struct Hand {
  void* (*function)(void*);
  void* argument;
  void* result;
  unsigned worker;  // it was sent to, or Courier::kNobody
  std::atomic<bool> done;
};

constexpr unsigned kMostHands = 256;

struct Crew : ult::Batch {
  Hand hands[kMostHands];
  ult::WaitList done;  // the owner, for a hand

  // Of the owner alone.
  const ult::Strand* owner = nullptr;
  const ult::Carrier* carrier = nullptr;
  Crew* next = nullptr;  // among those the OS thread has begun, or the spare ones
  unsigned size = 0;
  unsigned joined = 0;
  bool counted = false;  // its carrier, by this crew
  Courier courier;
  unsigned sent = 0;                       // to workers, from the first on
  const ult::Batch* was_inside = nullptr;  // of the owner, before

  // Some hands found no worker, and the rest are tickets.
  bool is_light() const { return !apart.load(std::memory_order_relaxed); }
};

constinit thread_local Crew* begun __attribute__((tls_model("initial-exec"))) = nullptr;
constinit Crew* spare = nullptr;
constinit ult::LockOverForks spare_lock;
// OS threads that run hands of others' crews, from the first crew on, and how many hands this one
// does.
constinit std::atomic<int> helpers{-1};
constinit thread_local unsigned helps __attribute__((tls_model("initial-exec"))) = 0;

// Hands were found to wait for each other by spinning: who waits begins the next, and none are
// shown to others.
constinit std::atomic<bool> hands_spin{false};

void run_hand(ult::Batch* batch, unsigned number) {
  auto& crew = static_cast<Crew&>(*batch);
  Hand& hand = crew.hands[number];
  void* local = ult::here.local;
  ult::here.local = nullptr;
  const ult::Batch* inside = ult::set_inside(&crew);
  bool elsewhere = ult::here.carrier != crew.carrier;
  if (elsewhere && helps++ == 0) helpers.fetch_add(1, std::memory_order_relaxed);
  ult::happens_after(&hand);
  hand.result = hand.function(hand.argument);
  ult::happens_before(&hand);
  if (elsewhere && --helps == 0) helpers.fetch_sub(1, std::memory_order_relaxed);
  ult::set_inside(inside);
  ult::here.local = local;
  hand.done.store(true, std::memory_order_release);  // [crew-1]
  crew.done.wake_all();
}

Crew* take_crew() {
  {
    ult::GuardOverForks guard(spare_lock);
    if (Crew* crew = spare) {
      spare = crew->next;
      return crew;
    }
  }
  auto* crew = ult::permanent_array<Crew>(1);
  if (crew) {
    new (crew) Crew;
    crew->run = run_hand;
  }
  return crew;
}

Crew* find_crew(const ult::Strand* owner) {
  for (Crew* crew = begun; crew; crew = crew->next)
    if (crew->owner == owner) return crew;
  return nullptr;
}

Crew* begin_crew(ult::Carrier& own) {
  settings();  // as far as they are carriers', and what is done around a fork
  ult::host::pass_point(own.current->inside == nullptr);
  Crew* crew = take_crew();
  if (!crew) return nullptr;
  crew->owner = own.current;
  crew->carrier = &own;
  int none = -1;
  helpers.compare_exchange_strong(none, 0, std::memory_order_relaxed);
  crew->size = crew->joined = 0;
  crew->counted = !own.counted;
  ult::count_in(own);
  crew->courier = Courier(crowded() ? 0 : ult::host::cores() - 1);
  crew->sent = 0;
  crew->apart.store(true, std::memory_order_relaxed);
  crew->forget_waits();
  crew->was_inside = own.current->inside;
  crew->parent.store(crew->was_inside, std::memory_order_relaxed);
  crew->next = begun;
  begun = crew;
  ult::set_inside(crew);
  return crew;
}

void end_crew(ult::Carrier& own, Crew& crew) {
  if (crew.is_light()) {
    ult::hide(own, crew);
    if (crew.spins.load(std::memory_order_relaxed))
      hands_spin.store(true, std::memory_order_relaxed);
  }
  ult::set_inside(crew.was_inside);
  if (crew.counted) ult::count_out(own);
  Crew** link = &begun;
  while (*link != &crew) link = &(*link)->next;
  *link = crew.next;
  ult::GuardOverForks guard(spare_lock);
  crew.next = spare;
  spare = &crew;
}

// The hand becomes a ticket, for who waits in the crew or joins it.
void add_ticket(ult::Carrier& own, Crew& crew, unsigned number) {
  crew.share_among(crew.size + 1, crew.sent + 1);
  bool shown = !hands_spin.load(std::memory_order_relaxed);
  if (crew.is_light()) {
    crew.tickets.add();
  } else {
    crew.apart.store(false, std::memory_order_relaxed);
    crew.tickets.open(number, number + 1);
    if (shown) ult::show(own, crew);
    ult::watch();
  }
  if (shown) ult::call_for_help(crew);
}

// What nobody has begun is done here, one after the other; one that waits for the next begins it.
void run_the_rest(Crew& crew) {
  for (unsigned number; (number = crew.tickets.take()) != ult::kNoCall;) run_hand(&crew, number);
}

}  // namespace

// Called by Roost's pthread_create and pthread_join (preload/library_threads.cc).
extern "C" ROOST_EXPORT const void* roost_crew_create(void* (*function)(void*), void* argument) {
  if (!ult::host::with_roost()) return nullptr;
  ult::Carrier& own = ult::carrier();
  Crew* crew = find_crew(own.current);
  if (!crew) crew = begin_crew(own);
  if (!crew || crew->size == kMostHands) return nullptr;
  unsigned number = crew->size++;
  Hand& hand = crew->hands[number];
  hand.function = function;
  hand.argument = argument;
  hand.done.store(false, std::memory_order_relaxed);
  ult::happens_before(&hand);
  hand.worker = crew->is_light() ? Courier::kNobody : crew->courier.send(*crew, number);
  if (hand.worker == Courier::kNobody) {
    add_ticket(own, *crew, number);
  } else {
    ++crew->sent;
  }
  return &hand;
}

extern "C" ROOST_EXPORT int roost_crew_join(const void* handle, void** result) {
  ult::Carrier* own = ult::here.carrier;
  Crew* crew = own ? find_crew(own->current) : nullptr;
  if (!crew || handle < crew->hands || handle >= crew->hands + crew->size) return 0;
  const auto& hand = *static_cast<const Hand*>(handle);
  auto number = static_cast<unsigned>(&hand - crew->hands);
  if (crew->is_light()) run_the_rest(*crew);
  if (hand.worker != Courier::kNobody && ult::take_back(hand.worker, *crew, number))
    run_hand(crew, number);
  auto over = [&] { return hand.done.load(std::memory_order_acquire); };  // [crew-1]
  if (!over()) ult::wait_until(crew->done, {.under = crew}, over);
  ult::happens_after(&hand);
  if (result) *result = hand.result;
  if (++crew->joined == crew->size) end_crew(*own, *crew);
  return 1;
}

extern "C" ROOST_EXPORT int roost_crew_run(void* (*function)(void*), void* arguments,
                                           std::size_t stride, unsigned n) {
  if (n - 1 > kMostHands || !ult::host::with_roost()) return 0;
  const ult::Strand* caller = ult::carrier().current;
  if (find_crew(caller)) return 0;
  if (n == 1) ult::host::pass_point(caller->inside == nullptr);  // as where a crew begins
  auto* first = static_cast<char*>(arguments);
  for (unsigned i = 1; i < n; ++i) {
    if (!roost_crew_create(function, first + i * stride)) return 0;  // the first of them, if any
  }
  function(arguments);
  if (Crew* crew = find_crew(caller)) {
    for (unsigned i = 1; i < n; ++i) roost_crew_join(&crew->hands[i - 1], nullptr);
  }
  return 1;
}

extern "C" ROOST_EXPORT void roost_crew_pass() {
  if (ult::here.carrier) ult::let_ready_run_at_times();
}

extern "C" ROOST_EXPORT unsigned roost_crew_width(unsigned asked) {
  if (!ult::host::with_roost()) return asked;
  ult::Carrier& own = ult::carrier();
  ult::let_ready_run_at_times();
  ult::host::pass_point(own.current->inside == nullptr);
  return std::min(asked, ult::cores_at_hand());
}

extern "C" ROOST_EXPORT int roost_crew_helpers() { return helpers.load(std::memory_order_relaxed); }

void lock_crews_before_fork() { spare_lock.acquire_before_fork(); }
void unlock_crews_after_fork(bool in_child) {
  if (in_child && roost_crew_helpers() > 0) helpers.store(helps > 0, std::memory_order_relaxed);
  spare_lock.release_after_fork();
}

}  // namespace roost::omp
