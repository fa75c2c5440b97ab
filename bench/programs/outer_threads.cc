// Outer runtime: the thread pool people write by hand, a queue under a mutex and two conditions.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "outer.h"

namespace {

class ThreadPool final : public OuterRuntime {
 public:
  explicit ThreadPool(int width) {
    for (int i = 0; i < width; ++i) workers_.emplace_back([this] { work(); });
  }

  ~ThreadPool() override {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    not_empty_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  void run(TaskGraph& graph) override {
    std::unique_lock lock(mutex_);
    graph_ = &graph;
    left_ = graph.size();
    for (int task : graph.start()) queue_.push_back(task);
    not_empty_.notify_all();
    all_done_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      not_empty_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      if (stop_) return;
      const int task = queue_.front();
      queue_.pop_front();
      lock.unlock();
      graph_->run(task, [this](int next) {
        {
          std::lock_guard push(mutex_);
          queue_.push_back(next);
        }
        not_empty_.notify_one();
      });
      lock.lock();
      if (--left_ == 0) all_done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable not_empty_;
  std::condition_variable all_done_;
  std::deque<int> queue_;
  TaskGraph* graph_ = nullptr;
  std::size_t left_ = 0;
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace

std::unique_ptr<OuterRuntime> make_outer_runtime(int width) {
  return std::make_unique<ThreadPool>(width);
}

const char* outer_runtime_name() { return "threads"; }
