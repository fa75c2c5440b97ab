// Calls a plug-in's callbacks for the ledger's, and checks what they say.
#include "policy/plug_in.h"

#include "policy/coop.h"

namespace roost {
namespace {

// The C header repeats these structures; a table built against it reads ours.
static_assert(sizeof(::roost_policy_core) == sizeof(CoreInfo));
static_assert(offsetof(::roost_policy_core, node_end) == offsetof(CoreInfo, node_end));
static_assert(offsetof(::roost_policy_core, to_sibling) == offsetof(CoreInfo, to_sibling));
static_assert(ROOST_POLICY_THREAD_WORDS * sizeof(std::uint64_t) ==
              sizeof(ThreadRecord<RealWorld>::policy_words));
static_assert(ROOST_POLICY_CORE_WORDS * sizeof(std::uint64_t) ==
              sizeof(CoreSlot<RealWorld>::policy_words));
static_assert(ROOST_NO_CORE == kNoCore && ROOST_NO_PROCESS == kNoProcess);
static_assert(ROOST_POLICY_MAX_NAME + 1 == kPolicyNameBytes);

// What runtime and keeper read by name, whatever the policy.
constexpr const PolicyParameter* kOfAll[] = {&coop::kParameters[1], &coop::kParameters[2]};
static_assert(ROOST_POLICY_MAX_PARAMETERS + 2 == kMaxParameters);

const PlugIn& of(const PolicyContext& context) { return *static_cast<const PlugIn*>(context.data); }

::roost_policy_context in_c(const PolicyContext& context) {
  return {context.now, context.parameters,
          reinterpret_cast<const ::roost_policy_core*>(context.cores), context.n_cores};
}

// `calls` comes first, so that a pointer to it is one to the whole.
struct Queues {
  ::roost_policy_queues calls = {
      [](const ::roost_policy_queues* queues, std::uint16_t p) { return of(queues).has(p); },
      [](const ::roost_policy_queues* queues, std::uint16_t p) {
        return of(queues).has(p) ? of(queues).length(p) : 0;
      },
      [](const ::roost_policy_queues* queues, std::uint16_t p) {
        return of(queues).next_after(p);
      }};
  const QueueView& view;

  static const QueueView& of(const ::roost_policy_queues* queues) {
    return reinterpret_cast<const Queues*>(queues)->view;
  }
};

struct Cores {
  ::roost_policy_cores calls = {claim, next_idle, queued, word, change_word};
  CoreView& view;
  const PolicyContext& context;
  const char* callback;
  bool may_claim = false;
  CoreIndex claimed = kNoCore;

  static Cores& of(::roost_policy_cores* cores) { return *reinterpret_cast<Cores*>(cores); }

  bool exists(CoreIndex core) const {
    if (core < context.n_cores) return true;
    roost::of(context).note([&](ErrorText& text) {
      text << callback << " asked about core " << unsigned{core} << " of "
           << unsigned{context.n_cores};
    });
    return false;
  }
  static bool claim(::roost_policy_cores* cores, std::uint16_t core) {
    Cores& self = of(cores);
    if (!self.exists(core)) return false;
    if (!self.may_claim || self.claimed != kNoCore) {
      roost::of(self.context).note([&](ErrorText& text) {
        text << self.callback << " claimed core " << unsigned{core};
        if (self.may_claim) text << " and had core " << unsigned{self.claimed} << " already";
        if (!self.may_claim) text << ", which only place may";
      });
      return false;
    }
    if (!self.view.claim(core)) return false;
    self.claimed = core;
    return true;
  }
  static std::uint16_t next_idle(::roost_policy_cores* cores, std::uint16_t first,
                                 std::uint16_t end) {
    Cores& self = of(cores);
    return self.view.next_idle(first, end < self.context.n_cores ? end : self.context.n_cores);
  }
  static std::uint32_t queued(::roost_policy_cores* cores, std::uint16_t core) {
    return of(cores).exists(core) ? of(cores).view.queued(core) : 0;
  }
  static std::uint64_t word(::roost_policy_cores* cores, std::uint16_t core) {
    return of(cores).exists(core) ? of(cores).view.word(core) : 0;
  }
  static bool change_word(::roost_policy_cores* cores, std::uint16_t core, std::uint64_t from,
                          std::uint64_t to) {
    return of(cores).exists(core) && of(cores).view.change_word(core, from, to);
  }
};

CoreIndex thread_ready(const PolicyContext& context, CoreIndex last_core, std::uint64_t* words,
                       CoreView& view) {
  if (last_core >= context.n_cores) last_core = 0;
  ::roost_policy_context c = in_c(context);
  Cores cores{.view = view, .context = context, .callback = "thread_ready"};
  CoreIndex core = of(context).table().thread_ready(&c, last_core, words, &cores.calls);
  if (core < context.n_cores) return core;
  of(context).note([&](ErrorText& text) {
    text << "thread_ready chose core " << unsigned{core} << " of " << unsigned{context.n_cores};
  });
  return last_core;
}

// A start for the default choice that goes round with the time, so that nobody is always last.
ProcessIndex any(const PolicyContext& context, const QueueView& queues) {
  constexpr Nanoseconds kTurn = 1'000'000;
  return queues.next_after(static_cast<ProcessIndex>(context.now / kTurn % kMaxProcesses));
}

ProcessIndex core_free(const PolicyContext& context, CoreIndex core, CoreIndex from,
                       std::uint64_t* words, const QueueView& view) {
  ProcessIndex first = view.next_after(kNoProcess);
  if (first == kNoProcess) return kNoProcess;
  ::roost_policy_context c = in_c(context);
  Queues queues{.view = view};
  ProcessIndex process = of(context).table().core_free(&c, core, from, words, &queues.calls);
  if (view.has(process)) return process;
  of(context).note([&](ErrorText& text) {
    text << "core_free chose ";
    if (process == kNoProcess) {
      text << "no process";
    } else {
      text << "process " << unsigned{process};
    }
    text << " for core " << unsigned{core} << ", and of process " << unsigned{first}
         << " a READY thread waits at core " << unsigned{from};
    if (process != kNoProcess) text << ", but none of that";
  });
  return any(context, view);
}

void thread_granted(const PolicyContext& context, CoreIndex core, ProcessIndex process,
                    std::uint64_t* words) {
  auto callback = of(context).table().thread_granted;
  if (!callback) return;
  ::roost_policy_context c = in_c(context);
  callback(&c, core, process, words);
}

CoreIndex place(const PolicyContext& context, CoreIndex last_core, std::uint64_t* words,
                CoreView& view) {
  if (last_core >= context.n_cores) last_core = 0;
  ::roost_policy_context c = in_c(context);
  Cores cores{.view = view, .context = context, .callback = "place", .may_claim = true};
  CoreIndex core = of(context).table().place(&c, last_core, words, &cores.calls);
  if (core != cores.claimed) {
    of(context).note([&](ErrorText& text) {
      text << "place returned ";
      if (core == kNoCore) {
        text << "no core";
      } else {
        text << "core " << unsigned{core};
      }
      text << " and had claimed ";
      if (cores.claimed == kNoCore) {
        text << "none";
      } else {
        text << "core " << unsigned{cores.claimed};
      }
    });
  }
  return cores.claimed;
}

void thread_moves(const PolicyContext& context, CoreIndex core, CoreIndex last_core,
                  std::uint64_t* words) {
  ::roost_policy_context c = in_c(context);
  of(context).table().thread_moves(&c, core, last_core, words);
}

void core_idle(const PolicyContext& context, CoreIndex core, bool ended, std::uint64_t*,
               CoreView& view) {
  ::roost_policy_context c = in_c(context);
  Cores cores{.view = view, .context = context, .callback = "core_idle"};
  of(context).table().core_idle(&c, core, ended, &cores.calls);
}

bool is_name(const char* text) {
  unsigned length = 0;
  for (; text[length]; ++length) {
    char c = text[length];
    bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (!good || length == ROOST_POLICY_MAX_NAME) return false;
  }
  return length != 0;
}

bool is_text(const char* text) { return text && *text; }

bool check_head(const PolicyTable& table, std::size_t bytes, ErrorText& error) {
  if (bytes < sizeof table.version + sizeof table.size) {
    error << "its roost_policy is no table of a policy";
  } else if (table.version != ROOST_POLICY_VERSION) {
    error << "it is built for version " << table.version
          << " of roost/policy.h, and this Roost has version "
          << std::uint32_t{ROOST_POLICY_VERSION};
  } else if (table.size != sizeof table || bytes < sizeof table) {
    error << "its table says that it has " << table.size << " bytes, and has "
          << std::uint64_t{bytes} << "; it must have " << std::uint64_t{sizeof table};
  } else if (!table.name || !is_name(table.name)) {
    error << "its name is not 1 to " << std::uint32_t{ROOST_POLICY_MAX_NAME}
          << " lower-case letters, digits and '_'";
  } else if (find_policy(table.name)) {
    error << "its name, " << table.name << ", is that of a policy of Roost's";
  } else if (!is_text(table.summary)) {
    error << "it has no summary";
  } else if (table.layout == 0) {
    error << "its layout is 0";
  } else if (!table.thread_ready) {
    error << "it has no thread_ready";
  } else if (!table.core_free) {
    error << "it has no core_free";
  } else {
    return true;
  }
  return false;
}

bool check_parameter(const PolicyParameter& parameter, unsigned i, ErrorText& error) {
  if (!parameter.name || !is_name(parameter.name)) {
    error << "the name of its parameter " << i << " is not 1 to "
          << std::uint32_t{ROOST_POLICY_MAX_NAME} << " lower-case letters, digits and '_'";
  } else if (!is_text(parameter.unit) || !is_text(parameter.summary)) {
    error << "its parameter " << parameter.name << " has no unit or no summary";
  } else if (parameter.standard < parameter.minimum || parameter.standard > parameter.maximum) {
    error << "the standard value of its parameter " << parameter.name << ", " << parameter.standard
          << ", is not from " << parameter.minimum << " to " << parameter.maximum;
  } else {
    return true;
  }
  return false;
}

}  // namespace

void (*PlugIn::tell)(const PlugIn&) = [](const PlugIn&) {};

void PlugIn::forget_fault() const {
  fault_.clear();
  state_.store(none, std::memory_order_release);
}

bool PlugIn::adopt(const PolicyTable& table, std::size_t bytes, ErrorText& error) {
  if (!check_head(table, bytes, error)) return false;
  if (table.n_parameters > ROOST_POLICY_MAX_PARAMETERS ||
      (table.n_parameters && !table.parameters)) {
    error << "it has " << table.n_parameters << " parameters";
    if (table.n_parameters > ROOST_POLICY_MAX_PARAMETERS)
      error << ", more than " << std::uint32_t{ROOST_POLICY_MAX_PARAMETERS};
    else
      error << " and no table of them";
    return false;
  }
  table_ = &table;
  policy_ = {.name = table.name,
             .summary = table.summary,
             .parameters = parameters_,
             .n_parameters = 0,
             .layout = table.layout,
             .thread_ready = roost::thread_ready,
             .core_free = roost::core_free,
             .thread_granted = roost::thread_granted,
             .place = table.place ? roost::place : nullptr,
             .thread_moves = table.thread_moves ? roost::thread_moves : nullptr,
             .core_idle = table.core_idle ? roost::core_idle : nullptr,
             .spin_ends_with_sibling = table.spin_ends_with_sibling != 0,
             .data = this};
  for (unsigned i = 0; i < table.n_parameters; ++i) {
    const PolicyParameter& parameter = table.parameters[i];
    if (!check_parameter(parameter, i, error)) return false;
    if (find_parameter(policy_, parameter.name) >= 0) {
      error << "it has two parameters " << parameter.name;
      return false;
    }
    parameters_[policy_.n_parameters++] = parameter;
  }
  for (const PolicyParameter* parameter : kOfAll) {
    if (find_parameter(policy_, parameter->name) < 0)
      parameters_[policy_.n_parameters++] = *parameter;
  }
  return true;
}

}  // namespace roost
