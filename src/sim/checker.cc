// The promises, one by one.
#include "sim/checker.h"

#include <fmt/format.h>

#include <algorithm>

namespace roost::sim {

Checker::Checker(CoreIndex n_cores, Promises promises, const Scheduler* scheduler)
    : promises_(promises), scheduler_(scheduler), cores_(n_cores, kNoThread) {}

std::string Checker::last_events() const {
  std::string text;
  for (std::uint64_t i = noted_ > kLast ? noted_ - kLast : 0; i < noted_; ++i) {
    const Noted& noted = last_[i % kLast];
    text += fmt::format("  {:>15} ns  thread {:<6} {}", noted.at, noted.thread, noted.what);
    if (noted.core != kNoCore) text += fmt::format(" core {}", noted.core);
    text += "\n";
  }
  return text;
}

void Checker::broken(const std::string& what) const {
  throw Violation(fmt::format("{}\nthe last events:\n{}", what, last_events()));
}

void Checker::note(const char* what, ThreadIndex thread, CoreIndex core) {
  last_[noted_++ % kLast] = {now_, what, thread, core};
}

Checker::Seen& Checker::seen(ThreadIndex thread) {
  if (thread >= threads_.size()) threads_.resize(thread + 1);
  return threads_[thread];
}

void Checker::become(ThreadIndex thread, Is is) {
  Seen& it = seen(thread);
  ready_ -= it.is == Is::ready;
  between_ -= it.is == Is::taken_off;
  it.is = is;
  it.since = now_;
  ready_ += is == Is::ready;
  between_ += is == Is::taken_off;
}

void Checker::time(Nanoseconds now) {
  if (now < now_) broken(fmt::format("time ran back from {} to {} ns", now_, now));
  now_ = now;
}

void Checker::at_rest() {
  if (between_) broken("a thread was taken off its core and is now neither ready nor waiting");
  if (promises_.work_conserving) {
    unsigned below = scheduler_ ? scheduler_->sharing() : 0;
    if (ready_ > below && busy_ < cores_.size()) {
      broken(fmt::format("{} of {} cores are idle while {} threads are ready",
                         cores_.size() - busy_, cores_.size(), ready_ - below));
    }
  }
  constexpr std::uint64_t kLook = 4096;
  if (promises_.longest_wait && ++rests_ % kLook == 0) {
    for (ThreadIndex i = 0; i < threads_.size(); ++i) check_wait(i);
  }
}

void Checker::check_wait(ThreadIndex thread) const {
  const Seen& it = threads_[thread];
  if (promises_.longest_wait == 0 || it.is != Is::ready) return;
  if (now_ - it.since > promises_.longest_wait) {
    broken(fmt::format("thread {} has been ready for {} ns, longer than {}", thread,
                       now_ - it.since, promises_.longest_wait));
  }
}

void Checker::started(ThreadIndex thread, ProcessIndex) {
  note("is started", thread);
  Seen& it = seen(thread);
  if (it.is != Is::unknown && it.is != Is::ended)
    broken(fmt::format("thread {} is started while it lives", thread));
  it = {};
}

void Checker::ready(ThreadIndex thread) {
  note("is ready", thread);
  Seen& it = seen(thread);
  if (it.is == Is::ready || it.is == Is::running || it.is == Is::ended)
    broken(fmt::format("thread {} becomes ready and is ready, running or gone", thread));
  become(thread, Is::ready);
}

void Checker::dispatched(CoreIndex core, ThreadIndex thread) {
  note("runs on", thread, core);
  if (cores_[core] != kNoThread)
    broken(fmt::format("core {} runs threads {} and {}", core, cores_[core], thread));
  Seen& it = seen(thread);
  if (it.is == Is::running)
    broken(fmt::format("thread {} runs on cores {} and {}", thread, it.core, core));
  if (it.is != Is::ready) broken(fmt::format("thread {} runs and is not ready", thread));
  check_wait(thread);
  become(thread, Is::running);
  it.core = core;
  it.on_core = 0;
  cores_[core] = thread;
  ++busy_;
}

// What it has executed fits into the time it had the core.
void Checker::check_pace(ThreadIndex thread) {
  const Seen& it = seen(thread);
  if (promises_.most_work && it.on_core > (now_ - it.since) * promises_.most_work) {
    broken(fmt::format("thread {} executed {} millionths of a cycle in {} ns", thread, it.on_core,
                       now_ - it.since));
  }
}

void Checker::taken_off(CoreIndex core, ThreadIndex thread) {
  note("leaves", thread, core);
  if (cores_[core] != thread)
    broken(fmt::format("thread {} leaves core {} and did not run there", thread, core));
  check_pace(thread);
  become(thread, Is::taken_off);
  cores_[core] = kNoThread;
  --busy_;
}

void Checker::waits(ThreadIndex thread, bool in_kernel) {
  note(in_kernel ? "waits in the kernel" : "waits", thread);
  if (seen(thread).is != Is::taken_off)
    broken(fmt::format("thread {} waits and has not left a core", thread));
  become(thread, Is::waiting);
}

void Checker::ended(ThreadIndex thread) {
  note("has ended", thread);
  if (seen(thread).is != Is::taken_off)
    broken(fmt::format("thread {} ends and has not left a core", thread));
  become(thread, Is::ended);
}

void Checker::queued(ObjectId object, ThreadIndex thread) {
  queues_[{object.kind, object.index}].push_back(thread);
}

void Checker::served(ObjectId object, ThreadIndex thread) {
  std::deque<ThreadIndex>& queue = queues_[{object.kind, object.index}];
  if (queue.empty() || queue.front() != thread) {
    broken(fmt::format("thread {} is served out of turn at object {}{}", thread,
                       "mrbqd"[static_cast<unsigned>(object.kind)], object.index));
  }
  queue.pop_front();
}

void Checker::executed(ThreadIndex thread, std::uint64_t work) {
  Seen& it = seen(thread);
  it.executed += work;
  it.on_core += work;
  if (it.is == Is::running) check_pace(thread);
}

void Checker::computed(ThreadIndex thread, std::uint64_t work) {
  Seen& it = seen(thread);
  if (it.executed != work) {
    broken(fmt::format("thread {} was to execute {} millionths of a cycle and executed {}", thread,
                       work, it.executed));
  }
  it.executed = 0;
}

void Checker::finish(bool stuck) {
  for (ThreadIndex i = 0; i < threads_.size(); ++i) {
    check_wait(i);
    if (stuck && threads_[i].is == Is::ready)
      broken(fmt::format("thread {} is ready and was lost", i));
  }
}

}  // namespace roost::sim
