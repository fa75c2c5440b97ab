// The table of addresses that tasks depend on.
//
// For each address a parent remembers the tasks of the latest set: those that any number of `in`,
// or of `inoutset`, put there, or a single `inout`. Who joins a set waits for the set before it;
// who begins a new one waits for all of the latest set. The table is its task's own; what tasks
// wait for is in nodes, which outlive tasks and are counted.
#include "omp/task_depend.h"

#include "omp/depend_counts.h"
#include "omp/task_memory.h"
#include "omp/task_pool.h"
#include "ult/spin_lock.h"

namespace roost::omp {
namespace {

// Successors of a node, or nodes of a set.
struct NodeList {
  static constexpr unsigned kRoom = 6;
  NodeList* next;
  std::uint32_t count;
  DependNode* nodes[kRoom];
};
static_assert(sizeof(NodeList) == 64);

}  // namespace

// What a task waits for, and what waits for it.
struct DependNode : DependCounts<RealWorld, ult::SpinLock, NodeList*> {
  ExplicitTask* task = nullptr;  // null: somebody waits in `waiter`
  Task* waiter = nullptr;
};

namespace {

void release_node(DependNode* node) {
  if (node->drop()) give_others(node, sizeof *node);
}

DependNode* new_node(ExplicitTask* task, Task* waiter) {
  auto* node = take_others<DependNode>();
  new (node) DependNode;
  node->task = task;
  node->waiter = waiter;
  return node;
}

void add(NodeList*& list, DependNode* node) {
  if (!list || list->count == NodeList::kRoom) {
    auto* block = take_others<NodeList>();
    block->next = list;
    block->count = 0;
    list = block;
  }
  list->nodes[list->count++] = node;
}

// Takes the list's blocks back; `each` is called for its nodes.
template <class Each>
void consume(NodeList*& list, Each&& each) {
  while (NodeList* block = list) {
    for (unsigned i = 0; i < block->count; ++i) each(block->nodes[i]);
    list = block->next;
    give_others(block, sizeof *block);
  }
}

// Has `later` wait for `earlier`, unless that is complete.
void put_before(DependNode* earlier, DependNode* later) {
  if (earlier == later) return;
  earlier->put_before(*later, [&](NodeList*& successors) {
    // Under the lock the earlier task cannot go.
    if (earlier->task && later->task) ompt::depends(*earlier->task, *later->task);
    add(successors, later);
  });
}

struct NodeSet {
  NodeList* list = nullptr;
  std::uint32_t count = 0;
  std::uint32_t look_at = 16;  // when it is as long, those that are complete are taken out

  void insert(DependNode* node) {
    if (count >= look_at) {
      prune();
      look_at = 2 * count + 16;
    }
    node->hold();
    add(list, node);
    ++count;
  }
  void prune() {
    NodeList* old = list;
    list = nullptr;
    count = 0;
    consume(old, [&](DependNode* node) {
      if (node->is_complete()) {
        release_node(node);
      } else {
        add(list, node);
        ++count;
      }
    });
  }
  void clear() {
    consume(list, release_node);
    count = 0;
    look_at = 16;
  }
  void put_all_before(DependNode* later) const {
    for (NodeList* block = list; block; block = block->next)
      for (unsigned i = 0; i < block->count; ++i) put_before(block->nodes[i], later);
  }
};

struct Entry {
  const void* address;
  bool used;
  DependKind kind;  // of the latest set
  NodeSet latest;
  NodeSet before;
};

}  // namespace

struct DependTable {
  Entry* entries = nullptr;
  std::uint32_t room = 0;  // a power of two
  std::uint32_t used = 0;
  DependNode* all = nullptr;  // the latest task on all memory: addresses not in the table follow it
};

namespace {

constexpr std::uint32_t kFirstRoom = 8;

std::uint32_t hash(const void* address) {
  return static_cast<std::uint32_t>(
      (reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15u) >> 32);
}

// The entry of the address, or the free one where it belongs.
Entry* slot_of(const DependTable& table, const void* address) {
  for (std::uint32_t i = hash(address);; ++i) {
    Entry& entry = table.entries[i & (table.room - 1)];
    if (!entry.used || entry.address == address) return &entry;
  }
}

void give_entries(Entry* entries, std::uint32_t room) {
  if (entries) give_others(entries, room * sizeof(Entry));
}
Entry* take_entries(std::uint32_t room) {
  auto* entries = take_others<Entry>(room * sizeof(Entry));
  for (std::uint32_t i = 0; i < room; ++i) {
    new (&entries[i]) Entry;
    entries[i].used = false;
  }
  return entries;
}

// Room for one more: first those go whose tasks are complete.
void make_room(DependTable& table) {
  if (table.used * 2 < table.room) return;
  std::uint32_t alive = 0;
  for (std::uint32_t i = 0; i < table.room; ++i) {
    Entry& entry = table.entries[i];
    if (!entry.used) continue;
    entry.latest.prune();
    entry.before.prune();
    // A later task has nothing to wait for on an address whose latest set is complete.
    if (entry.latest.count) {
      ++alive;
    } else {
      entry.before.clear();
      entry.address = nullptr;
    }
  }
  std::uint32_t room = table.room ? table.room : kFirstRoom;
  while (alive * 4 >= room) room *= 2;
  Entry* old = table.entries;
  std::uint32_t old_room = table.room;
  table.entries = take_entries(room);
  table.room = room;
  table.used = 0;
  for (std::uint32_t i = 0; i < old_room; ++i) {
    if (!old[i].used || !old[i].latest.count) continue;
    *slot_of(table, old[i].address) = old[i];
    ++table.used;
  }
  give_entries(old, old_room);
}

Entry& entry_of(DependTable& table, const void* address) {
  make_room(table);
  Entry& entry = *slot_of(table, address);
  if (!entry.used) {
    new (&entry) Entry;
    entry.used = true;
    entry.address = address;
    entry.kind = DependKind::inout;
    if (table.all) entry.latest.insert(table.all);
    ++table.used;
  }
  return entry;
}

void clear(DependTable& table) {
  for (std::uint32_t i = 0; i < table.room; ++i) {
    if (!table.entries[i].used) continue;
    table.entries[i].latest.clear();
    table.entries[i].before.clear();
    table.entries[i].used = false;
  }
  table.used = 0;
}

bool joins(const Entry& entry, DependKind kind) {
  return kind != DependKind::inout && entry.kind == kind;
}

// Has the node wait for what a construct with the dependence waits for.
void await(DependTable& table, const Dependence& dependence, DependNode* node) {
  if (dependence.all_memory) {
    for (std::uint32_t i = 0; i < table.room; ++i)
      if (table.entries[i].used) table.entries[i].latest.put_all_before(node);
    if (table.all) put_before(table.all, node);
    return;
  }
  Entry* entry = table.room ? slot_of(table, dependence.address) : nullptr;
  if (!entry || !entry->used) {
    if (table.all) put_before(table.all, node);
    return;
  }
  (joins(*entry, dependence.kind) ? entry->before : entry->latest).put_all_before(node);
}

// Remembers the node for later ones.
void remember(DependTable& table, const Dependence& dependence, DependNode* node) {
  if (dependence.all_memory) {
    clear(table);
    if (table.all) release_node(table.all);
    node->hold();
    table.all = node;
    return;
  }
  Entry& entry = entry_of(table, dependence.address);
  if (!joins(entry, dependence.kind)) {
    entry.before.clear();
    if (dependence.kind != DependKind::inout) entry.before = entry.latest;
    if (dependence.kind == DependKind::inout) entry.latest.clear();
    entry.latest = NodeSet();
    entry.kind = dependence.kind;
  }
  entry.latest.insert(node);
}

}  // namespace

bool enter_dependences(Member& member, ExplicitTask& task, const Dependences& dependences) {
  Task& parent = *member.task;
  if (!parent.depends) {
    parent.depends = take_others<DependTable>();
    new (parent.depends) DependTable;
  }
  DependTable& table = *parent.depends;
  DependNode* node = new_node(&task, nullptr);
  task.node = node;
  for (std::size_t i = 0, n = dependences.count(); i < n; ++i) {
    Dependence dependence = dependences.at(i);
    await(table, dependence, node);
    remember(table, dependence, node);
    if (dependence.all_memory) break;  // it covers the rest
  }
  return node->let_go();
}

void wait_for_dependences(Member& member, const Dependences& dependences) {
  Task& current = *member.task;
  if (!current.depends) return;
  DependNode* node = new_node(nullptr, &current);
  for (std::size_t i = 0, n = dependences.count(); i < n; ++i)
    await(*current.depends, dependences.at(i), node);
  if (!node->let_go()) {
    wait_in_task(member, [&] { return !node->waits(); });
  }
  ult::happens_after(&current);
  release_node(node);
}

void release_dependents(ExplicitTask& task, Member* executor) {
  DependNode* node = task.node;
  NodeList* successors = node->finish();
  consume(successors, [&](DependNode* later) {
    Task* waiter = later->waiter;
    if (later->let_go()) {
      if (!later->task) {
        waiter->childless.wake_all();
      } else if (!executor || executor->team != later->task->team ||
                 !queue_task(*executor, *later->task)) {
        queue_for_all(*later->task);
      }
    }
    release_node(later);
  });
  task.node = nullptr;
  release_node(node);
}

void forget_dependences(Task& task) {
  DependTable* table = task.depends;
  if (!table) return;
  task.depends = nullptr;
  clear(*table);
  if (table->all) release_node(table->all);
  give_entries(table->entries, table->room);
  give_others(table, sizeof *table);
}

}  // namespace roost::omp
