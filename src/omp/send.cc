// Which members of a team, and calls of other batches, are sent to threads.
#include "omp/send.h"

#include "ult/carriers.h"
#include "ult/kernel.h"

namespace roost::omp {
namespace {

// To a worker that may not listen yet, until `over()`, asked now and then.
template <typename Over>
bool send_until(ult::Batch& batch, unsigned worker, unsigned call, Over over) {
  constexpr unsigned kLookEvery = 64;
  for (unsigned tries = 1; !ult::send(worker, batch, call, true); ++tries) {
    if (worker >= ult::workers_count()) return false;  // dismissed
    cpu_pause();
    if (tries % kLookEvery != 0) continue;
    ult::host::yield();
    if (over()) return false;
  }
  return true;
}

// Whether a time has passed since it was asked first.
class Deadline {
 public:
  explicit Deadline(Nanoseconds longest) : longest_(longest) {}
  bool over() {
    Nanoseconds now = ult::kernel::now();
    if (!until_) until_ = now + longest_;
    return now > until_;
  }

 private:
  Nanoseconds longest_;
  Nanoseconds until_ = 0;
};

// As long as it will listen for certain, and else for so long that it must be at work for somebody
// else.
bool send_patiently(Team& team, unsigned worker, unsigned number) {
  Deadline deadline(100'000'000);
  return send_until(team, worker, number,
                    [&] { return !ult::will_listen(worker, team) && deadline.over(); });
}

// Longer than a thread takes to begin, and than one that is woken takes to look.
bool send_soon(ult::Batch& batch, unsigned worker, unsigned call) {
  Deadline deadline(10'000'000);
  return send_until(batch, worker, call, [&] { return deadline.over(); });
}

// A worker that belongs to nobody, and now to the team. False if there are no more threads.
bool claim_worker(Team& team, unsigned number) {
  for (unsigned worker = 0;; ++worker) {
    if (ult::ensure_workers(worker + 1) <= worker) return false;
    if (!ult::claim(worker)) continue;
    if (ult::send(worker, team, number, true) ||
        (ult::will_listen(worker, team) && send_patiently(team, worker, number))) {
      team.own[number - 1] = static_cast<std::uint16_t>(worker + 1);
      return true;
    }
    ult::unclaim(worker);
  }
}

}  // namespace

bool crowded() {
  if (ult::active_carriers.load(std::memory_order_relaxed) > ult::host::cores()) return true;
  return ult::host::others_wait() && !ult::spinner_elsewhere();
}

Courier::Courier(unsigned calls) {
  if (!calls) return;
  unsigned before = ult::workers_count();
  workers_ = ult::ensure_workers(calls);
  // Without those just made the first batches of a program would begin all their calls here, one
  // after the other.
  fresh_ = workers_ > before && ult::core_to_spare() ? before : workers_;
}

unsigned Courier::send(ult::Batch& batch, unsigned call, bool after_unseen) {
  while (next_ < workers_) {
    unsigned worker = next_++;
    if (ult::send(worker, batch, call, spare_)) return worker;
    if (!asked_ && ult::asleep(worker)) {
      asked_ = true;
      spare_ = ult::core_to_spare() || ult::look_for_spinners();
      if (spare_ && ult::send(worker, batch, call, true)) return worker;
    }
    if (worker < fresh_ && !(after_unseen && ult::will_listen(worker, batch))) continue;
    if (send_soon(batch, worker, call)) return worker;
  }
  return kNobody;
}

void dismiss_idle_workers() {
  Deadline deadline(10'000'000);
  while (!ult::dismiss_workers() && !deadline.over()) ult::host::yield();
}

void send_members(Team& team, bool after_unseen) {
  unsigned wanted = team.size - 1;
  if (wanted >= ult::host::cores()) wanted = ult::host::cores() - 1;
  Courier courier(wanted);
  while (team.n_sent < wanted) {
    unsigned worker = courier.send(team, team.n_sent + 1, after_unseen);
    if (worker == Courier::kNobody) return;
    team.sent[team.n_sent++] = static_cast<std::uint16_t>(worker);
  }
}

void send_to_own_threads(Team& team) {
  for (unsigned number = 1; number < team.size; ++number) {
    unsigned own = team.own[number - 1];
    // It may have been dismissed since.
    if (own && !send_patiently(team, own - 1, number)) {
      ult::unclaim(own - 1);
      own = team.own[number - 1] = 0;
    }
    if (!own && !claim_worker(team, number)) return;  // the rest become light
    team.sent[team.n_sent++] = static_cast<std::uint16_t>(team.own[number - 1] - 1);
  }
}

}  // namespace roost::omp
