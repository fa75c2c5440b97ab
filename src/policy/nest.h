// NEST (EuroSys '22, section 3): threads stay close together on warm cores.
//
// Two sets of cores are preferred for a thread that becomes READY. The primary nest holds cores in
// use lately; the reserve nest, of bounded size, those that were, or that have not proved their
// worth yet. The search (section 3.1, Fig. 1) goes
//
//   the core the thread is attached to, if it is in the primary nest and idle (section 3.3)
//   the primary nest from the thread's last core on, the same socket first; a core found there that
//     has been idle for p_remove is demoted instead of taken (compaction on touch)
//   the reserve nest from core 0 on, the same socket first; the core found is promoted
//   what CFS would choose (section 2.1), but from the whole machine in the end (section 3.4, work
//     conservation); it enters the reserve nest if there is room
//
// and leaves the primary nest out for a thread that has found its last core taken r_impatient
// times: what is found then enters the primary nest at once. A core on which a thread ends, and
// that becomes idle by it, is demoted. The claim flag (section 3.4) is the ledger's claim of a
// core.
//
// Queues, turns and hand-offs are coop's. The paper counts in ticks; one is taken as 4 ms (250
// Hz).
#pragma once

#include <initializer_list>

#include "policy/coop.h"

namespace roost {

namespace nest {

enum Parameter { quantum, idle_spin, patience, brief, beside, p_remove, r_max, r_impatient };
enum ThreadWord { core_before, failures };  // core_before: that before the last one, + 1; 0: none

// A core's shared word: its nest in bits 0-1, above it when it was last left, in units of 4 ns.
enum class Nest : std::uint64_t { none = 0, primary = 1, reserve = 2 };
inline constexpr std::uint64_t kNestBits = 3;
inline constexpr Nest nest_of(std::uint64_t word) { return static_cast<Nest>(word & kNestBits); }
inline constexpr Nanoseconds left_at(std::uint64_t word) { return word & ~kNestBits; }
inline constexpr std::uint64_t word_of(Nest nest, Nanoseconds left) {
  return static_cast<std::uint64_t>(nest) | (left & ~kNestBits);
}

inline void move(CoreView& cores, CoreIndex core, Nest to) {
  std::uint64_t word = cores.word(core);
  if (nest_of(word) != to) cores.change_word(core, word, word_of(to, left_at(word)));
}

inline bool reserve_has_room(const PolicyContext& context, CoreView& cores) {
  std::uint64_t n = 0;
  for (CoreIndex core = 0; core < context.n_cores; ++core)
    n += nest_of(cores.word(core)) == Nest::reserve;
  return n < context.parameters[r_max];
}

// From the primary nest to the reserve, or out of both if that is full. Only this exact `word`:
// whoever has touched the core since knows better.
inline void demote(const PolicyContext& context, CoreView& cores, CoreIndex core,
                   std::uint64_t word) {
  Nest to = reserve_has_room(context, cores) ? Nest::reserve : Nest::none;
  cores.change_word(core, word, word_of(to, left_at(word)));
}

// Claims the first idle core for which `wants(core)`, of those in `socket` or (`inside` false)
// outside it, in numerical order from `start` on, cyclically.
template <class Wants>
CoreIndex search(const PolicyContext& context, CoreView& cores, CoreIndex start,
                 std::uint16_t socket, bool inside, Wants&& wants) {
  for (int part = 0; part < 2; ++part) {
    CoreIndex first = part ? CoreIndex{0} : start, end = part ? start : context.n_cores;
    for (CoreIndex core = cores.next_idle(first, end); core != kNoCore;
         core = cores.next_idle(static_cast<CoreIndex>(core + 1), end)) {
      if ((context.cores[core].socket == socket) != inside) continue;
      if (wants(core) && cores.claim(core)) return core;
    }
  }
  return kNoCore;
}

inline CoreIndex search_primary(const PolicyContext& context, CoreView& cores, CoreIndex last,
                                bool inside) {
  return search(context, cores, last, context.cores[last].socket, inside, [&](CoreIndex core) {
    std::uint64_t word = cores.word(core);
    if (nest_of(word) != Nest::primary) return false;
    bool stale = context.now - left_at(word) > context.parameters[p_remove];
    if (stale) demote(context, cores, core, word);
    return !stale;
  });
}

inline CoreIndex search_reserve(const PolicyContext& context, CoreView& cores, CoreIndex last,
                                bool inside) {
  return search(context, cores, 0, context.cores[last].socket, inside,
                [&](CoreIndex core) { return nest_of(cores.word(core)) == Nest::reserve; });
}

inline bool is_idle(CoreView& cores, CoreIndex core) {
  return cores.next_idle(core, static_cast<CoreIndex>(core + 1)) == core;
}

// The NUMA node with most idle cores, by its first core; that of `last` if none has more.
inline CoreIndex idlest_node(const PolicyContext& context, CoreView& cores, CoreIndex last) {
  CoreIndex best = kNoCore;
  unsigned most = 0;
  for (CoreIndex first = 0; first < context.n_cores; first = context.cores[first].node_end) {
    CoreIndex end = context.cores[first].node_end;
    unsigned idle = 0;
    for (CoreIndex core = cores.next_idle(first, end); core != kNoCore;
         core = cores.next_idle(static_cast<CoreIndex>(core + 1), end))
      ++idle;
    bool own = context.cores[last].node_first == first;
    if (idle > most || (own && idle == most)) {
      best = first;
      most = idle;
    }
  }
  return best == kNoCore ? context.cores[last].node_first : best;
}

// Claims an idle core of the NUMA node that begins at `node`: one whose other hardware thread is
// idle, too, if there is one; in numerical order from `start` on if that is in the node.
inline CoreIndex search_node(const PolicyContext& context, CoreView& cores, CoreIndex node,
                             CoreIndex start) {
  CoreIndex end = context.cores[node].node_end;
  if (start < node || start >= end) start = node;
  for (bool whole : {true, false}) {
    for (int part = 0; part < 2; ++part) {
      CoreIndex from = part ? node : start, to = part ? start : end;
      for (CoreIndex core = cores.next_idle(from, to); core != kNoCore;
           core = cores.next_idle(static_cast<CoreIndex>(core + 1), to)) {
        auto sibling = static_cast<CoreIndex>(core + context.cores[core].to_sibling);
        if (whole && sibling != core && !is_idle(cores, sibling)) continue;
        if (cores.claim(core)) return core;
      }
    }
  }
  return kNoCore;
}

// CFS's choice (section 2.1) in NEST's extent (section 3.4): a thread that was woken goes to its
// last core, its node, or anywhere; a new one to the node with most idle cores.
inline CoreIndex search_anywhere(const PolicyContext& context, CoreView& cores, CoreIndex last,
                                 bool is_new) {
  if (!is_new && cores.claim(last)) return last;
  CoreIndex own = is_new ? idlest_node(context, cores, last) : context.cores[last].node_first;
  CoreIndex core = search_node(context, cores, own, last);
  for (bool inside : {true, false}) {
    for (CoreIndex node = 0; node < context.n_cores && core == kNoCore;
         node = context.cores[node].node_end) {
      if ((context.cores[node].socket == context.cores[last].socket) == inside)
        core = search_node(context, cores, node, last);
    }
  }
  return core;
}

inline CoreIndex place(const PolicyContext& context, CoreIndex last, std::uint64_t* words,
                       CoreView& cores) {
  if (last >= context.n_cores) last = 0;
  bool last_is_idle = is_idle(cores, last);
  bool attached = words[core_before] == last + 1u;
  if (attached && last_is_idle && nest_of(cores.word(last)) == Nest::primary && cores.claim(last)) {
    words[failures] = 0;
    return last;
  }
  words[failures] = last_is_idle ? 0 : words[failures] + 1;
  bool impatient = words[failures] >= context.parameters[r_impatient];
  if (!impatient) {
    for (bool inside : {true, false}) {
      CoreIndex core = search_primary(context, cores, last, inside);
      if (core != kNoCore) return core;
    }
  }
  for (bool inside : {true, false}) {
    CoreIndex core = search_reserve(context, cores, last, inside);
    if (core == kNoCore) continue;
    move(cores, core, Nest::primary);
    if (impatient) words[failures] = 0;
    return core;
  }
  CoreIndex core = search_anywhere(context, cores, last, words[core_before] == 0);
  if (core == kNoCore) return kNoCore;
  if (impatient) {
    move(cores, core, Nest::primary);
    words[failures] = 0;
  } else if (nest_of(cores.word(core)) == Nest::none && reserve_has_room(context, cores)) {
    move(cores, core, Nest::reserve);
  }
  return core;
}

inline void thread_moves(const PolicyContext&, CoreIndex, CoreIndex last_core,
                         std::uint64_t* words) {
  words[core_before] = last_core + 1u;
}

inline void core_idle(const PolicyContext& context, CoreIndex core, bool ended,
                      std::uint64_t* core_words, CoreView& cores) {
  coop::core_idle(context, core, ended, core_words, cores);
  std::uint64_t word = cores.word(core);
  std::uint64_t left = word_of(nest_of(word), context.now);
  if (!cores.change_word(core, word, left)) return;
  if (ended && nest_of(word) == Nest::primary) demote(context, cores, core, left);
}

// The first five as in coop; then Table 1.
inline constexpr PolicyParameter kParameters[] = {
    coop::kParameters[0],
    {"idle_spin", "ns",
     "How long the last thread of a core that nobody needs spins before it sleeps, to keep the "
     "core warm (NEST: S_max).",
     8'000'000, 0, 100'000'000},
    coop::kParameters[2],
    coop::kParameters[3],
    coop::kParameters[4],
    {"p_remove", "ns",
     "A core of the primary nest that has been idle for so long is demoted when a thread tries to "
     "use it (NEST: P_remove).",
     8'000'000, 0, 10'000'000'000},
    {"r_max", "cores", "How many cores the reserve nest may hold (NEST: R_max).", 5, 0, 1024},
    {"r_impatient", "times",
     "A thread that has found its last core taken so often enlarges the primary nest (NEST: "
     "R_impatient).",
     2, 1, 1'000'000},
};

}  // namespace nest

inline constexpr Policy kNest = {
    "nest",
    "Threads stay on few, warm cores: a nest of those in use lately, and a small reserve (NEST).",
    nest::kParameters,
    8,
    0x6e65737402,
    coop::thread_ready,
    coop::core_free,
    coop::thread_granted,
    nest::place,
    nest::thread_moves,
    nest::core_idle,
    true,
};

}  // namespace roost
