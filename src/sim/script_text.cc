// Scripts in words: "compute 300k", "lock accounts", "barrier phase".
#include <fmt/format.h>

#include <map>
#include <sstream>

#include "sim/scenario.h"
#include "sim/toml_reader.h"

namespace roost::sim {
namespace {

enum class Takes {
  nothing,
  cycles,
  time,
  time_and_node,
  count,
  name,
  name_and_count,
  name_and_time,
  script
};

struct Word {
  const char* word;
  OpKind kind;
  Takes takes;
  const char* form;
};
constexpr Word kWords[] = {
    {"compute", OpKind::compute, Takes::cycles, "compute CYCLES [memory PERMILLE]"},
    {"access", OpKind::access, Takes::time_and_node, "access TIME [NODE]"},
    {"lock", OpKind::lock, Takes::name, "lock MUTEX"},
    {"spin_lock", OpKind::spin_lock, Takes::name, "spin_lock MUTEX"},
    {"yield_lock", OpKind::yield_lock, Takes::name, "yield_lock MUTEX"},
    {"unlock", OpKind::unlock, Takes::name, "unlock MUTEX"},
    {"wait", OpKind::wait, Takes::name, "wait SEMAPHORE"},
    {"signal", OpKind::signal, Takes::name_and_count, "signal SEMAPHORE [UNITS]"},
    {"barrier", OpKind::barrier, Takes::name, "barrier BARRIER"},
    {"spin_barrier", OpKind::spin_barrier, Takes::name, "spin_barrier BARRIER"},
    {"yield_barrier", OpKind::yield_barrier, Takes::name, "yield_barrier BARRIER"},
    {"fork", OpKind::fork, Takes::script, "fork SCRIPT [THREADS]"},
    {"fork_process", OpKind::fork_process, Takes::script, "fork_process SCRIPT [PROCESSES]"},
    {"join", OpKind::join, Takes::nothing, "join"},
    {"sleep", OpKind::sleep, Takes::time, "sleep TIME"},
    {"io", OpKind::io, Takes::name_and_time, "io DEVICE TIME"},
    {"yield", OpKind::yield, Takes::nothing, "yield"},
    {"count", OpKind::count, Takes::count, "count UNITS"},
    {"repeat", OpKind::repeat, Takes::count, "repeat TIMES"},
    {"again", OpKind::again, Takes::nothing, "again"},
};

struct Suffix {
  const char* text;
  std::uint64_t factor;
};
constexpr Suffix kCycleSuffixes[] = {{"", 1}, {"k", 1000}, {"M", 1'000'000}, {"G", 1'000'000'000}};
constexpr Suffix kTimeSuffixes[] = {
    {"ns", 1}, {"us", 1000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};

// Objects of one kind by name, numbered as they are met.
class Names {
 public:
  explicit Names(std::uint32_t first) : next_(first) {}
  std::uint32_t operator[](const std::string& name) {
    auto [found, fresh] = numbers_.try_emplace(name, next_);
    next_ += fresh;
    return found->second;
  }
  std::uint32_t end() const { return next_; }

 private:
  std::map<std::string, std::uint32_t> numbers_;
  std::uint32_t next_;
};

constexpr std::uint64_t kMostNodes = 256;  // of a machine

class Parser {
 public:
  Parser(Program& program, const ProgramText& text)
      : program_(program),
        text_(text),
        mutexes_(program.mutexes),
        semaphores_(static_cast<std::uint32_t>(program.semaphores.size())),
        devices_(program.devices),
        first_script_(static_cast<std::uint32_t>(program.scripts.size())) {
    for (const auto& [name, members] : text.barriers) {
      barriers_[name] = static_cast<std::uint32_t>(program.barriers.size());
      program.barriers.push_back(members);
    }
  }

  void script(const ScriptText& source) {
    Script script;
    script.name = source.name;
    script.daemon = source.daemon;
    std::vector<std::uint32_t> open;
    for (const std::string& step : source.steps) {
      Op op = parse(step, source);
      if (op.kind == OpKind::repeat)
        open.push_back(static_cast<std::uint32_t>(script.ops.size()) + 1);
      if (op.kind == OpKind::again) {
        if (open.empty()) fail(source, step, "there is no repeat to end");
        op.object = open.back();
        open.pop_back();
      }
      script.ops.push_back(op);
    }
    program_.scripts.push_back(script);
  }

  void finish() {
    program_.mutexes = mutexes_.end();
    program_.semaphores.resize(semaphores_.end());
    program_.devices = devices_.end();
  }

 private:
  [[noreturn]] static void fail(const ScriptText& script, const std::string& step,
                                const std::string& why) {
    throw InputError(
        fmt::format("{}: script '{}': \"{}\": {}", script.place, script.name, step, why));
  }

  template <std::size_t N>
  static bool number(const std::string& text, const Suffix (&suffixes)[N], std::uint64_t& value) {
    std::size_t digits = text.find_first_not_of("0123456789");
    if (digits == 0 || digits > 15) {
      if (digits != std::string::npos || text.empty() || text.size() > 15) return false;
    }
    std::string suffix = digits == std::string::npos ? "" : text.substr(digits);
    for (const Suffix& known : suffixes) {
      if (suffix != known.text) continue;
      value = std::stoull(text.substr(0, digits)) * known.factor;
      return value <= 1'000'000'000'000;
    }
    return false;
  }

  std::uint32_t object(OpKind kind, const std::string& name, const ScriptText& script,
                       const std::string& step) {
    switch (kind) {
      case OpKind::lock:
      case OpKind::unlock:
      case OpKind::spin_lock:
      case OpKind::yield_lock:
        return mutexes_[name];
      case OpKind::wait:
      case OpKind::signal:
        return semaphores_[name];
      case OpKind::io:
        return devices_[name];
      case OpKind::fork:
      case OpKind::fork_process:
        for (std::uint32_t i = 0; i < text_.scripts.size(); ++i) {
          if (text_.scripts[i].name == name) return first_script_ + i;
        }
        fail(script, step, "there is no script '" + name + "'");
      default: {
        auto found = barriers_.find(name);
        if (found == barriers_.end())
          fail(script, step, "[program.barriers] does not say how many members '" + name + "' has");
        return found->second;
      }
    }
  }

  Op parse(const std::string& step, const ScriptText& script) {
    std::istringstream in(step);
    std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
    const Word* word = nullptr;
    std::string known;
    for (const Word& candidate : kWords) {
      known += (known.empty() ? "" : ", ") + std::string(candidate.word);
      if (!words.empty() && words[0] == candidate.word) word = &candidate;
    }
    if (!word) fail(script, step, "a step begins with one of " + known);
    Op op{word->kind};
    auto wrong = [&] { fail(script, step, std::string("must read \"") + word->form + "\""); };
    std::size_t used = 1;
    auto takes_number = [&](const auto& suffixes) {
      if (used >= words.size() || !number(words[used++], suffixes, op.amount)) wrong();
    };
    constexpr Suffix kPlain[] = {{"", 1}};
    bool named = word->takes == Takes::name || word->takes == Takes::name_and_count ||
                 word->takes == Takes::name_and_time || word->takes == Takes::script;
    if (named) {
      if (words.size() < 2) wrong();
      op.object = object(word->kind, words[used++], script, step);
    }
    switch (word->takes) {
      case Takes::cycles:
        takes_number(kCycleSuffixes);
        if (words.size() > used && words[used] == "memory") {
          std::uint64_t permille = 0;
          if (++used >= words.size() || !number(words[used++], kPlain, permille) || permille > 1000)
            wrong();
          op.memory_permille = static_cast<std::uint16_t>(permille);
        }
        break;
      case Takes::time:
      case Takes::name_and_time:
        takes_number(kTimeSuffixes);
        break;
      case Takes::time_and_node:
        takes_number(kTimeSuffixes);
        if (words.size() > used) {
          std::uint64_t node = 0;
          if (!number(words[used++], kPlain, node) || node >= kMostNodes) wrong();
          op.object = static_cast<std::uint32_t>(node) + 1;
        }
        break;
      case Takes::count:
        takes_number(kPlain);
        break;
      case Takes::name_and_count:
      case Takes::script:
        op.amount = 1;
        if (words.size() > used) takes_number(kPlain);
        break;
      default:
        break;
    }
    if (used != words.size()) wrong();
    return op;
  }

  Program& program_;
  const ProgramText& text_;
  Names mutexes_, semaphores_, devices_;
  std::map<std::string, std::uint32_t> barriers_;
  std::uint32_t first_script_;
};

}  // namespace

void add_scripts(Program& program, ProcessIndex process, const ProgramText& text) {
  Parser parser(program, text);
  auto first = static_cast<std::uint32_t>(program.scripts.size());
  for (const ScriptText& script : text.scripts) parser.script(script);
  parser.finish();
  for (std::uint32_t i = 0; i < text.scripts.size(); ++i) {
    for (std::uint32_t n = 0; n < text.scripts[i].start; ++n)
      program.starts.push_back({first + i, process, 0});
  }
}

}  // namespace roost::sim
