// The queues of READY threads: a FIFO a process and core, each core's under its lock, and the mask
// of the cores that have any (sched/PROTOCOL.md). They are an index over the records, whose state
// words say who is queued where: whoever takes a lock from its holder makes them anew.
//
// The Os is the ledger's.
#pragma once

#include <algorithm>

#include "sched/ledger_tables.h"

namespace roost {

template <class W, class Os>
class ReadyQueues {
 public:
  using Record = ThreadRecord<W>;

  ReadyQueues(const LedgerTables<W>& tables, Os& os) : t_(tables), os_(os) {}

  const LedgerTables<W>& tables() const { return t_; }

  // By the keeper after a process died: drops its queued threads; `freed(thread)` for each.
  template <class Freed>
  void purge(ProcessIndex process, Freed&& freed) {
    for (CoreIndex core = 0; core < t_.n_cores; ++core) {
      lock(core);
      while (fifo(core, process).length) {
        ThreadIndex thread = pop(core, process);
        if (thread != kNoThread) freed(thread);
      }
      unlock(core);
    }
  }

  // Rebuilds the queues of `core` from the records alone (DESIGN section 3), oldest first.
  void rebuild(CoreIndex core) {
    lock(core);
    rebuild_locked(core);
    unlock(core);
  }

  // By the leader: makes the queues of `core` anew if their count is wrong, or `thread`, unless
  // that is kNoThread, should be in one of them and is not.
  void check_queues(CoreIndex core, ThreadIndex thread) {
    lock(core);
    if (!is_counted(core) || (thread != kNoThread && is_missing(core, thread)))
      rebuild_locked(core);
    unlock(core);
  }

  // Threads queued on `core`, oldest first per process; for checks and tests.
  template <class Visit>
  void visit_queue(CoreIndex core, Visit&& visit) {
    lock(core);
    for (unsigned p = 0; p < t_.n_processes; ++p) {
      Fifo& queue = fifo(core, static_cast<ProcessIndex>(p));
      for (ThreadIndex i = queue.length ? queue.head : kNoThread; i != kNoThread;
           i = t_.threads[i].next)
        visit(i);
    }
    unlock(core);
  }

  // Whether threads of `process` are queued on `core`.
  bool has_queued(CoreIndex core, ProcessIndex process) {
    if (length(core) == 0) return false;
    lock(core);
    bool some = fifo(core, process).length != 0;
    unlock(core);
    return some;
  }

  // Whether the mask says so: a bit may outlive the last thread in its queue.
  bool any_queued() const {
    for (unsigned w = 0; w * 64 < t_.n_cores; ++w) {
      if (t_.queued[w].bits.load(std::memory_order_seq_cst)) return true;
    }
    return false;
  }

  // The first core from `from` on, counted round, or from 0 if that is none, that has threads
  // queued, as a look without the locks can tell, and its passes.
  struct Queue {
    CoreIndex core = kNoCore;
    std::uint32_t passes = 0;
    bool operator==(const Queue&) const = default;
  };
  Queue first_queue(CoreIndex from = 0) const {
    Queue found = first_queue_of(from, t_.n_cores);
    return found.core == kNoCore ? first_queue_of(0, std::min(from, t_.n_cores)) : found;
  }

  // Whether threads are queued; bits that outlived their queues are cleared.
  bool find_queued() {
    bool some = false;
    for (CoreIndex core = next_bit(t_.queued, 0, t_.n_cores); core != kNoCore;
         core = next_bit(t_.queued, static_cast<CoreIndex>(core + 1), t_.n_cores)) {
      if (length(core) == 0) {
        lock(core);
        retract_queued(core);
        unlock(core);
      }
      some = some || length(core) != 0;
    }
    return some;
  }

 private:
  Queue first_queue_of(CoreIndex first, CoreIndex end) const {
    CoreIndex core =
        next_bit(t_.queued, first, end, [&](CoreIndex queue) { return length(queue) != 0; });
    if (core == kNoCore) return {};
    return {core, t_.cores[core].passes.load(std::memory_order_relaxed)};
  }

 protected:
  Fifo& fifo(CoreIndex core, ProcessIndex p) { return t_.fifos[core * t_.n_processes + p]; }

  // Taken from a holder who has had it for some milliseconds: he is dead, stopped or starved.
  void lock(CoreIndex core) {
    auto& holder = t_.cores[core].lock.holder;
    LongHold long_hold;
    for (unsigned spins = 1;; ++spins) {
      Party seen = holder.load(std::memory_order_relaxed);
      bool overtakes = seen != kNobody && spins % tries() == 0 && long_hold.by(seen, os_.now());
      if ((seen == kNobody || overtakes) &&
          holder.compare_exchange_strong(seen, os_.self(), std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
        if (overtakes) rebuild_locked(core);
        return;
      }
      os_.relax(spins);
    }
  }
  // Who has been overtaken may have written into queues that were another's by then. A look and a
  // store would not do: what the holder wrote may become visible after his look.
  void unlock(CoreIndex core) {
    auto& holder = t_.cores[core].lock.holder;
    for (Party self = os_.self(); !holder.compare_exchange_strong(
             self, kNobody, std::memory_order_release, std::memory_order_relaxed);
         self = os_.self()) {
      lock(core);
      rebuild_locked(core);
    }
  }

  // The bit is set by whoever queues and cleared by whoever finds the queue empty (take_from,
  // find_queued): a core whose queue swings between empty and one thread writes no shared
  // line.
  void announce_queued(CoreIndex core) {
    if (!announced(core)) set_bit(t_.queued, core);
  }
  // Under the core's lock [queued-1]: whoever queues next finds the bit clear and sets it again.
  void retract_queued(CoreIndex core) {
    if (length(core) == 0) clear_bit(t_.queued, core);
  }
  bool announced(CoreIndex core) const { return has_bit(t_.queued, core); }

  // How many are queued; without the lock it is a hint.
  std::uint32_t length(CoreIndex core) const {
    return t_.cores[core].ready.load(std::memory_order_relaxed);
  }

  // To the end of a queue, for all to see. The caller, in whose hands it is, looks for idle cores
  // after that [idle-1].
  void enqueue(CoreIndex core, ThreadIndex thread) {
    lock(core);
    push(core, thread);
    unlock(core);
    announce_queued(core);
  }

  void push(CoreIndex core, ThreadIndex thread) {
    Record& record = t_.threads[thread];
    if (!pass_on(record, os_.self(), queue_of_core(core))) return;
    Fifo& queue = fifo(core, record.process);
    record.next = kNoThread;
    if (is_filled(queue)) {
      t_.threads[queue.tail].next = thread;
    } else {
      queue.head = thread;
      mark_process(core, record.process);
    }
    queue.tail = thread;
    ++queue.length;
    set_length(core, length(core) + 1);
  }

  void push_front(CoreIndex core, ThreadIndex thread) {
    Record& record = t_.threads[thread];
    if (!pass_on(record, os_.self(), queue_of_core(core))) return;
    Fifo& queue = fifo(core, record.process);
    record.next = is_filled(queue) ? queue.head : kNoThread;
    if (!is_filled(queue)) {
      queue.tail = thread;
      mark_process(core, record.process);
    }
    queue.head = thread;
    ++queue.length;
    set_length(core, length(core) + 1);
  }

  // A thread in a FIFO and the one before it there.
  struct Place {
    ThreadIndex thread;
    ThreadIndex before;
  };
  // Into the caller's hands. kNoThread if the queues are not what the records say, because somebody
  // overtaken has written there: then they are made anew.
  ThreadIndex unlink(CoreIndex core, ProcessIndex process, Place place) {
    auto [thread, before] = place;
    if (thread == kNoThread || !pass_on(t_.threads[thread], queue_of_core(core), os_.self())) {
      rebuild_locked(core);
      return kNoThread;
    }
    Fifo& queue = fifo(core, process);
    Record& record = t_.threads[thread];
    (before == kNoThread ? queue.head : t_.threads[before].next) = record.next;
    if (queue.tail == thread) queue.tail = before;
    if (queue.length <= 1) {
      queue = {kNoThread, kNoThread, 0};
      t_.cores[core].ready_processes[process / 64] &= ~(1ull << (process % 64));
    } else {
      --queue.length;
    }
    record.next = kNoThread;
    set_length(core, length(core) - 1);
    return thread;
  }

  LedgerTables<W> t_;
  Os& os_;

 private:
  // For a lock, between two looks at its holder.
  unsigned tries() {
    if constexpr (requires { os_.lock_tries; }) return os_.lock_tries;
    return 64;
  }

  // Whether the same party has had a lock for long, as far as the caller has seen.
  class LongHold {
   public:
    bool by(Party holder, Nanoseconds now) {
      if (holder != holder_) {
        holder_ = holder;
        since_ = now;
      }
      return now - since_ >= kLong;
    }

   private:
    static constexpr Nanoseconds kLong = 4'000'000;
    Party holder_ = kNobody;
    Nanoseconds since_ = 0;
  };

  // Whether its record says that the thread is queued on `core`, and no queue there has it.
  bool is_missing(CoreIndex core, ThreadIndex thread) {
    const Record& record = t_.threads[thread];
    ProcessIndex process = record.process;
    if (queue_of(record.state.load(std::memory_order_relaxed)) != core) return false;
    if (process >= t_.n_processes) return false;
    if (!(t_.cores[core].ready_processes[process / 64] >> (process % 64) & 1)) return true;
    const Fifo& queue = fifo(core, process);
    ThreadIndex i = queue.head;
    for (std::uint32_t n = queue.length; n > 0 && i != kNoThread; --n, i = t_.threads[i].next)
      if (i == thread) return false;
    return true;
  }
  bool is_counted(CoreIndex core) {
    std::uint32_t total = 0;
    for (unsigned p = 0; p < t_.n_processes; ++p)
      total += fifo(core, static_cast<ProcessIndex>(p)).length;
    return total == length(core);
  }
  static bool is_filled(const Fifo& queue) { return queue.length && queue.tail != kNoThread; }

  ThreadIndex pop(CoreIndex core, ProcessIndex process) {
    return unlink(core, process, {fifo(core, process).head, kNoThread});
  }

  void set_length(CoreIndex core, std::uint32_t length) {
    t_.cores[core].ready.store(length, std::memory_order_relaxed);
  }

  void mark_process(CoreIndex core, ProcessIndex process) {
    t_.cores[core].ready_processes[process / 64] |= 1ull << (process % 64);
  }

  void rebuild_locked(CoreIndex core) {
    for (unsigned p = 0; p < t_.n_processes; ++p)
      fifo(core, static_cast<ProcessIndex>(p)) = {kNoThread, kNoThread, 0};
    for (std::uint64_t& word : t_.cores[core].ready_processes) word = 0;
    std::uint32_t total = 0;
    for (ThreadIndex i = 0; i < t_.n_threads; ++i) {
      Record& record = t_.threads[i];
      if (queue_of(record.state.load(std::memory_order_relaxed)) != core) continue;
      if (record.process >= t_.n_processes) continue;
      insert_by_age(core, i);
      ++total;
    }
    set_length(core, total);
    if (total) announce_queued(core);
  }

  void insert_by_age(CoreIndex core, ThreadIndex thread) {
    Record& record = t_.threads[thread];
    Fifo& queue = fifo(core, record.process);
    ThreadIndex before = kNoThread;
    ThreadIndex after = queue.length ? queue.head : kNoThread;
    for (std::uint32_t i = 0;
         i < queue.length && after != kNoThread && t_.threads[after].ready_ns <= record.ready_ns;
         ++i) {
      before = after;
      after = t_.threads[after].next;
    }
    record.next = after;
    (before == kNoThread ? queue.head : t_.threads[before].next) = thread;
    if (after == kNoThread) queue.tail = thread;
    if (queue.length++ == 0) mark_process(core, record.process);
  }
};

}  // namespace roost
