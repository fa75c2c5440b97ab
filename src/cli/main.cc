// The `roost` command: finds the verb and lets it act.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <system_error>

#include "cli/command_line.h"
#include "cli/error.h"
#include "cli/verbs.h"

namespace roost::cli {
namespace {

constexpr const char* kAbout =
    "Roost lets parallel programs share the cores of a machine well: all threads of all programs\n"
    "started with `roost run` run at most one per core, each until it waits. No root, no rebuild.";
constexpr const char* kExamples =
    "Examples:\n"
    "  roost run python3 train.py    run a program under Roost\n"
    "  roost ps                      see what runs under Roost\n"
    "\n"
    "`roost VERB --help` says more about each verb; `roost doctor` says whether all is well here.";

int fail(const std::string& sentence) {
  say(sentence);
  return kWrongUsage;
}

// `roost help` and `roost help VERB`, as of other commands; `roost version`.
void take_as_option(std::vector<std::string>& words) {
  if (words.empty()) return;
  if (words[0] == "version") words[0] = "--version";
  if (words[0] != "help") return;
  words.erase(words.begin());
  words.insert(words.begin() + !words.empty(), "--help");
}

int dispatch(std::vector<std::string> words) {
  take_as_option(words);
  CLI::App app(kAbout);
  app.footer(kExamples);
  app.formatter(std::make_shared<Formatter>());
  app.set_version_flag("--version", "roost " ROOST_VERSION, "Print the version and exit");
  app.get_help_ptr()->description("Print this help and exit");
  std::vector<std::string> command;
  const Verb verbs[] = {add_run(app, command), add_ps(app),   add_policies(app), add_doctor(app),
                        add_clean(app),        add_spin(app), add_sim(app)};
  std::string names;
  bool known = false;
  for (const Verb& verb : verbs) {
    verb.app->get_help_ptr()->description("Print this help and exit");
    verb.app->group("Verbs");
    names += (names.empty() ? "" : ", ") + verb.app->get_name();
    known |= !words.empty() && words[0] == verb.app->get_name();
  }

  if (words.empty()) return fail("a verb is missing: " + names + "; roost --help explains them");
  if (!known && words[0][0] != '-') {
    return fail("there is no verb '" + words[0] + "'; there are " + names);
  }
  if (words[0] == "run") {
    RunCommandLine line = split_run(*verbs[0].app, {words.begin() + 1, words.end()});
    command = line.command;
    words.resize(1);
    words.insert(words.end(), line.options.begin(), line.options.end());
  }
  std::string help = "roost " + (known ? words[0] + " " : "") + "--help";
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::Success& success) {  // help or version
    return app.exit(success);
  } catch (const CLI::ExtrasError&) {
    for (std::size_t i = known ? 1 : 0; i < words.size(); ++i) {
      bool option = words[i].size() > 1 && words[i][0] == '-';
      const CLI::App& parser = known ? *app.get_subcommand(words[0]) : app;
      if (option && !parser.get_option_no_throw(words[i].substr(0, words[i].find('=')))) {
        return fail("there is no option '" + words[i] + "'; " + help + " lists them");
      }
    }
    return fail("'" + words.back() + "' is one word too many; see " + help);
  } catch (const CLI::ArgumentMismatch& error) {
    std::string option = error.what();
    option.resize(std::min(option.find(':'), option.size()));
    bool again = std::count_if(words.begin(), words.end(), [&](const std::string& word) {
                   return word == option || word.starts_with(option + "=");
                 }) > 1;
    return fail(option + (again ? " is given twice; see " : " needs a value; see ") + help);
  } catch (const CLI::ConversionError& error) {
    // "Could not convert: --seed = x"
    std::string text = error.what();
    std::size_t option = text.find("--"), equals = text.find(" = ");
    if (option == std::string::npos || equals == std::string::npos) return fail(text);
    return fail(text.substr(option, equals - option) + " cannot be '" + text.substr(equals + 3) +
                "'; see " + help);
  } catch (const CLI::ParseError& error) {
    return fail(std::string(error.what()) + "; see " + help);
  }
  for (const Verb& verb : verbs) {
    if (verb.app->parsed()) return verb.act();
  }
  return fail("a verb is missing: " + names + "; " + help + " explains them");
}

}  // namespace
}  // namespace roost::cli

namespace {

int refuse_output(int error) {
  roost::cli::say(std::string("standard output cannot be written: ") +
                  (error ? std::strerror(error) : "it is closed or full"));
  return roost::cli::kFailed;
}

// What was printed may have got nowhere: a full disk, /dev/full.
int end_output(int status) {
  errno = 0;
  std::cout.flush();
  bool written = std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout.good();
  return written || status != 0 ? status : refuse_output(errno);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return end_output(roost::cli::dispatch({argv + 1, argv + argc}));
  } catch (const roost::cli::Failure& failure) {
    roost::cli::say(failure.what());
    return failure.code();
  } catch (const std::system_error& error) {
    // fmt's, of output that is larger than the buffer, does not say where it was to go.
    if (std::ferror(stdout)) return refuse_output(error.code().value());
    roost::cli::say(error.what());
    return roost::cli::kFailed;
  } catch (const std::exception& error) {
    roost::cli::say(error.what());
    return roost::cli::kFailed;
  }
}
