// Opening and ending regions.
#include "omp/team.h"

#include "omp/affinity.h"
#include "omp/learned.h"
#include "omp/levels.h"
#include "omp/root.h"
#include "omp/send.h"
#include "omp/task_depend.h"
#include "omp/task_pool.h"
#include "omp/threads_clause.h"
#include "ult/thread_data.h"
#include "ult/watch.h"

namespace roost::omp {

void begin_member(Member& member) {
  Team& team = *member.team;
  member.task = &member.implicit;
  member.workshares = team.first_workshare;
  member.loop.workshare = nullptr;
  member.loop.flags = nullptr;
  member.singles = 0;
  end_row_of_tasks(member);
  Task& task = member.implicit;
  task.icvs = team.icvs;
  task.team = &team;
  task.parent = team.opener ? team.opener->task : nullptr;
  task.group = team.region.group;
  task.counts.store(0, std::memory_order_relaxed);
  if (__builtin_expect(task.depends != nullptr, 0)) forget_dependences(task);
  if (affinity_wanted.load(std::memory_order_relaxed) && team.level) display_affinity_of(member);
  ompt::part_begins(member);
}

// The standard leaves offsets in such a class to the compilers, which have them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
static_assert(offsetof(Team, light) < ult::Batch::kReadAtCall, "what members read is asked for");
#pragma GCC diagnostic pop

namespace {

// Work for who waits at the end of the region or in a barrier.
ult::Meanwhile tasks_of(Team& team) { return {.under = &team, .pieces = true}; }
// In a barrier, which waits for the workers that were called in any case.
ult::Meanwhile until_all_come(Team& team) {
  return {.under = &team, .pieces = true, .shares = true};
}

void wake_for_tasks(const ult::Batch* batch) {
  // Both lists: waiting in a barrier, and at the end.
  auto& team = const_cast<Team&>(static_cast<const Team&>(*batch));
  team.barrier.gates.wake_all();
  team.done.wake_all();
}

// At the end of a part, and of any wait after it: what was begun meanwhile may have put the strand
// inside a batch (ult::suspend). One left inside would later seem to sleep in a call of that batch.
void restore_inside(const ult::Batch* inside) {
  if (ult::here.carrier->current->inside != inside) ult::set_inside(inside);
}

// A worker that has done its part stays while the region lasts, in case there are tasks. It looks
// for them only while it is counted as a helper: end_region() waits for those who saw its round.
// Until it has noticed that a region is over, a strand of its own may have a part in the next one,
// and stays in its place.
void stay_and_help(Team& team, Member& member, std::uint32_t round) {
  ult::Carrier& own = *ult::here.carrier;
  const ult::Batch* inside = own.current->inside;
  own.stays = own.current == &own.root;
  auto over = [&] { return team.round.load(std::memory_order_seq_cst) != round; };
  ult::wait_until(team.done, tasks_of(team), over, [&] {
    if (!team.pieces.load(std::memory_order_relaxed)) return false;
    team.helpers.fetch_add(1, std::memory_order_seq_cst);  // [help-1] before it looks at the round
    bool helped = !over() && run_task(member);
    team.helpers.fetch_sub(1, std::memory_order_release);
    return helped;
  });
  own.stays = false;
  restore_inside(inside);
}

bool is_idle_worker() {
  ult::Carrier& own = *ult::here.carrier;
  if (ult::here.local) return false;
  if (own.current == &own.root) return true;
  bool in_its_place = own.stays;
  own.stays = false;  // for one strand
  return in_its_place;
}

void arrive_at_end(Team& team) {
  if (__builtin_expect(region_cancelled(team), 0)) wake_workshares(team);
  ult::happens_before(&team.done);
  // [end-1] What the member did is visible to the master.
  if (team.remaining.fetch_sub(1, std::memory_order_acq_rel) == 1) team.done.wake_all();
}

// `leaves`: it does not wait for the others. To a tool its part and its barrier are over then.
void run_part(Team& team, Member& member, bool leaves) {
  void* before = ult::here.local;
  ult::here.local = &member;
  ult::happens_after(&team.region);
  begin_member(member);
  const ult::Batch* inside = ult::here.carrier->current->inside;
  if (team.light.load(std::memory_order_relaxed)) ult::set_inside(&team);
  {
    // It may run in its place on another member's stack.
    KeepFloatingPoint own(team.floating_point);
    team.region.invoke(team, member);
  }
  restore_inside(inside);
  ompt::part_arrives(member, leaves);
  ult::here.local = before;
}

// Executes the team's tasks as a member whose part is over and whose thread has left.
void help(Team& team, unsigned number) {
  Member& member = team.members[number];
  team.helpers.fetch_add(1, std::memory_order_seq_cst);  // [help-1]
  ult::here.local = &member;
  const ult::Batch* inside = ult::set_inside(&team);
  // While it is a helper, the region does not end: others of the carrier go on after it has left.
  while (run_task(member) && !ult::ready_are_due(*ult::here.carrier)) ult::step(*ult::here.carrier);
  ult::set_inside(inside);
  ult::here.local = nullptr;
  team.free_helper.store(number + 1, std::memory_order_release);
  team.helpers.fetch_sub(1, std::memory_order_release);
}

// The call of a batch that is a team's: a member's whole part.
void run_member(ult::Batch* batch, unsigned number) {
  Team& team = static_cast<Team&>(*batch);
  if (__builtin_expect(number & ult::kHelps, 0)) {
    help(team, number & ~ult::kHelps);
    return;
  }
  Member& member = team.members[number];
  std::uint32_t round = team.round.load(std::memory_order_relaxed);
  bool idle_worker = is_idle_worker();
  // A tool sees it wait, so the region ends after it: it is a helper until then.
  bool watched = idle_worker && ompt::on();
  if (watched) team.helpers.fetch_add(1, std::memory_order_relaxed);
  run_part(team, member, !watched);
  // Those who wait were perhaps suspended before the tasks were queued, and all others that may
  // execute them are gone.
  if (team.pieces.load(std::memory_order_relaxed)) wake_for_tasks(&team);
  bool stays = watched || (idle_worker &&
                           (team.may_have_tasks || tasks_in_use.load(std::memory_order_relaxed)));
  if (!stays && team.may_have_tasks && !ompt::on())
    team.free_helper.store(number + 1, std::memory_order_release);
  arrive_at_end(team);
  if (stays) {
    ult::here.local = &member;
    stay_and_help(team, member, round);
    if (watched) {
      ompt::part_leaves(member);
      team.helpers.fetch_sub(1, std::memory_order_release);
    }
    ult::here.local = nullptr;
  }
}

// ---- Teams of a carrier -------------------------------------------------------------------------

void grow(Team& team, unsigned size) {
  unsigned capacity = 4;
  while (capacity < size) capacity *= 2;
  // The old members are left: a thief may still look at them. All of them together are less.
  auto* members = ult::permanent_array<Member>(capacity);
  auto* nodes = ult::permanent_array<ArrivalNode<RealWorld>>(arrival_nodes(capacity));
  auto* sent = ult::permanent_array<std::uint16_t>(capacity);
  auto* own = ult::permanent_array<std::uint16_t>(capacity);
  if (!members || !nodes || !sent || !own) ult::out_of_memory("a team");
  for (unsigned i = 0; i < team.capacity; ++i) own[i] = team.own[i];
  for (unsigned i = 0; i < capacity; ++i) {
    new (&members[i]) Member;
    members[i].number = i;
    members[i].team = &team;
    members[i].gtid = i < team.capacity ? team.members[i].gtid : take_gtid();
    if (i >= team.capacity) continue;
    members[i].deque = team.members[i].deque;
    members[i].implicit.depends = team.members[i].implicit.depends;
  }
  team.members = members;
  team.barrier.nodes = nodes;
  team.sent = sent;
  team.own = own;
  team.capacity = capacity;
}

Team& take_team(ult::Carrier& carrier, unsigned size) {
  Root& root = root_of(carrier);
  Team* team = root.free_teams;
  if (team) {
    root.free_teams = team->next;
  } else {
    team = ult::permanent_array<Team>(1);
    if (!team) ult::out_of_memory("a team");
    new (team) Team;
    team->run = run_member;
    team->assist = wake_for_tasks;
  }
  if (team->capacity < size) grow(*team, size);
  return *team;
}

// ---- Parts that nobody has begun ----------------------------------------------------------------

void run_in_place(Team& team, unsigned number) {
  run_part(team, team.members[number], true);
  arrive_at_end(team);
}

// Whether the members that were sent to workers end within a moment. To look whether they have
// begun costs both sides a cache miss.
bool come_soon(const Team& team) {
  constexpr unsigned kMoment = 8;  // pauses
  for (unsigned i = 0; i < kMoment; ++i) {
    if (!team.remaining.load(std::memory_order_relaxed)) return true;
    cpu_pause();
  }
  return false;
}

// The master does tasks first, so that workers that it has called, and that are on their way, still
// find parts to begin: who has none cannot help with tasks. Who waits in the region for such a part
// begins it himself.
void run_tasks_at_first(Team& team, Member& master) {
  while (team.pieces.load(std::memory_order_relaxed) && run_task(master)) ult::pass_piece(&team);
}

// Whether it is a nested region whose members fight for the cores: they wait for each other, and
// nobody sees that, as there is no Roost. From libgomp and libomp no nested region has more than
// one member unless it was asked for.
bool had_better_be_serial(const Member& opener, const Region& region) {
  return opener.team->active_level > 0 && !ult::host::with_roost() &&
         opener.task->icvs.max_active_levels == Icvs().max_active_levels &&
         how_waiting(region.function) == Waiting::blocking;
}

unsigned wanted_size(const Member& opener, const Region& region) {
  const Icvs& icvs = opener.task->icvs;
  if (static_cast<std::int32_t>(opener.team->active_level) >= icvs.max_active_levels) return 1;
  if (had_better_be_serial(opener, region)) return 1;
  auto size = region.threads ? region.threads : static_cast<unsigned>(icvs.threads);
  if (size > static_cast<unsigned>(icvs.thread_limit))
    size = static_cast<unsigned>(icvs.thread_limit);
  if (__builtin_expect(icvs.dynamic, 0)) {
    unsigned most = ult::host::cores_left_to_it();
    if (region.pieces && region.pieces < most) most = region.pieces;
    if (size > most) size = most;
  }
  if (size > ult::kMaxCalls) size = ult::kMaxCalls;
  return size ? size : 1;
}

bool is_limited(const Member& opener, const Region& region) {
  return __builtin_expect(opener.task->icvs.thread_limit != Icvs().thread_limit, 0) &&
         !region.league;
}

// The team of the initial task of the contention group the member is in.
Team& group_of(const Member& member) {
  Team* team = member.team;
  while (team->opener && !team->region.league) team = team->opener->team;
  return *team;
}

// So many of `more` members as the group's limit leaves room for.
unsigned count_in_group(const Member& opener, unsigned more) {
  auto most = static_cast<unsigned>(opener.task->icvs.thread_limit) - 1;  // but its initial thread
  std::atomic<std::uint32_t>& members = group_of(opener).group_members;
  std::uint32_t before = members.load(std::memory_order_relaxed);
  unsigned counted;
  do {
    counted = before < most ? most - before : 0;
    if (counted > more) counted = more;
  } while (!members.compare_exchange_weak(before, before + counted, std::memory_order_relaxed));
  return counted;
}

void keep_arguments(Team& team) {
  Region& region = team.region;
  if (!region.arguments || region.n_arguments > Team::kFewArguments) return;
  for (unsigned i = 0; i < region.n_arguments; ++i) team.few_arguments[i] = region.arguments[i];
  region.arguments = team.few_arguments;
}

}  // namespace

unsigned settle_size(const Member& opener, const Region& region) {
  unsigned size = wanted_size(opener, region);
  if (is_limited(opener, region)) size = count_in_group(opener, size - 1) + 1;
  return size;
}

Team& begin_region(const Region& region) {
  Member& opener = self();
  ult::Carrier& carrier = *ult::here.carrier;
  ult::host::pass_point(opener.team->level == 0);
  unsigned size = region.counted ? region.counted : settle_size(opener, region);
  Team& outer = *opener.team;
  Team& team = take_team(carrier, size);
  team.region = region;
  keep_arguments(team);
  team.opener = &opener;
  team.master = carrier.current;
  team.floating_point = FloatingPoint::of_caller();
  team.size = size;
  team.counted = is_limited(opener, region) ? size - 1 : 0;
  team.level = outer.level + 1;
  team.active_level = outer.active_level + (size > 1);
  team.league_size = outer.league_size;
  team.league = outer.league;
  team.icvs = opener.task->icvs;
  if (region.hands_bind_on && region.bind != Bind::no && team.icvs.bind != Bind::no)
    team.icvs.bind = region.bind;
  inherit_by_level(team.icvs, team.level);
  inherit_clause(team);
  check_strict(team);
  team.n_sent = 0;
  team.light.store(false, std::memory_order_relaxed);
  // Of the team's last region: then members may have left constructs in which others were.
  if (team.cancelled.load(std::memory_order_relaxed) ||
      team.workshares.torn.load(std::memory_order_relaxed)) {
    team.workshares.mend();
    team.first_workshare = 0;
    for (unsigned i = 0; i < team.capacity; ++i)
      for (auto& arrived : team.members[i].reduction.arrived)
        arrived.store(0, std::memory_order_relaxed);
    team.cancelled.store(0, std::memory_order_relaxed);
  }
  team.singles.store(0, std::memory_order_relaxed);
  team.parent.store(outer.level ? &outer : nullptr, std::memory_order_relaxed);
  team.was_inside = carrier.current->inside;
  ompt::region_begins(team);
  if (size > 1) {
    ult::happens_before(&team.region);
    team.remaining.store(size - 1, std::memory_order_relaxed);
    Expected expected = what_to_expect(region.function);
    bool after_unseen = team.unseen;
    team.own_threads = expected.waiting == Waiting::blocking || on_os_threads(team);
    team.unseen = expected.waiting == Waiting::unseen;
    team.may_have_tasks = team.unseen || tasks_in_use.load(std::memory_order_relaxed);
    team.free_helper.store(0, std::memory_order_relaxed);
    if (outer.active_level == 0) {
      ult::count_in(carrier);
    }
    if (team.own_threads) {
      send_to_own_threads(team);
    } else if (outer.active_level == 0 && !crowded()) {
      send_members(team, after_unseen);
    }
    if (team.n_sent + 1 < size) {
      ult::look_for_python();
      team.light.store(true, std::memory_order_relaxed);
      team.share_among(size, team.n_sent + 1);
      team.tickets.open(team.n_sent + 1, size);
      team.forget_waits();
      team.computes.store(expected.computes, std::memory_order_relaxed);
      team.patience.store(expected.awaited, std::memory_order_relaxed);
      if (expected.waiting != Waiting::spinning) {
        ult::show(carrier, team);
        ult::call_for_help(team);
      }
      ult::watch();
      ult::set_inside(&team);
    }
  }
  ult::here.local = &team.members[0];
  begin_member(team.members[0]);
  return team;
}

void end_region() {
  Member& master = self();
  Team& team = *master.team;
  ult::Carrier& carrier = *ult::here.carrier;
  if (__builtin_expect(region_cancelled(team), 0)) wake_workshares(team);
  ompt::part_arrives(master, false);
  if (team.size > 1) {
    if (team.opener->team->active_level == 0) run_tasks_at_first(team, master);
    for (unsigned number; (number = team.tickets.take()) != ult::kNoCall;)
      run_in_place(team, number);
    if (!team.own_threads && !come_soon(team)) {
      for (unsigned i = team.n_sent; i-- > 0;)
        if (ult::take_back(team.sent[i], team, i + 1)) run_in_place(team, i + 1);
    }
  }
  auto over = [&] {
    return !team.remaining.load(std::memory_order_acquire) &&  // [end-1]
           !team.unfinished.load(std::memory_order_acquire);
  };
  if (!over()) ult::wait_until(team.done, tasks_of(team), over, [&] { return run_task(master); });
  ult::happens_after(&team.done);
  // Of a cancelled region: members have left barriers that others did not come to.
  if (team.cancelled.load(std::memory_order_relaxed) & kCancelParallel)
    for (unsigned i = 0; i < arrival_nodes(team.size); ++i)
      team.barrier.nodes[i].count.store(0, std::memory_order_relaxed);
  if (team.size > 1) {
    if (team.n_sent) {  // for the next region: members on other cores have these lines
      team.prefetch_for_owner();
      prefetch_for_write(&team.remaining);
    }
    learn_waiting(team);
    if (team.light.load(std::memory_order_relaxed)) ult::hide(carrier, team);
    team.round.fetch_add(1, std::memory_order_seq_cst);  // [help-1]
    team.done.wake_all();
    // A helper may be a strand of this carrier, or wait for one (ult/PROTOCOL.md).
    for (unsigned spins = 1; team.helpers.load(std::memory_order_seq_cst); ++spins) {
      if (spins % 64 == 0) ult::yield();
      cpu_pause();
    }
  }
  restore_inside(team.was_inside);
  ompt::region_ends(team, master);
  team.first_workshare = master.workshares;
  Member& opener = *team.opener;
  ult::here.local = &opener;
  if (team.counted)
    group_of(opener).group_members.fetch_sub(team.counted, std::memory_order_relaxed);
  if (team.size > 1 && opener.team->active_level == 0) ult::count_out(carrier);
  Root& root = root_of(carrier);
  team.next = root.free_teams;
  root.free_teams = &team;
}

void parallel(const Region& region) {
  Team& team = begin_region(region);
  team.region.invoke(team, team.members[0]);
  end_region();
}

namespace {

// At a barrier, with all members there: what was cancelled is over (omp/workshare.h).
void end_cancelled_constructs(Team& team) {
  constexpr std::uint32_t kConstructs = kCancelLoop | kCancelSections;
  if (!(team.cancelled.load(std::memory_order_relaxed) & kConstructs)) return;
  team.cancelled.fetch_and(~kConstructs, std::memory_order_relaxed);
  team.workshares.torn.store(true, std::memory_order_relaxed);
}

// What the master does after a barrier, the others often wait for in loops of the program's own.
// One that runs before it would keep the carrier from it.
void let_master_leave_first(Team& team, const Member& member, std::uint32_t epoch) {
  std::atomic<std::uint32_t>& left = team.barrier.left_by_master;
  if (member.number == 0) {
    left.store(epoch + 1, std::memory_order_relaxed);
  } else if (left.load(std::memory_order_relaxed) != epoch + 1 && !region_cancelled(team)) {
    ult::let_run_first(team.master);
  }
}

}  // namespace

bool team_barrier(Member& member, ompt::Sync kind) {
  Team& team = *member.team;
  ompt::SyncRegion region(member, kind);
  // [cancel-1] Who cancels the region sets the bit and then wakes the gate. Those who wait here go
  // on to the end of the region, which waits for all.
  auto cancelled = [&] {
    return (team.cancelled.load(std::memory_order_seq_cst) & kCancelParallel) != 0;
  };
  if (cancelled()) return true;
  end_row_of_tasks(member);
  if (team.size == 1) {
    auto done = [&] { return !team.unfinished.load(std::memory_order_acquire); };
    if (!done()) ult::wait_until(team.done, tasks_of(team), done, [&] { return run_task(member); });
    ult::happens_after(&team.done);
    end_cancelled_constructs(team);
    return cancelled();
  }
  Barrier& barrier = team.barrier;
  std::uint32_t epoch = barrier.epoch.load(std::memory_order_relaxed);
  bool light = team.light.load(std::memory_order_relaxed);
  unsigned carrier = ult::here.carrier->index;
  auto work = [&] { return run_task(member); };
  ult::happens_before(&barrier);
  if (arrive(barrier.nodes, team.size, member.number)) {
    auto done = [&] { return !team.unfinished.load(std::memory_order_acquire); };
    if (!done()) ult::wait_until(barrier.gates.gate_of(carrier, light), tasks_of(team), done, work);
    end_cancelled_constructs(team);
    // [barrier-2] releases all that the members did before.
    barrier.epoch.store(epoch + 1, std::memory_order_release);
    light ? barrier.gates.release(carrier, epoch + 1) : barrier.gates.wake_all();
  } else {
    auto released = [&] {
      return barrier.epoch.load(std::memory_order_acquire) != epoch || cancelled();
    };
    ult::wait_until(barrier.gates.gate_of(carrier, light), until_all_come(team), released, work);
    if (light) barrier.gates.leave(carrier, epoch + 1);
  }
  if (team.light.load(std::memory_order_relaxed)) let_master_leave_first(team, member, epoch);
  if (ult::sanitizer::present()) {
    ult::happens_after(&barrier);
    ult::happens_after(&team.done);  // tasks
  }
  return cancelled();
}

}  // namespace roost::omp
