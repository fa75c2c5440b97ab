// GCC's entry points: task reductions.
//
// A description, made by the compiler on the stack, is an array of words:
//   [0] number of items   [1] bytes of one member's private copies   [2] their alignment; here:
//   where they are   [3] allocator   [4] the next description   [5] here: whether this one begins a
//   group's [6] here: where the copies end and for each item, by offset: its address, the offset of
//   its copy, a word for us
// The copies are all zero at first: the compiler keeps among them whether they were initialised.
#include "omp/gomp_reduction.h"

#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "omp/export.h"
#include "omp/reduction.h"
#include "omp/task_memory.h"
#include "omp/task_pool.h"
#include "ult/kernel.h"

namespace roost::omp {
namespace {

enum Word : unsigned { kItems, kBytes, kCopies, kAllocator, kNext, kBegins, kEnd, kHeader };
constexpr unsigned kItemWords = 3;

std::uintptr_t* next_of(const std::uintptr_t* d) {
  return reinterpret_cast<std::uintptr_t*>(d[kNext]);
}

// What stands before the copies.
struct Block {
  void* memory;
  std::size_t bytes;
};

std::uintptr_t take_copies(std::size_t bytes, std::size_t alignment) {
  if (alignment < 64) alignment = 64;
  std::size_t all = sizeof(Block) + alignment + bytes;
  char* memory = take_others<char>(all);
  auto copies =
      (reinterpret_cast<std::uintptr_t>(memory) + sizeof(Block) + alignment - 1) & ~(alignment - 1);
  reinterpret_cast<Block*>(copies)[-1] = {memory, all};
  std::memset(reinterpret_cast<void*>(copies), 0, bytes);
  return copies;
}
void give_copies(std::uintptr_t copies) {
  Block block = reinterpret_cast<Block*>(copies)[-1];
  give_others(block.memory, block.bytes);
}

// Puts `data` and what follows it before the group's descriptions.
void link(TaskGroup& group, std::uintptr_t* data, const std::uintptr_t* first, unsigned members) {
  for (std::uintptr_t* d = data;; d = next_of(d)) {
    if (first) {
      d[kCopies] = first[kCopies];
      d[kEnd] = first[kEnd];
      first = next_of(first);
    } else {
      std::size_t bytes = d[kBytes] * members;
      d[kCopies] = take_copies(bytes, d[kCopies]);
      d[kEnd] = d[kCopies] + bytes;
    }
    d[kBegins] = d == data;
    if (!next_of(d)) {
      d[kNext] = reinterpret_cast<std::uintptr_t>(group.gomp_reductions);
      break;
    }
  }
  group.gomp_reductions = data;
}

// Where an item is: in which description, and at which offset in its copies.
struct Found {
  const std::uintptr_t* description;
  std::uintptr_t offset;
  const std::uintptr_t* item;
};

Found in_description(const std::uintptr_t* d, std::uintptr_t address) {
  bool is_copy = address >= d[kCopies] && address < d[kEnd];
  std::uintptr_t offset = is_copy ? (address - d[kCopies]) % d[kBytes] : 0;
  for (std::uintptr_t i = 0; i < d[kItems]; ++i) {
    const std::uintptr_t* item = d + kHeader + i * kItemWords;
    if (is_copy ? item[1] == offset : item[0] == address) return {d, item[1], item};
  }
  return {is_copy ? d : nullptr, offset, nullptr};
}

Found find(const TaskGroup* group, std::uintptr_t address) {
  for (const std::uintptr_t* d = group ? group->gomp_reductions : nullptr; d; d = next_of(d)) {
    Found found = in_description(d, address);
    if (found.description) return found;
  }
  Text<128> text("roost: an in_reduction item has no task_reduction around it\n");
  ult::kernel::write_error(text.c_str(), text.length());
  std::abort();
}

void invoke_with_reductions(Team& team, Member&) {
  ompt::UserCode code;
  reinterpret_cast<void (*)(void*)>(team.region.function)(team.region.data);
}

}  // namespace

void register_reductions(TaskGroup& group, std::uintptr_t* data, unsigned members) {
  link(group, data, nullptr, members);
}

void register_task_reductions(std::uintptr_t* data, const std::uintptr_t* first) {
  Member& member = self();
  TaskGroup& group = begin_taskgroup(member);
  group.workshare = true;
  link(group, data, first, member.team->size);
}

extern "C" {

ROOST_EXPORT void GOMP_taskgroup_reduction_register(std::uintptr_t* data) {
  Member& member = self();
  register_reductions(*member.task->group, data, member.team->size);
}

ROOST_EXPORT void GOMP_taskgroup_reduction_unregister(std::uintptr_t* data) {
  std::uintptr_t* d = data;
  do {
    give_copies(d[kCopies]);
    d = next_of(d);
  } while (d && !d[kBegins]);
}

// items[0] to items[count - 1]: addresses of the originals, or of anybody's copies of them; become
// the caller's copies. The originals of the first `originals` go behind them.
ROOST_EXPORT void GOMP_task_reduction_remap(std::size_t count, std::size_t originals,
                                            void** items) {
  Member& member = self();
  for (std::size_t i = 0; i < count; ++i) {
    Found found = find(member.task->group, reinterpret_cast<std::uintptr_t>(items[i]));
    const std::uintptr_t* d = found.description;
    items[i] = reinterpret_cast<void*>(d[kCopies] + member.number * d[kBytes] + found.offset);
    if (i < originals && found.item) items[count + i] = reinterpret_cast<void*>(found.item[0]);
  }
}

ROOST_EXPORT void GOMP_workshare_task_reduction_unregister(bool cancelled) {
  ompt::Entry entry;
  Member& member = self();
  std::uintptr_t* data = member.task->group->gomp_reductions;
  end_taskgroup(member);
  // Tasks that use the copies are complete since the barrier at the construct's end, and the
  // first member has combined them.
  if (member.number == 0) GOMP_taskgroup_reduction_unregister(data);
  if (!cancelled) team_barrier(member, ompt::Sync::barrier_implementation);
}

// A parallel region with reduction(task, ...). The first word of `data` is the description; the
// caller combines the copies afterwards. Returns the number of members.
ROOST_EXPORT unsigned GOMP_parallel_reductions(void (*function)(void*), void* data,
                                               unsigned threads, unsigned flags) {
  ompt::Entry entry;
  Region region;
  region.threads = threads;
  unsigned members = region.counted = settle_size(self(), region);
  TaskGroup group;
  register_reductions(group, *static_cast<std::uintptr_t**>(data), members);
  region.invoke = invoke_with_reductions;
  region.function = reinterpret_cast<void*>(function);
  region.data = data;
  region.take_flags(flags);
  region.group = &group;
  parallel(region);
  return members;
}

}  // extern "C"
}  // namespace roost::omp
