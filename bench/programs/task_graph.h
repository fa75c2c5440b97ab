// A graph of tasks that an outer runtime runs: every task after its predecessors, once a run.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

class TaskGraph {
 public:
  // Adds a task and returns its number. Not while a run is on.
  int add(std::function<void()> body) {
    tasks_.emplace_back(std::move(body));
    return static_cast<int>(tasks_.size()) - 1;
  }

  // Task `second` starts only after task `first` has ended.
  void order(int first, int second) {
    tasks_[first].successors.push_back(second);
    ++tasks_[second].predecessors;
  }

  // Makes the graph ready for a run and returns the tasks that may start at once.
  std::vector<int> start() {
    std::vector<int> ready;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      tasks_[i].waits_for.store(tasks_[i].predecessors, std::memory_order_relaxed);
      if (tasks_[i].predecessors == 0) ready.push_back(static_cast<int>(i));
    }
    return ready;
  }

  // Runs one task and calls `ready(number)` for each task that may start now.
  // For any thread; what a predecessor wrote is visible to its successors.
  template <typename Ready>
  void run(int task, Ready&& ready) {
    tasks_[task].body();
    for (int next : tasks_[task].successors) {
      if (tasks_[next].waits_for.fetch_sub(1, std::memory_order_acq_rel) == 1) ready(next);
    }
  }

  std::size_t size() const { return tasks_.size(); }

 private:
  struct Task {
    explicit Task(std::function<void()> b) : body(std::move(b)) {}
    std::function<void()> body;
    std::vector<int> successors;
    int predecessors = 0;
    std::atomic<int> waits_for{0};
  };
  std::deque<Task> tasks_;  // tasks hold atomics, so they must not move
};
