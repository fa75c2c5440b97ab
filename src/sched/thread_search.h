// Which READY thread a core runs next: out of its own queue, or another core's (sched/PROTOCOL.md).
//
// Nothing here changes who owns a core; what is found is out of its queue and in the caller's
// hands.
#pragma once

#include <algorithm>

#include "sched/ready_queues.h"

namespace roost {

template <class W, class Os>
class ThreadSearch : public ReadyQueues<W, Os> {
  using Queues = ReadyQueues<W, Os>;

 public:
  using Record = ThreadRecord<W>;
  using Queues::Queues;

  // By the owner of `core`, a thread of `process`: whether the policy would turn to another process
  // whose threads are queued there.
  bool turn_is_over(CoreIndex core, ProcessIndex process) {
    if (process >= t_.n_processes || length(core) == 0) return false;
    PolicyContext context = context_now();
    lock(core);
    ProcessIndex next = chosen_beside(context, core, process);
    unlock(core);
    return next != process && next != kNoProcess;
  }

 protected:
  using Queues::announced;
  using Queues::fifo;
  using Queues::length;
  using Queues::lock;
  using Queues::os_;
  using Queues::retract_queued;
  using Queues::t_;
  using Queues::unlink;
  using Queues::unlock;
  using typename Queues::Place;

  // A core on which threads run that Roost does not know (sched/contention.h). Only threads that
  // have been READY for so long are granted it: longer than the kernel would make them wait there.
  static constexpr Nanoseconds kContendedAge = 4'000'000;
  bool is_contended(CoreIndex core) const { return has_bit(t_.contended, core); }

  bool is_free(CoreIndex core) const {
    return t_.cores[core].owner.load(std::memory_order_seq_cst) == 0 && !is_contended(core);
  }

  // Whether somebody spins on that idle core and will look for READY threads. Who has not looked
  // for so long is stopped, killed, or kept from its CPU.
  static constexpr Nanoseconds kLookedLately = 20'000;
  bool is_attended(CoreIndex core, Nanoseconds now) const {
    Nanoseconds looked = t_.cores[core].attended_ns.load(std::memory_order_relaxed);
    return looked != 0 && now < looked + kLookedLately && is_free(core);
  }

  // Whether the kernel has kept a thread from the CPU of that core of late, as it may do to whoever
  // attends it.
  bool is_late(CoreIndex core, Nanoseconds now) const {
    return now < t_.cores[core].late_until_ns.load(std::memory_order_relaxed);
  }

  // A search for a thread to run.
  struct Search {
    CoreIndex core;                     // that will run it
    Nanoseconds minimum_age;            // in other cores' queues, it must have waited for so long;
                                        // if this core is set aside, in its own as well
    bool pass_over;                     // leave threads that wait for a word that has not changed
    bool passed_over = false;           // there were such
    ProcessIndex only = kNoProcess;     // of this process; else the policy chooses
    ProcessIndex turn_of = kNoProcess;  // nobody else while the policy would serve this one
    std::uint32_t in_vain = 0;   // yields of the caller's process, of late, without anything to do
    std::uint32_t gives_to = 0;  // so its threads were left, for those of so many others
    Nanoseconds lone_age = 0;    // the only thread in another core's queue must have waited so long
  };

  // The oldest thread of the caller's process in the queue of `core` that has something to do.
  Place first_with_work(const PolicyContext& context, CoreIndex core, ProcessIndex process) {
    const Fifo& queue = fifo(core, process);
    ThreadIndex before = kNoThread, i = queue.head;
    for (std::uint32_t n = queue.length; n > 0 && i != kNoThread; --n, i = t_.threads[i].next) {
      const Record& record = t_.threads[i];
      if (record.wait_words == 0 || !os_.waits_in_vain(record, context.now - record.ready_ns))
        return {i, before};
      before = i;
    }
    return {kNoThread, kNoThread};
  }

  // Whether each thread of the caller's process that is queued there has yielded twice without
  // anything to do, while another process waits there.
  bool has_given_up(const Search& search, CoreIndex from, ProcessIndex own) const {
    std::uint32_t queued = t_.fifos[from * t_.n_processes + own].length;
    return search.in_vain > 2 * queued && from == search.core && length(from) > queued;
  }

  // Under the lock of `from`, which has threads: whether there is one alone that stays for now.
  bool leaves_lone(const PolicyContext& context, const Search& search, CoreIndex from,
                   ThreadIndex first) const {
    return search.lone_age && from != search.core && length(from) == 1 && first != kNoThread &&
           context.now < t_.threads[first].ready_ns + search.lone_age;
  }

  // Under the lock of `from`: the thread that the searching core should run, taken out of its
  // queue: the policy's choice, or the oldest where that has not waited for long enough.
  ThreadIndex pop_for(const PolicyContext& context, Search& search, CoreIndex from) {
    CoreSlot<W>& slot = t_.cores[from];
    const std::uint64_t* ready = slot.ready_processes;
    std::uint64_t others[kProcessWords];
    ProcessIndex own = os_.process();
    Place of_own{kNoThread, kNoThread};
    if (search.pass_over && own < kMaxProcesses && fifo(from, own).length) {
      of_own = first_with_work(context, from, own);
      search.passed_over = of_own.thread == kNoThread;
      bool gives_up = !search.passed_over && has_given_up(search, from, own);
      if (search.passed_over || gives_up) {
        for (unsigned w = 0; w < kProcessWords; ++w) others[w] = ready[w];
        others[own / 64] &= ~(1ull << (own % 64));
        ready = others;
      }
      for (unsigned w = 0; gives_up && w < kProcessWords; ++w)
        search.gives_to += static_cast<std::uint32_t>(__builtin_popcountll(others[w]));
    }
    QueueView view(ready, t_.fifos + from * t_.n_processes, t_.n_processes);
    // Counted, and nowhere: somebody overtaken has written here.
    if (ready != others && view.next_after(kNoProcess) == kNoProcess)
      return unlink(from, 0, {kNoThread, kNoThread});
    ProcessIndex process = search.only;
    if (process == kNoProcess) {
      process = t_.policy->core_free(context, search.core, from, t_.cores[search.core].policy_words,
                                     view);
    }
    if (!view.has(process) || !may_serve(context, search, from, process)) return kNoThread;
    Place place = process == own && of_own.thread != kNoThread
                      ? of_own
                      : Place{fifo(from, process).head, kNoThread};
    if (leaves_lone(context, search, from, place.thread)) return kNoThread;
    if (place.thread != kNoThread && search.minimum_age &&
        (from != search.core || is_contended(from)) &&
        context.now - t_.threads[place.thread].ready_ns < search.minimum_age) {
      return pop_oldest(context, search, from);
    }
    return unlink(from, process, place);
  }

  ThreadIndex take_from(const PolicyContext& context, Search& search, CoreIndex from) {
    if (length(from) == 0 && !announced(from)) return kNoThread;
    ThreadIndex thread = kNoThread;
    lock(from);
    if (length(from)) {
      thread = pop_for(context, search, from);
    } else {
      retract_queued(from);
    }
    unlock(from);
    return thread;
  }

  // Under the lock of `from`: the thread there that has waited longest, if that is long enough and
  // the policy lets the searching core have it.
  ThreadIndex pop_oldest(const PolicyContext& context, const Search& search, CoreIndex from) {
    if (search.minimum_age > context.now) return kNoThread;
    const Fifo* fifos = t_.fifos + from * t_.n_processes;
    Nanoseconds latest = context.now - search.minimum_age;
    ProcessIndex oldest = kNoProcess;
    for (unsigned word = 0; word < kProcessWords; ++word) {
      for (std::uint64_t left = t_.cores[from].ready_processes[word]; left; left &= left - 1) {
        auto p =
            static_cast<ProcessIndex>(word * 64 + static_cast<unsigned>(__builtin_ctzll(left)));
        if (fifos[p].head == kNoThread) continue;
        const Record& head = t_.threads[fifos[p].head];
        if ((search.only != kNoProcess && p != search.only) || head.ready_ns > latest) continue;
        if (p == os_.process() && head.wait_words) continue;
        oldest = p;
        latest = head.ready_ns;
      }
    }
    if (oldest == kNoProcess) return kNoThread;
    ProcessIndex other = search.turn_of == kNoProcess ? oldest : search.turn_of;
    if (chosen_of(context, search.core, from, oldest, other) != oldest) return kNoThread;
    return unlink(from, oldest, {fifos[oldest].head, kNoThread});
  }

  // Whether the policy, asked for `core`, would serve `process` next and not `other`.
  bool turn_goes_on(const PolicyContext& context, CoreIndex core, ProcessIndex process,
                    ProcessIndex other) {
    if (process >= t_.n_processes || other >= t_.n_processes) return false;
    lock(core);
    bool goes_on = chosen_of(context, core, core, process, other) == process;
    unlock(core);
    return goes_on;
  }

  PolicyContext context_now() {
    return {os_.now(), t_.parameters, t_.info, t_.n_cores, t_.policy->data};
  }

  // Under the lock of `core`: whom the policy would serve there if `process` waited for it, too.
  ProcessIndex chosen_beside(const PolicyContext& context, CoreIndex core, ProcessIndex process) {
    CoreSlot<W>& slot = t_.cores[core];
    std::uint64_t offered[kProcessWords];
    for (unsigned w = 0; w < kProcessWords; ++w) offered[w] = slot.ready_processes[w];
    offered[process / 64] |= 1ull << (process % 64);
    QueueView view(offered, t_.fifos + core * t_.n_processes, t_.n_processes);
    return t_.policy->core_free(context, core, core, slot.policy_words, view);
  }

  // Under the lock of `from`, of one of the two that are offered there.
  bool may_serve(const PolicyContext& context, const Search& search, CoreIndex from,
                 ProcessIndex process) {
    return search.turn_of == kNoProcess || search.turn_of == process ||
           chosen_of(context, search.core, from, process, search.turn_of) == process;
  }
  ProcessIndex chosen_of(const PolicyContext& context, CoreIndex core, CoreIndex from,
                         ProcessIndex one, ProcessIndex other) {
    std::uint64_t offered[kProcessWords] = {};
    for (ProcessIndex p : {one, other}) offered[p / 64] |= 1ull << (p % 64);
    QueueView view(offered, t_.fifos + from * t_.n_processes, t_.n_processes);
    return t_.policy->core_free(context, core, from, t_.cores[core].policy_words, view);
  }

  // From the queues of other cores, but those whose attendants serve them.
  ThreadIndex steal(const PolicyContext& context, Search& search) {
    ThreadIndex thread = kNoThread;
    queue_beside(search.core, [&](CoreIndex from) {
      if (!is_attended(from, context.now)) thread = take_from(context, search, from);
      return thread != kNoThread;
    });
    return thread;
  }

  // The first other core with a queue for which `is_it(core)`: of the NUMA node, then of all.
  template <class IsIt>
  CoreIndex queue_beside(CoreIndex core, IsIt&& is_it) {
    return nearest_bit(t_, t_.queued, core,
                       [&](CoreIndex from) { return from != core && is_it(from); });
  }

  // Asks the next cores in turn until `take(from, more)` gives a thread; `more`: how many more are
  // queued there than on `core`, as far as a look without the locks can tell.
  static constexpr CoreIndex kNeighbours = 8;
  template <class Take>
  ThreadIndex from_neighbours(CoreIndex core, Take&& take) {
    CoreIndex from = core;
    for (int step = std::min<int>(kNeighbours, t_.n_cores - 1); step > 0; --step) {
      from = from + 1u < t_.n_cores ? static_cast<CoreIndex>(from + 1) : CoreIndex{0};
      std::uint32_t there = length(from), here = length(core);
      ThreadIndex guest = take(from, there > here ? there - here : 0);
      if (guest != kNoThread) return guest;
    }
    return kNoThread;
  }

  ThreadIndex take_oldest(const PolicyContext& context, const Search& search, CoreIndex from) {
    lock(from);
    ThreadIndex thread = pop_oldest(context, search, from);
    unlock(from);
    return thread;
  }
};

}  // namespace roost
