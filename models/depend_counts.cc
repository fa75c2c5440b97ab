// Model of the counts of tasks with dependences: a task starts once, sees what those before it did,
// and its node is nobody's when its memory is used again.
#include "omp/depend_counts.h"

#include "check.h"

namespace roost::model {
namespace {

struct ModelLock {
  rl::mutex mutex;
  void acquire() { mutex.lock($); }
  void release() { mutex.unlock($); }
};

// Bits of the nodes that wait.
using Waiting = unsigned;
using Counts = omp::DependCounts<World, ModelLock, Waiting>;

// One sets tasks 0, 1, 2 and 3 up, of which 2 follows 0 and 1, and 3 follows 2. Two execute what
// they find; what becomes ready is executed by whoever made it so.
struct DependModel : rl::test_suite<DependModel, 3> {
  static constexpr unsigned kTasks = 4;
  struct Node {
    Counts counts;
    rl::var<int> done{0};
    rl::var<int> memory{0};  // used for something else once nobody knows the node
    unsigned after = 0;      // those it follows
  };
  Node nodes[kTasks];
  rl::atomic<int> set_up{0};  // bits of the first two, which wait for nothing

  // Whoever knows the node looks at its memory until he drops it.
  void drop(Node& node) {
    RL_ASSERT(node.memory($) == 0);
    if (node.counts.drop()) node.memory($) = -1;
  }
  void execute(unsigned task) {
    Node& node = nodes[task];
    for (unsigned before = 0; before < kTasks; ++before)
      if (node.after >> before & 1) RL_ASSERT(nodes[before].done($) == 1);
    node.done($) += 1;
    Waiting waiting = node.counts.finish();
    for (unsigned later = 0; later < kTasks; ++later) {
      if (!(waiting >> later & 1)) continue;
      if (nodes[later].counts.let_go()) execute(later);
      drop(nodes[later]);
    }
    drop(node);
  }
  // The creator's sets know it, too.
  void create(unsigned task, unsigned after) {
    Node& node = nodes[task];
    node.after = after;
    for (unsigned before = 0; before < kTasks; ++before) {
      if (!(after >> before & 1)) continue;
      nodes[before].counts.put_before(node.counts, [&](Waiting& list) { list |= 1u << task; });
    }
    node.counts.hold();
    if (node.counts.let_go()) ready(task);
  }
  void ready(unsigned task) {
    if (task < 2) {
      set_up($).fetch_or(1 << task, rl::mo_release);
    } else {
      execute(task);
    }
  }
  void thread(unsigned index) {
    if (index == 0) {
      create(0, 0);
      create(1, 0);
      create(2, 0b0011);
      create(3, 0b0100);
      for (Node& node : nodes) drop(node);  // the sets go
      return;
    }
    unsigned own = index - 1;
    while (!(set_up($).load(rl::mo_acquire) >> own & 1)) World::relax(0);
    execute(own);
  }
  void after() {
    for (Node& node : nodes) {
      RL_ASSERT(node.done($) == 1);
      RL_ASSERT(node.memory($) == -1);
    }
  }
};

}  // namespace
}  // namespace roost::model

int main() {
  using namespace roost::model;
  Check check;
  check.holds<DependModel>("two chains of tasks that meet:", 2000000);
  const char* counts = "omp/depend_counts.h";
  // [depend-1]: who starts a task does not see what the others before it did.
  check.fails_without<DependModel>({Take::orderings, counts, "let_go"}, rl::test_result_data_race,
                                   200000);
  // [depend-2]: a node's memory is used again while somebody still looks at it.
  check.fails_without<DependModel>({Take::orderings, counts, "drop"}, rl::test_result_data_race,
                                   200000);
  return check.result();
}
