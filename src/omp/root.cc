// Roots: of OS threads that come and go.
#include "omp/root.h"

#include <cstdlib>

#include "base/text.h"
#include "omp/threadprivate.h"
#include "ult/kernel.h"
#include "ult/spin_lock.h"

namespace roost::omp {
namespace {

constinit std::atomic<std::int32_t> next_gtid{0};

// Roots of threads that have ended: with their teams, for threads to come.
constinit Root* spare_roots = nullptr;
constinit ult::LockOverForks roots_lock;

Root* take_spare_root() {
  ult::GuardOverForks guard(roots_lock);
  Root* root = spare_roots;
  if (root) spare_roots = root->next;
  return root;
}

// A thread that ends in code of a member, by pthread_exit or cancellation: others wait for that
// member, and strands of the same carrier could not go on. All of this thread's stacks are still
// there.
void require_nobody_waits() {
  auto* member = static_cast<Member*>(ult::here.local);
  for (Team* team = member ? member->team : nullptr; team && team->opener;
       team = team->opener->team) {
    if (team->size == 1) continue;
    Text<256> text(
        "roost: a thread ends inside an OpenMP region, by pthread_exit or cancellation, ");
    text << "and the other members of its team would wait for it for ever\n";
    ult::kernel::write_error(text.c_str(), text.length());
    std::abort();
  }
}

// Gives back the teams of one that the thread was in, as they are: whatever they were at is torn.
void leave_teams(Root& root) {
  auto* member = static_cast<Member*>(ult::here.local);
  for (Team* team = member ? member->team : nullptr; team && team->opener;) {
    Team* outer = team->opener->team;
    team->workshares.torn.store(true, std::memory_order_relaxed);
    team->next = root.free_teams;
    root.free_teams = team;
    team = outer;
  }
}

void end_root(ult::Carrier& carrier) {
  require_nobody_waits();
  auto* root = static_cast<Root*>(carrier.user);
  if (!root) return ompt::worker_ends();
  ompt::thread_ends(root->member);
  carrier.user = nullptr;
  leave_teams(*root);
  // A thread that leaves tasks behind leaves its root with them.
  if (root->team.unfinished.load(std::memory_order_relaxed)) return;
  forget_threadprivate(root->member.gtid);
  for (Team* team = root->free_teams; team; team = team->next)
    for (unsigned i = 0; i < team->capacity; ++i) forget_threadprivate(team->members[i].gtid);
  ult::GuardOverForks guard(roots_lock);
  root->next = spare_roots;
  spare_roots = root;
}

Root* make_root() {
  auto* root = ult::permanent_array<Root>(1);
  if (!root) ult::out_of_memory("a thread");
  new (root) Root;
  Team& team = root->team;
  team.members = &root->member;
  team.barrier.nodes = ult::permanent_array<ArrivalNode<RealWorld>>(1);
  root->member.team = &team;
  root->member.gtid = take_gtid();
  return root;
}

Root* take_root() {
  ult::carrier_ends.store(end_root, std::memory_order_relaxed);
  Root* root = take_spare_root();
  if (!root) root = make_root();
  root->team.icvs = settings().initial;
  begin_member(root->member);
  return root;
}

}  // namespace

std::int32_t take_gtid() { return next_gtid.fetch_add(1, std::memory_order_relaxed); }

Root& root_of(ult::Carrier& carrier) {
  if (carrier.user) return *static_cast<Root*>(carrier.user);
  ompt::start();
  // The tool may have used the runtime meanwhile.
  if (!carrier.user) carrier.user = take_root();
  auto& root = *static_cast<Root*>(carrier.user);
  ompt::initial_thread_begins(root.member);
  return root;
}

void lock_roots_before_fork() { roots_lock.acquire_before_fork(); }
void unlock_roots_after_fork() { roots_lock.release_after_fork(); }
void keep_own_root_after_fork() {
  unlock_roots_after_fork();
  // Workers may have been looking into teams that had ended.
  spare_roots = nullptr;
  if (ult::here.carrier && ult::here.carrier->user)
    static_cast<Root*>(ult::here.carrier->user)->free_teams = nullptr;
}

Member& become_initial() {
  ult::Carrier& carrier = ult::carrier();
  Member& member = root_of(carrier).member;
  ult::here.local = &member;
  return member;
}

unsigned gtids() { return static_cast<unsigned>(next_gtid.load(std::memory_order_relaxed)); }

}  // namespace roost::omp
