// LLVM's entry points: task reductions.
//
// A taskgroup keeps for each item where the private copies of the team's members are. A member's
// copy is initialised when it first asks for it, and combined at the end of the taskgroup. With the
// task modifier (of a parallel region or a worksharing construct) each member has a taskgroup, all
// use the same copies, and the last to come out combines them into its own variable, which the
// compiler's code then reduces as any other.
#include <cstring>

#include "omp/export.h"
#include "omp/kmpc.h"
#include "omp/task_memory.h"
#include "omp/task_pool.h"

namespace roost::omp {
namespace {

// What the compiler passes: kmp_taskred_input_t, and kmp_task_red_input_t before clang 9.
struct Input {
  void* shared;
  void* original;
  std::size_t bytes;
  void* init;
  void* finish;
  void* combine;
  std::uint32_t flags;
};
struct OldInput {
  void* shared;
  std::size_t bytes;
  void* init;
  void* finish;
  void* combine;
  std::uint32_t flags;
};

// The copies of a group's items, for one or for all members' groups.
struct Copies {
  std::atomic<std::uint32_t> users;
  std::uint32_t members;
  std::size_t bytes;  // of this whole
};

struct Item {
  void* shared;
  void* original;
  std::size_t bytes;
  // From one member's copy to the next one's: whole cache lines, as clang 14 says too few bytes of
  // some array sections (LLVM's own library has room by such rounding).
  std::size_t stride;
  bool old_init;
  void* init;
  void* finish;
  void* combine;
  char* copies;  // the last cache line of each says whether it is initialised
  bool& used(unsigned member) const {
    return *reinterpret_cast<bool*>(copies + (member + 1) * stride - kCacheLine);
  }
};

struct Items {
  std::uint32_t count;
  Copies* copies;
  Item item[];
};

std::size_t bytes_of(std::uint32_t count) { return sizeof(Items) + count * sizeof(Item); }
constexpr std::size_t round_up(std::size_t bytes) {
  return (bytes + kCacheLine - 1) & ~std::size_t{kCacheLine - 1};
}

Item read(const Input& in) {
  return {in.shared, in.original ? in.original : in.shared,
          in.bytes,  round_up(in.bytes) + kCacheLine,
          false,     in.init,
          in.finish, in.combine,
          nullptr};
}
Item read(const OldInput& in) {
  return {in.shared, in.shared,  in.bytes, round_up(in.bytes) + kCacheLine, true, in.init,
          in.finish, in.combine, nullptr};
}

template <class In>
Items* read_all(std::int32_t count, const In* in) {
  auto n = static_cast<std::uint32_t>(count);
  auto* items = take_others<Items>(bytes_of(n));
  items->count = n;
  items->copies = nullptr;
  for (std::uint32_t i = 0; i < n; ++i) items->item[i] = read(in[i]);
  return items;
}

void place(Items& items, Copies* copies) {
  items.copies = copies;
  char* at = reinterpret_cast<char*>(copies) + round_up(sizeof(Copies));
  for (std::uint32_t i = 0; i < items.count; ++i) {
    items.item[i].copies = at;
    at += items.item[i].stride * copies->members;
  }
}

Copies* take_copies(const Items& items, unsigned members, unsigned users) {
  std::size_t bytes = round_up(sizeof(Copies));
  for (std::uint32_t i = 0; i < items.count; ++i) bytes += items.item[i].stride * members;
  auto* copies = take_others<Copies>(bytes);
  new (copies) Copies;
  copies->users.store(users, std::memory_order_relaxed);
  copies->members = members;
  copies->bytes = bytes;
  char* first = reinterpret_cast<char*>(copies) + round_up(sizeof(Copies));
  for (std::uint32_t i = 0; i < items.count; ++i) {
    std::size_t stride = items.item[i].stride;
    for (unsigned m = 0; m < members; ++m, first += stride) first[stride - kCacheLine] = 0;
  }
  return copies;
}

void combine(const Items& items) {
  for (std::uint32_t i = 0; i < items.count; ++i) {
    const Item& item = items.item[i];
    for (unsigned m = 0; m < items.copies->members; ++m) {
      if (!item.used(m)) continue;
      char* copy = item.copies + m * item.stride;
      reinterpret_cast<void (*)(void*, void*)>(item.combine)(item.shared, copy);
      if (item.finish) reinterpret_cast<void (*)(void*)>(item.finish)(copy);
    }
  }
}

void* copy_for(const Item& item, unsigned member) {
  char* copy = item.copies + member * item.stride;
  bool& used = item.used(member);
  if (!used) {
    used = true;
    if (!item.init) {
      std::memset(copy, 0, item.bytes);
    } else if (item.old_init) {
      reinterpret_cast<void (*)(void*)>(item.init)(copy);
    } else {
      reinterpret_cast<void (*)(void*, void*)>(item.init)(copy, item.original);
    }
  }
  return copy;
}

// For the current taskgroup alone.
template <class In>
TaskGroup* register_items(std::int32_t count, const In* in) {
  Member& member = self();
  TaskGroup* group = member.task->group;
  unsigned members = member.team->size;
  // A member alone uses the variables themselves.
  if (members == 1 || !group || count <= 0) return group;
  Items* items = read_all(count, in);
  place(*items, take_copies(*items, members, 1));
  group->kmpc_reductions = items;
  return group;
}

}  // namespace

// A construct with the task modifier that not all members have come to yet.
struct SharedReduction {
  ult::SpinLock lock;
  Copies* copies = nullptr;
  std::uint32_t come = 0;
  std::uint32_t round = 0;  // of the team: a cancelled region may leave one behind
};

namespace {

constinit ult::SpinLock making;

SharedReduction& shared_reduction(Team& team, bool workshare) {
  TaskPool& pool = pool_of(team);
  ult::SpinGuard guard(making);
  SharedReduction*& reduction = pool.reductions[workshare];
  if (!reduction) {
    reduction = ult::permanent_array<SharedReduction>(1);
    if (!reduction) ult::out_of_memory("a reduction");
    new (reduction) SharedReduction;
  }
  return *reduction;
}

template <class In>
TaskGroup* register_shared(bool workshare, std::int32_t count, const In* in) {
  Member& member = self();
  Team& team = *member.team;
  TaskGroup& group = begin_taskgroup(member);
  group.workshare = workshare;
  if (team.size == 1 || count <= 0) return &group;
  Items* items = read_all(count, in);
  SharedReduction& reduction = shared_reduction(team, workshare);
  std::uint32_t round = team.round.load(std::memory_order_relaxed);
  {
    ult::SpinGuard guard(reduction.lock);
    if (!reduction.copies || reduction.round != round) {
      reduction.copies = take_copies(*items, team.size, team.size);
      reduction.come = 0;
      reduction.round = round;
    }
    place(*items, reduction.copies);
    if (++reduction.come == team.size) reduction.copies = nullptr;
  }
  group.kmpc_reductions = items;
  return &group;
}

void end_group(Member& member) {
  TaskGroup* group = member.task->group;
  auto* items = group ? static_cast<Items*>(group->kmpc_reductions) : nullptr;
  if (items) {
    // The group goes with its end: its tasks first.
    wait_in_task(member, [&] { return !group->trees.load(std::memory_order_seq_cst); });
    Copies* copies = items->copies;
    // [reduction-1] The last one sees what the others' tasks put into the copies.
    if (copies->users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      combine(*items);
      give_others(copies, copies->bytes);
    }
    give_others(items, bytes_of(items->count));
  }
  end_taskgroup(member);
}

}  // namespace

extern "C" {

ROOST_EXPORT void __kmpc_end_taskgroup(Ident*, std::int32_t) {
  ompt::Entry entry;
  end_group(self());
}

// Both return the taskgroup, which tasks pass to get their copies.
ROOST_EXPORT void* __kmpc_task_reduction_init(std::int32_t, std::int32_t count, void* data) {
  return register_items(count, static_cast<const OldInput*>(data));
}
ROOST_EXPORT void* __kmpc_taskred_init(std::int32_t, std::int32_t count, void* data) {
  return register_items(count, static_cast<const Input*>(data));
}

// `data`: the variable, or anybody's copy of it. `group`: where to begin to look; null: the
// innermost.
ROOST_EXPORT void* __kmpc_task_reduction_get_th_data(std::int32_t, void* group, void* data) {
  Member& member = self();
  auto* inner = group ? static_cast<TaskGroup*>(group) : member.task->group;
  auto* address = static_cast<char*>(data);
  for (TaskGroup* at = inner; at; at = at->outer) {
    auto* items = static_cast<Items*>(at->kmpc_reductions);
    for (std::uint32_t i = 0; items && i < items->count; ++i) {
      const Item& item = items->item[i];
      bool copy =
          address >= item.copies && address < item.copies + item.stride * items->copies->members;
      if (copy || address == item.shared) return copy_for(item, member.number);
    }
  }
  return data;  // of a team of one
}

// Once for each member: a taskgroup whose copies all members share.
ROOST_EXPORT void* __kmpc_task_reduction_modifier_init(Ident*, std::int32_t, int workshare,
                                                       std::int32_t count, void* data) {
  return register_shared(workshare, count, static_cast<const OldInput*>(data));
}
ROOST_EXPORT void* __kmpc_taskred_modifier_init(Ident*, std::int32_t, int workshare,
                                                std::int32_t count, void* data) {
  return register_shared(workshare, count, static_cast<const Input*>(data));
}
ROOST_EXPORT void __kmpc_task_reduction_modifier_fini(Ident*, std::int32_t, int) {
  end_group(self());
}

}  // extern "C"
}  // namespace roost::omp
