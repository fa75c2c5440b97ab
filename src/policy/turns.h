// Whose turn it is on a core: processes have it for a quantum each (USF section 4.1), and those
// that need it for moments only have interludes in the turns of the others
// (docs/design/029-interludes.md).
//
// A process is *brief* until it has had a core for as long as the parameter of that name, and
// becomes so again after some turns that were shorter. Where a process has had its core for that
// long, those that are brief and have READY threads get it, for as long in all; then the turn goes
// on: its owner keeps the rest of its quantum, and has no other interlude before it has had the
// core for as long as this one took.
#pragma once

#include "policy/policy.h"

namespace roost {

// Works on the five words of a core. Processes share a bit of `heavy` with those whose index
// differs by a multiple of 64: then the one may wait longer, or less long, for the other's sake.
class Turns {
 public:
  // Of a policy's table: the first, and the one with the index kBrief.
  static constexpr unsigned kQuantum = 0, kBrief = 3;

  Turns(const PolicyContext& context, std::uint64_t* words)
      : now_(context.now),
        quantum_(context.parameters[kQuantum]),
        brief_(context.parameters[kBrief]),
        words_(words) {}

  ProcessIndex serving() const { return process(kServing); }

  // Whose thread is to have the core next; changes nothing.
  ProcessIndex next(const QueueView& queues) const {
    ProcessIndex current = serving();
    if (in_interlude()) {
      ProcessIndex owner = process(kOwner);
      ProcessIndex guest = interlude_over() ? kNoProcess : queues.next_after(current, all_brief());
      if (guest != kNoProcess) return guest;
      return queues.has(owner) ? owner : queues.next_after(owner);
    }
    if (turn_over() || !queues.has(current)) return queues.next_after(current);
    ProcessIndex guest = kNoProcess;
    if (has_interlude()) guest = queues.next_after(process(kGuest), all_brief() & ~bit(current));
    return guest != kNoProcess ? guest : current;
  }

  // A thread of `next` has the core.
  void granted(ProcessIndex next) {
    ProcessIndex current = serving();
    if (next == current && (in_interlude() ? !interlude_over() : !turn_over())) {
      if (is(kIdle)) serve(next);
      return;
    }
    weigh();
    bool guest = (all_brief() & bit(next)) != 0;
    if (in_interlude() && next == process(kOwner)) {
      resume(next);
    } else if (in_interlude() && guest && !interlude_over()) {
      serve(next);
      set_process(kGuest, next);
    } else if (!in_interlude() && guest && has_interlude() && !turn_over()) {
      words_[used_before] = now_ - words_[since];
      set_process(kOwner, current);
      set_process(kGuest, next);
      begin(next);
    } else {
      set_process(kOwner, kNoProcess);
      begin(next);
    }
  }

  // Nobody is READY: the core is left idle.
  void idle() {
    weigh();
    set_process(kOwner, kNoProcess);
    words_[processes] |= kIdle;
  }

 private:
  // since: when the turn began, or the interlude; earlier times of the same turn are added by
  // beginning earlier. had_since: when the one that is served got the core; later by as much as
  // its last interlude was longer than it had to be.
  enum Word { processes, since, had_since, heavy, used_before };
  // In the word `processes`, as index + 1: who is served, whose turn the interlude is in, who had
  // one last.
  enum Shift { kServing = 0, kOwner = 16, kGuest = 32 };
  // There, too: the core has been idle since; the one that is served has had an interlude in its
  // turn.
  static constexpr std::uint64_t kIdle = 1ull << 63, kResumed = 1ull << 62;

  ProcessIndex process(Shift shift) const {
    return static_cast<ProcessIndex>((words_[processes] >> shift & 0xffff) - 1);
  }
  void set_process(Shift shift, ProcessIndex process) {
    std::uint64_t index = static_cast<std::uint16_t>(process + 1u);
    words_[processes] = (words_[processes] & ~(0xffffull << shift)) | index << shift;
  }
  static std::uint64_t bit(ProcessIndex process) { return 1ull << (process % 64); }
  bool is(std::uint64_t flag) const { return (words_[processes] & flag) != 0; }
  std::uint64_t all_brief() const { return brief_ ? ~words_[heavy] : 0; }

  bool in_interlude() const { return process(kOwner) != kNoProcess; }
  bool interlude_over() const { return now_ - words_[since] >= brief_; }
  bool turn_over() const { return now_ - words_[since] >= quantum_; }
  // Whether it is time for one. A core that was idle is free for all.
  bool has_interlude() const { return !is(kIdle) && now_ >= words_[had_since] + brief_; }

  // Whoever is about to lose the core, or to have it for another turn, is found brief or heavy. One
  // in eight brief turns of a heavy process counts, picked by the last bits of the time: those who
  // compute together have short turns between, too.
  void weigh() {
    if (serving() == kNoProcess || is(kIdle)) return;
    if (is(kResumed) || now_ >= words_[had_since] + brief_) {
      words_[heavy] |= bit(serving());
    } else if (now_ * 0x9e3779b97f4a7c15 >> 61 == 0) {
      words_[heavy] &= ~bit(serving());
    }
  }

  void serve(ProcessIndex next) {
    words_[had_since] = now_;
    set_process(kServing, next);
    words_[processes] &= ~(kIdle | kResumed);
  }
  void begin(ProcessIndex next) {
    words_[since] = now_;
    serve(next);
  }
  void resume(ProcessIndex owner) {
    Nanoseconds took = now_ - words_[since];
    begin(owner);
    words_[since] -= words_[used_before];
    if (took > brief_) words_[had_since] += took - brief_;
    set_process(kOwner, kNoProcess);
    words_[processes] |= kResumed;
  }

  Nanoseconds now_, quantum_, brief_;
  std::uint64_t* words_;
};

}  // namespace roost
