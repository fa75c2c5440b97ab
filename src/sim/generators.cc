// The kinds of programs a scenario may name, and the threads each is made of.
#include "sim/scenario.h"

namespace roost::sim {
namespace {

constexpr std::int64_t kThreads = 10'000;
constexpr std::int64_t kMillion = 1'000'000;

// Where a script's steps are put.
class Steps {
 public:
  Steps(Program& program, std::string name) : program_(program) {
    index_ = static_cast<std::uint32_t>(program.scripts.size());
    program.scripts.emplace_back().name = std::move(name);
  }
  std::uint32_t index() const { return index_; }
  Script& script() { return program_.scripts[index_]; }
  Steps& add(OpKind kind, std::uint64_t object = 0, std::uint64_t amount = 0,
             std::uint64_t memory = 0) {
    script().ops.push_back(
        {kind, static_cast<std::uint16_t>(memory), static_cast<std::uint32_t>(object), amount});
    return *this;
  }
  Steps& compute(std::uint64_t cycles, std::uint64_t memory = 0) {
    return add(OpKind::compute, 0, cycles, memory);
  }
  Steps& repeat(std::uint64_t times) {
    add(OpKind::repeat, 0, times);
    open_.push_back(static_cast<std::uint32_t>(script().ops.size()));
    return *this;
  }
  Steps& again() {
    add(OpKind::again, open_.back());
    open_.pop_back();
    return *this;
  }

 private:
  Program& program_;
  std::uint32_t index_;
  std::vector<std::uint32_t> open_;
};

std::uint32_t new_barrier(Program& program, std::uint64_t members) {
  program.barriers.push_back(static_cast<std::uint32_t>(members));
  return static_cast<std::uint32_t>(program.barriers.size() - 1);
}

std::uint32_t new_semaphore(Program& program, std::uint64_t units = 0) {
  program.semaphores.push_back(units);
  return static_cast<std::uint32_t>(program.semaphores.size() - 1);
}

OpKind barrier_kind(std::uint64_t waiting) {
  return waiting == 0   ? OpKind::barrier
         : waiting == 1 ? OpKind::spin_barrier
                        : OpKind::yield_barrier;
}

// An outer team each of whose members opens inner parallel regions (USF section 5.3, Fig. 3; with
// `recreate` as BLIS's pthread backend, section 5.4).
void add_nested(Program& program, ProcessIndex process, const Settings& set, Random& random) {
  OpKind wait = barrier_kind(set["waiting"]);
  std::uint64_t inner = set["inner"];
  for (std::uint64_t o = 0; o < set["outer"]; ++o) {
    std::uint32_t barrier = new_barrier(program, inner);
    std::uint64_t rounds = set["rounds"] + (o < set["one_more"]);
    std::uint64_t share = set["kcycles"] * 1000 / inner;
    Steps worker(program, "inner");
    if (set["recreate"]) {
      for (std::uint64_t b = 0; b < set["barriers"]; ++b)
        worker.compute(random.around(share, static_cast<unsigned>(set["spread_permille"])))
            .add(wait, barrier);
    } else {
      std::uint32_t go = new_semaphore(program);
      worker.repeat(rounds).add(OpKind::wait, go);
      for (std::uint64_t b = 0; b < set["barriers"]; ++b)
        worker.compute(random.around(share, static_cast<unsigned>(set["spread_permille"])))
            .add(wait, barrier);
      worker.again();
      Steps outer(program, "outer");
      if (inner > 1) outer.add(OpKind::fork, worker.index(), inner - 1);
      outer.repeat(rounds);
      if (inner > 1) outer.add(OpKind::signal, go, inner - 1);
      for (std::uint64_t b = 0; b < set["barriers"]; ++b)
        outer.compute(random.around(share, static_cast<unsigned>(set["spread_permille"])))
            .add(wait, barrier);
      outer.add(OpKind::count, 0, 1).again().add(OpKind::join);
      program.starts.push_back({outer.index(), process, 0});
      continue;
    }
    Steps outer(program, "outer");
    outer.repeat(rounds);
    if (inner > 1) outer.add(OpKind::fork, worker.index(), inner - 1);
    for (std::uint64_t b = 0; b < set["barriers"]; ++b)
      outer.compute(random.around(share, static_cast<unsigned>(set["spread_permille"])))
          .add(wait, barrier);
    outer.add(OpKind::join).add(OpKind::count, 0, 1).again();
    program.starts.push_back({outer.index(), process, 0});
  }
}

// Threads that take one of a few mutexes again and again.
void add_convoy(Program& program, ProcessIndex process, const Settings& set, Random& random) {
  std::uint32_t first = program.mutexes;
  program.mutexes += static_cast<std::uint32_t>(set["mutexes"]);
  for (std::uint64_t t = 0; t < set["threads"]; ++t) {
    Steps steps(program, "worker");
    auto around = [&](const char* key) { return random.around(set[key] * 1000, 500); };
    std::uint64_t mutex = first + random.below(set["mutexes"]);
    steps.repeat(set["rounds"])
        .compute(around("outside_kcycles"))
        .add(OpKind::lock, mutex)
        .compute(around("inside_kcycles"))
        .add(OpKind::unlock, mutex)
        .add(OpKind::count, 0, 1)
        .again();
    program.starts.push_back({steps.index(), process, 0});
  }
}

// One thread for each core computes and meets the others (NAS; NEST section 5.4).
void add_team(Program& program, ProcessIndex process, const Settings& set, Random& random) {
  std::uint32_t barrier = new_barrier(program, set["threads"]);
  for (std::uint64_t t = 0; t < set["threads"]; ++t) {
    Steps steps(program, "member");
    std::uint64_t cycles =
        random.around(set["kcycles"] * 1000, static_cast<unsigned>(set["spread_permille"]));
    steps.repeat(set["rounds"])
        .compute(cycles, set["memory_permille"])
        .add(barrier_kind(set["waiting"]), barrier);
    if (t == 0) steps.add(OpKind::count, 0, 1);
    steps.again();
    program.starts.push_back({steps.index(), process, 0});
  }
}

// Parallel loops whose threads stop for a memory request now and then, as NuPoCo's model has it
// (its section 3.3): exponential times between two and at the controller. Several such programs
// compete.
void add_loops(Program& program, ProcessIndex process, const Settings& set, Random& random) {
  std::uint32_t barrier = new_barrier(program, set["threads"]);
  for (std::uint64_t t = 0; t < set["threads"]; ++t) {
    Steps steps(program, "member");
    steps.repeat(set["loops"]);
    for (std::uint64_t r = 0; r < set["requests"]; ++r) {
      steps.compute(random.exponential(set["cycles"]) + 1)
          .add(OpKind::access, set["node"], random.exponential(set["request_ns"]));
    }
    steps.add(barrier_kind(set["waiting"]), barrier);
    if (t == 0) steps.add(OpKind::count, 0, 1);
    steps.again();
    program.starts.push_back({steps.index(), process, 0});
  }
}

// A shell script: short processes, mostly one at a time (NEST section 5.2).
void add_configure(Program& program, ProcessIndex process, const Settings& set, Random& random) {
  auto command = [&] {
    Steps child(program, "command");
    std::uint64_t cycles = random.exponential(set["command_kcycles"] * 1000) + 50'000;
    if (random.below(1000) < set["pipe_permille"]) {  // starts another and waits for it
      Steps grandchild(program, "filter");
      grandchild.compute(cycles / 2);
      Steps parent(program, "pipe");
      parent.compute(cycles / 2).add(OpKind::fork_process, grandchild.index(), 1);
      parent.compute(cycles / 4).add(OpKind::join);
      child.add(OpKind::fork_process, parent.index(), 1).add(OpKind::join);
      return child.index();
    }
    child.compute(cycles);
    if (random.below(1000) < set["io_permille"])
      child.add(OpKind::sleep, 0, random.exponential(set["io_us"] * 1000)).compute(cycles / 4);
    return child.index();
  };
  std::vector<std::uint32_t> children;
  for (std::uint64_t i = 0; i < set["commands"]; ++i) children.push_back(command());
  Steps shell(program, "shell");
  for (std::uint32_t child : children) {
    shell.compute(random.exponential(set["shell_kcycles"] * 1000) + 10'000)
        .add(OpKind::fork_process, child, 1)
        .add(OpKind::join)
        .add(OpKind::count, 0, 1);
  }
  program.starts.push_back({shell.index(), process, 0});
}

// Threads that compute for a moment and pause for a moment (DaCapo; NEST section 5.3, h2).
void add_mix(Program& program, ProcessIndex process, const Settings& set, Random& random) {
  std::uint32_t tokens = new_semaphore(program, set["active"]);
  for (std::uint64_t t = 0; t < set["threads"]; ++t) {
    Steps steps(program, "task");
    for (std::uint64_t r = 0; r < set["rounds"]; ++r) {
      steps.add(OpKind::wait, tokens)
          .compute(random.exponential(set["kcycles"] * 1000) + 1000)
          .add(OpKind::signal, tokens, 1)
          .add(OpKind::count, 0, 1);
      if (random.below(1000) < set["pause_permille"])
        steps.add(OpKind::sleep, 0, random.exponential(set["pause_us"] * 1000) + 1000);
    }
    program.starts.push_back({steps.index(), process, 0});
  }
}

// Requests at random times, each served by one of many threads that opens a parallel region for it
// (USF section 5.5).
void add_requests(Program& program, ProcessIndex process, const Settings& set, Random& random) {
  std::uint32_t queue = program.queues++;
  std::uint64_t inner = set["inner"];
  for (std::uint64_t s = 0; s < set["servers"]; ++s) {
    std::uint32_t barrier = new_barrier(program, inner);
    std::uint32_t go = new_semaphore(program);
    std::uint64_t share = set["kcycles"] * 1000 / inner / set["phases"];
    OpKind wait = barrier_kind(set["waiting"]);
    Steps worker(program, "worker");
    worker.script().daemon = true;
    worker.repeat(0).add(OpKind::wait, go).repeat(set["phases"]).compute(share).add(wait, barrier);
    worker.again().again();
    Steps server(program, "server");
    server.script().daemon = true;
    if (inner > 1) server.add(OpKind::fork, worker.index(), inner - 1);
    server.repeat(0).add(OpKind::accept, queue);
    if (inner > 1) server.add(OpKind::signal, go, inner - 1);
    server.repeat(set["phases"]).compute(share).add(wait, barrier).again();
    server.add(OpKind::reply).add(OpKind::count, 0, 1).again();
    program.starts.push_back({server.index(), process, 0});
  }
  Nanoseconds at = 1'000'000;
  for (std::uint64_t r = 0; r < set["requests"]; ++r) {
    at += random.exponential(1'000'000'000'000 / set["per_kilosecond"]);
    program.arrivals.push_back({at, queue});
  }
}

// Tiled Cholesky factorisation (USF section 5.4): tasks of POTRF, TRSM, SYRK and GEMM shape, done
// by a team of workers column by column, each task a parallel region of `inner` threads.
void add_cholesky(Program& program, ProcessIndex process, const Settings& set, Random& random) {
  std::uint64_t tiles = set["tiles"], workers = set["workers"], inner = set["inner"];
  OpKind wait = barrier_kind(set["waiting"]);
  std::uint32_t column = new_barrier(program, workers);
  std::uint64_t unit = set["kcycles"] * 1000;  // of a GEMM of one tile
  for (std::uint64_t w = 0; w < workers; ++w) {
    std::uint32_t barrier = new_barrier(program, inner);
    std::uint32_t go = new_semaphore(program);
    Steps helper(program, "helper");
    Steps worker(program, "worker");
    if (inner > 1) worker.add(OpKind::fork, helper.index(), inner - 1);
    auto task = [&](std::uint64_t cycles) {
      std::uint64_t share = random.around(cycles / inner, 50);
      if (inner > 1) worker.add(OpKind::signal, go, inner - 1);
      worker.compute(share);
      if (inner > 1) worker.add(wait, barrier);
      worker.add(OpKind::count, 0, 1);
      if (inner == 1) return;
      helper.add(OpKind::wait, go).compute(share).add(wait, barrier);
    };
    for (std::uint64_t k = 0; k < tiles; ++k) {
      if (k % workers == w) task(unit / 3);  // POTRF
      worker.add(OpKind::barrier, column);
      for (std::uint64_t i = k + 1; i < tiles; ++i) {
        if (i % workers == w) task(unit);  // TRSM
      }
      worker.add(OpKind::barrier, column);
      std::uint64_t number = 0;
      for (std::uint64_t i = k + 1; i < tiles; ++i) {
        for (std::uint64_t j = k + 1; j <= i; ++j, ++number) {
          if (number % workers == w) task(i == j ? unit : 2 * unit);  // SYRK, GEMM
        }
      }
      worker.add(OpKind::barrier, column);
    }
    program.starts.push_back({worker.index(), process, 0});
  }
}

constexpr GeneratorKey kWaiting{"waiting", 0, 0, 2,
                                "how members wait: 0 block, 1 spin, 2 spin with sched_yield"};

}  // namespace

const std::vector<Generator>& generators() {
  static const std::vector<Generator> all{
      {"nested",
       "an outer team each of whose members opens inner parallel regions",
       {{"outer", -1, 1, kThreads, "outer threads"},
        {"inner", -1, 1, kThreads, "threads of each inner region, the outer one included"},
        {"rounds", -1, 1, kMillion, "regions each outer thread opens"},
        {"one_more", 0, 0, kThreads, "so many outer threads open one region more"},
        {"kcycles", -1, 1, kMillion, "work between two barriers of a region, in thousand cycles"},
        {"barriers", 1, 1, 100, "barriers in a region"},
        {"spread_permille", 50, 0, 1000, "how unequal the shares are"},
        {"recreate", 0, 0, 1, "1: inner threads are created and joined in each region"},
        kWaiting},
       add_nested},
      {"convoy",
       "threads that take one of a few mutexes again and again",
       {{"threads", -1, 1, kThreads, "threads"},
        {"mutexes", 1, 1, kThreads, "mutexes; each thread uses one of them"},
        {"rounds", -1, 1, kMillion, "critical sections of each thread"},
        {"outside_kcycles", -1, 0, kMillion, "work outside, in thousand cycles"},
        {"inside_kcycles", -1, 0, kMillion, "work inside"}},
       add_convoy},
      {"team",
       "threads that compute and meet at a barrier, as NAS codes",
       {{"threads", -1, 1, kThreads, "threads"},
        {"rounds", -1, 1, kMillion, "iterations"},
        {"kcycles", -1, 1, kMillion, "work of each in an iteration, in thousand cycles"},
        {"memory_permille", 0, 0, 1000, "share of it that waits for memory"},
        {"spread_permille", 50, 0, 1000, "how unequal they are"},
        kWaiting},
       add_team},
      {"loops",
       "parallel loops that send requests to memory controllers, as NuPoCo's model has them",
       {{"threads", -1, 1, kThreads, "threads"},
        {"loops", -1, 1, kMillion, "parallel loops, one after the other"},
        {"requests", 100, 1, 10'000, "memory requests of each thread in a loop"},
        {"cycles", -1, 1, 1000 * kMillion, "work between two requests on average, in cycles"},
        {"request_ns", -1, 1, kMillion, "service of a request on average, in nanoseconds"},
        {"node", 0, 0, 256, "whose memory: 0 the thread's own NUMA node, 1 the first, and so on"},
        kWaiting},
       add_loops},
      {"configure",
       "a shell script that starts short processes, mostly one at a time",
       {{"commands", -1, 1, kMillion, "processes it starts"},
        {"command_kcycles", 3000, 1, kMillion, "work of a command on average, in thousand cycles"},
        {"shell_kcycles", 500, 1, kMillion, "work of the shell between two"},
        {"pipe_permille", 200, 0, 1000, "share of commands that start two more and run beside one"},
        {"io_permille", 200, 0, 1000, "share of commands that wait for a file"},
        {"io_us", 200, 1, kMillion, "for how long on average, in microseconds"}},
       add_configure},
      {"mix",
       "tasks that compute and pause, a few of them at a time, as server-like Java programs",
       {{"threads", -1, 1, kThreads, "threads"},
        {"active", -1, 1, kThreads, "how many may compute at a time"},
        {"rounds", -1, 1, 100'000, "tasks of each thread"},
        {"kcycles", -1, 1, kMillion, "work of a task on average, in thousand cycles"},
        {"pause_permille", 300, 0, 1000, "share of tasks with a pause behind them"},
        {"pause_us", 200, 1, kMillion, "its length on average, in microseconds"}},
       add_mix},
      {"requests",
       "requests at random times, each served by a parallel region",
       {{"servers", -1, 1, kThreads, "requests served at a time"},
        {"inner", 1, 1, 1024, "threads of a region"},
        {"requests", -1, 1, kMillion, "requests in all"},
        {"per_kilosecond", -1, 1, 1'000'000'000, "requests in a thousand seconds, on average"},
        {"kcycles", -1, 1, 1000 * kMillion, "work of a request, in thousand cycles"},
        {"phases", 1, 1, 100'000, "barriers in a region"},
        kWaiting},
       add_requests},
      {"cholesky",
       "tiled Cholesky factorisation by workers with inner teams",
       {{"tiles", -1, 1, 64, "tiles in a row of the matrix"},
        {"workers", -1, 1, 1024, "outer threads"},
        {"inner", 1, 1, 1024, "threads of each task"},
        {"kcycles", -1, 1, 1000 * kMillion, "work of a TRSM of one tile, in thousand cycles"},
        kWaiting},
       add_cholesky},
  };
  return all;
}

}  // namespace roost::sim
