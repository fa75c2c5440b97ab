// Splits `roost run` command lines, lays out help, adds verbs without much to say.
#include "cli/command_line.h"

#include <memory>
#include <utility>

#include "cli/verbs.h"

namespace roost::cli {

RunCommandLine split_run(const CLI::App& run, const std::vector<std::string>& words) {
  std::size_t at = 0;
  bool marked = false;
  while (at < words.size() && !marked && words[at].size() > 1 && words[at][0] == '-') {
    const std::string& word = words[at++];
    marked = word == "--";
    const CLI::Option* option = run.get_option_no_throw(word);
    if (option && option->get_items_expected_max() > 0 && at < words.size()) ++at;
  }
  auto options_end = words.begin() + static_cast<std::ptrdiff_t>(at);
  RunCommandLine line;
  line.options.assign(words.begin(), options_end - (marked ? 1 : 0));
  line.command.assign(options_end, words.end());
  return line;
}

Formatter::Formatter() { column_width(26); }

std::string Formatter::make_usage(const CLI::App* app, std::string) const {
  std::string usage = "\nUsage: roost";
  if (app->get_parent()) usage += " " + app->get_name();
  usage += app->get_parent() ? " [OPTIONS]" : " VERB ...";
  if (app->get_name() == "run") usage += " [--] COMMAND [ARGUMENT...]";
  return usage + "\n";
}

Verb add_plain(CLI::App& app, const char* name, const char* about, const char* help,
               std::function<int()> act) {
  CLI::App* verb = app.add_subcommand(name, about);
  verb->footer(help);
  return {verb, std::move(act)};
}

Verb add_with_json(CLI::App& app, const char* name, const char* about, const char* help,
                   std::function<int(bool json)> act) {
  auto json = std::make_shared<bool>(false);
  Verb verb =
      add_plain(app, name, about, help, [json, act = std::move(act)] { return act(*json); });
  verb.app->add_flag("--json", *json, "Print for programs");
  return verb;
}

}  // namespace roost::cli
