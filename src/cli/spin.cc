// `roost spin`: has the wait loops of running programs restored, or lets them be rewritten again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <memory>
#include <optional>

#include "cli/error.h"
#include "cli/instance.h"
#include "cli/settings.h"
#include "cli/snapshot.h"
#include "cli/verbs.h"
#include "os/sys.h"

namespace roost::cli {
namespace {

constexpr const char* kSpinHelp =
    "Loops that wait by spinning are rewritten while threads have to wait for a core, and "
    "restored\n"
    "once no thread had to for a second. `restore` has that done now, and no loop rewritten until\n"
    "`rewrite`: threads that spin are then asked by a signal to let others run.\n"
    "\n"
    "Examples:\n"
    "  roost spin restore                   every program has its own code again\n"
    "  roost spin rewrite                   loops may be rewritten from now on\n"
    "  roost spin restore --instance job7   in one instance";

constexpr Nanoseconds kLongest = 5'000'000'000;  // keepers look twice a second
constexpr Nanoseconds kPause = 5'000'000;        // between two looks at what they have done

unsigned loops_of(const InstanceSnapshot& instance) {
  unsigned loops = 0;
  for (const ProcessSnapshot& process : instance.processes) loops += process.loops;
  return loops;
}

bool await_restored(const Segment& segment) {
  for (Nanoseconds end = os::now() + kLongest; loops_of(take_snapshot(segment)) != 0;) {
    if (os::now() > end) return false;
    os::sleep_for(kPause);
  }
  return true;
}

// Whether the instance did as it was told.
bool tell(const Segment& segment, bool restore) {
  segment.header->leave_loops.store(restore, std::memory_order_relaxed);
  if (!restore) {
    fmt::print("instance {}: loops may be rewritten\n", segment.header->instance);
    return true;
  }
  if (await_restored(segment)) {
    fmt::print("instance {}: all loops are as the programs have them\n", segment.header->instance);
    return true;
  }
  for (const ProcessSnapshot& process : take_snapshot(segment).processes) {
    if (process.loops == 0) continue;
    warn("process {} ({}) has not restored its loops yet; it will when it next waits", process.pid,
         process.command);
  }
  return false;
}

int spin(const std::string& what, const std::optional<std::string>& only) {
  if (what.empty()) die(kWrongUsage, "say restore or rewrite; see roost spin --help");
  if (what != "restore" && what != "rewrite")
    die(kWrongUsage, "'{}' is neither restore nor rewrite; see roost spin --help", what);
  if (only) check_instance_name(*only);
  bool any = false, done = true;
  for (const std::string& path : own_segments()) {
    if (only && instance_name(path) != *only) continue;
    OpenedInstance opened = open_instance(path, true);
    if (opened.error == -ENOENT) continue;
    if (opened.error) {
      warn("instance {}: {}", instance_name(path), instance_error(opened.error));
      done = false;
    } else if (opened.segment && segment_in_use(**opened.segment)) {
      any = true;
      done &= tell(**opened.segment, what == "restore");
    }
  }
  if (!any && only) die(kFailed, "there is no running instance '{}'", *only);
  if (!any) fmt::print("no instance is running\n");
  return done ? 0 : kFailed;
}

}  // namespace

Verb add_spin(CLI::App& app) {
  struct Options {
    std::string what;
    std::optional<std::string> instance;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      app.add_subcommand("spin", "Have wait loops of programs restored, or rewritten again");
  verb->add_option("what", options->what, "What is done about loops that wait by spinning")
      ->option_text("restore|rewrite");
  verb->add_option("--instance", options->instance, "Only those of this instance [all of them]")
      ->option_text("NAME");
  verb->footer(kSpinHelp);
  return {verb, [options] { return spin(options->what, options->instance); }};
}

}  // namespace roost::cli
