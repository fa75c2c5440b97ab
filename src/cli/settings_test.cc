// Options win over variables, variables over defaults, and mistakes name what is allowed.
#include "cli/settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cli/error.h"
#include "segment/segment.h"

namespace roost::cli {
namespace {

using Variables = std::map<std::string, std::string>;

Settings resolve(const RunOptions& options, const Variables& variables = {}) {
  return resolve_settings(options, [&](const std::string& name) -> const char* {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string complaint(const RunOptions& options, const Variables& variables = {}) {
  try {
    resolve(options, variables);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), kWrongUsage);
    return failure.what();
  }
  ADD_FAILURE() << "it was accepted";
  return {};
}

TEST(Settings, the_instance_is_the_option_else_the_outer_one_else_the_job_else_default) {
  EXPECT_EQ(resolve({}).instance, "default");
  Variables variables{{"SLURM_JOB_ID", "4711"}};
  EXPECT_EQ(resolve({}, variables).instance, "slurm-4711");
  variables["SLURM_STEP_ID"] = "3";
  EXPECT_EQ(resolve({}, variables).instance, "slurm-4711.3");
  variables["SLURM_CPUS_ON_NODE"] = "16";
  for (const char* of_job : {"17", "16,32", "16(x3),32(x2)"}) {
    variables["SLURM_JOB_CPUS_PER_NODE"] = of_job;
    EXPECT_EQ(resolve({}, variables).instance, "slurm-4711.3") << of_job;
  }
  for (const char* of_job : {"16", "16(x4)", "8,16"}) {
    variables["SLURM_JOB_CPUS_PER_NODE"] = of_job;
    EXPECT_EQ(resolve({}, variables).instance, "slurm-4711") << of_job;
  }
  variables["ROOST_INSTANCE"] = "outer";
  EXPECT_EQ(resolve({}, variables).instance, "outer");
  EXPECT_EQ(resolve({}, {{"PBS_JOBID", "12[3].host"}}).instance, "job-12_3_.host");
  EXPECT_EQ(resolve({}, {{"PBS_JOBID", "12.srv:15001@x y"}}).instance, "job-12.srv_15001_x_y");
  EXPECT_EQ(resolve({}, {{"LSB_JOBID", "99"}, {"LSB_JOBINDEX", "0"}}).instance, "job-99");
  EXPECT_EQ(resolve({}, {{"LSB_JOBID", "99"}, {"LSB_JOBINDEX", "2"}}).instance, "job-99.2");
  EXPECT_EQ(resolve({}, {{"PBS_JOBID", std::string(99, '9')}}).instance.size(), 63u);
  EXPECT_EQ(resolve({.instance = "mine"}, variables).instance, "mine");
}

TEST(Settings, nothing_is_inherited_from_the_job_that_submitted_this_one) {
  Variables variables{{"SLURM_JOB_ID", "2"}, {"ROOST_INSTANCE", "outer"}, {"ROOST_CORES", "1"}};
  EXPECT_EQ(resolve({}, variables).cores, 1u);
  for (const char* job : {"1", ""}) {  // "": it was submitted outside of jobs
    variables["ROOST_JOB"] = job;
    EXPECT_EQ(resolve({}, variables).instance, "slurm-2");
    EXPECT_EQ(resolve({}, variables).cores, 0u);
    EXPECT_EQ(resolve({.instance = "outer"}, variables).cores, 0u);
  }
  variables["ROOST_JOB"] = "2";
  EXPECT_EQ(resolve({}, variables).instance, "outer");
  variables["ROOST_JOB"] = "1";
  variables.erase("SLURM_JOB_ID");  // so that mpirun knows nothing of Slurm
  EXPECT_EQ(resolve({}, variables).instance, "outer");
}

TEST(Settings, jobs_of_an_array_are_told_apart) {
  Variables variables{{"LSB_JOBID", "7"}, {"LSB_JOBINDEX", "2"}, {"ROOST_INSTANCE", "outer"}};
  variables["ROOST_JOB"] = resolve({}, variables).job;
  EXPECT_EQ(resolve({}, variables).instance, "outer");
  variables["LSB_JOBINDEX"] = "3";
  EXPECT_EQ(resolve({}, variables).instance, "job-7.3");
  variables["LSB_JOBINDEX"] = "0";
  variables["LSB_JOBID"] = "72";
  EXPECT_EQ(resolve({}, variables).instance, "job-72");
}

TEST(Settings, bad_instance_names_are_refused) {
  for (const char* name : {"", "a/b", "..", ".hidden", "a b", "\xc3\xa4"}) {
    EXPECT_NE(complaint({.instance = name}).find("instance name"), std::string::npos) << name;
  }
  EXPECT_NE(complaint({.instance = std::string(64, 'x')}).find("63"), std::string::npos);
}

TEST(Settings, without_any_option_only_the_instance_is_passed_on) {
  EXPECT_EQ(settings_environment(resolve({})),
            (Assignments{{"ROOST_INSTANCE", "default"}, {"ROOST_JOB", ""}}));
}

TEST(Settings, everything_given_is_passed_on) {
  RunOptions options{.instance = "i", .policy = "coop", .cpus = "0-1", .quantum = "5ms"};
  options.set = {"max_threads=8", "idle_spin=10us"};
  options.pin = "none";
  options.trap = "on";
  options.stats = true;
  EXPECT_EQ(settings_environment(resolve(options)),
            (Assignments{{"ROOST_INSTANCE", "i"},
                         {"ROOST_JOB", ""},
                         {"ROOST_POLICY", "coop"},
                         {"ROOST_CPUS", "0-1"},
                         {"ROOST_QUANTUM_NS", "5000000"},
                         {"ROOST_SET", "idle_spin=10000,max_threads=8"},
                         {"ROOST_PIN", "none"},
                         {"ROOST_TRAP", "on"},
                         {"ROOST_STATS", "1"}}));
}

TEST(Settings, the_pinning_is_one_of_three_words_and_handed_to_nested_runs) {
  EXPECT_EQ(resolve({}).pin, std::nullopt);
  EXPECT_EQ(resolve({}, {{"ROOST_PIN", "node"}}).pin, "node");
  EXPECT_EQ(resolve({.pin = "none"}, {{"ROOST_PIN", "node"}}).pin, "none");
  EXPECT_EQ(complaint({.pin = "socket"}), "--pin takes core, node or none, not 'socket'");
}

TEST(Settings, the_trap_is_one_of_three_words_and_handed_to_nested_runs) {
  EXPECT_EQ(resolve({}).trap, std::nullopt);
  EXPECT_EQ(resolve({}, {{"ROOST_TRAP", "off"}}).trap, "off");
  EXPECT_EQ(resolve({.trap = "auto"}, {{"ROOST_TRAP", "off"}}).trap, "auto");
  EXPECT_NE(complaint({.trap = "yes"}).find("off, auto or on"), std::string::npos);
}

TEST(Settings, several_parameters_may_stand_in_one_list) {
  RunOptions options;
  options.set = {"max_threads=8,idle_spin=1us", "max_threads=9"};
  Settings settings = resolve(options);
  EXPECT_EQ(settings.parameters.at("max_threads"), 9u);
  EXPECT_EQ(settings.parameters.at("idle_spin"), 1'000u);
}

TEST(Settings, a_nested_run_keeps_what_the_outer_one_set) {
  RunOptions outer{.cores = "2", .quantum = "5ms"};
  outer.set = {"max_threads=8"};
  Assignments passed = settings_environment(resolve(outer));
  Variables variables;
  for (const Assignment& a : passed) variables[a.name] = a.value;
  EXPECT_EQ(settings_environment(resolve({}, variables)), passed);
}

TEST(Settings, options_win_over_variables) {
  Variables variables{
      {"ROOST_CPUS", "0"}, {"ROOST_QUANTUM_NS", "1"}, {"ROOST_SET", "quantum=2,max_threads=3"}};
  Settings settings = resolve({.cores = "4", .quantum = "9us"}, variables);
  EXPECT_EQ(settings.cpus, std::nullopt);
  EXPECT_EQ(settings.cores, 4u);
  EXPECT_EQ(settings.parameters.at("quantum"), 9'000u);
  EXPECT_EQ(settings.parameters.at("max_threads"), 3u);
}

TEST(Settings, of_the_outer_instance_do_not_leak_into_another) {
  Variables variables{
      {"ROOST_INSTANCE", "outer"}, {"ROOST_CORES", "2"}, {"ROOST_SET", "max_threads=3"}};
  EXPECT_EQ(resolve({}, variables).cores, 2u);
  Settings other = resolve({.instance = "inner"}, variables);
  EXPECT_EQ(other.cores, 0u);
  EXPECT_TRUE(other.parameters.empty());
}

TEST(Settings, the_treatment_of_busy_waits_is_handed_on) {
  EXPECT_FALSE(resolve({}, {}).spin);
  EXPECT_EQ(resolve({.spin = "off"}, {}).spin, "off");
  Variables variables{{"ROOST_INSTANCE", "default"}, {"ROOST_SPIN", "preempt"}};
  EXPECT_EQ(resolve({}, variables).spin, "preempt");
  EXPECT_EQ(resolve({.spin = "rewrite"}, variables).spin, "rewrite");
  Assignments handed = settings_environment(resolve({}, variables));
  EXPECT_TRUE(std::any_of(handed.begin(), handed.end(), [](const Assignment& a) {
    return a.name == "ROOST_SPIN" && a.value == "preempt";
  }));
}

TEST(Settings, the_width_of_blas_calls_is_the_sites_to_set) {
  Variables variables{{"ROOST_BLAS", "adapt"}};
  EXPECT_EQ(resolve({}, variables).blas, "adapt");
  EXPECT_EQ(resolve({.blas = "keep"}, variables).blas, "keep");
}

TEST(Settings, mistakes_name_what_is_allowed) {
  EXPECT_EQ(
      complaint({.policy = "nosuch"}).find("there is no policy 'nosuch'; known: coop and nest"),
      0u);
  auto set = [](const char* text) {
    RunOptions options;
    options.set = {text};
    return complaint(options);
  };
  EXPECT_EQ(set("nosuch=1").find("policy coop has no parameter 'nosuch'; known: quantum, "), 0u);
  EXPECT_EQ(set("quantum"),
            "--set takes a parameter and its value, as in quantum=20ms, not 'quantum'");
  EXPECT_EQ(set(""), "--set takes a parameter and its value, as in quantum=20ms, not ''");
  EXPECT_EQ(set("=1"), "--set takes a parameter and its value, as in quantum=20ms, not '=1'");
  EXPECT_EQ(set("quantum=soon"),
            "quantum cannot be 'soon'; write a time with its unit, such as 20ms, 500us or 1s");
  EXPECT_EQ(set("quantum=5"),
            "quantum cannot be '5'; write a time with its unit, such as 20ms, 500us or 1s");
  EXPECT_EQ(set("quantum=11s"), "quantum cannot be 11s; it lies between 0ns and 10s");
  EXPECT_EQ(set("max_threads=0"), "max_threads cannot be 0; it lies between 1 and 1048576");
  EXPECT_EQ(set("max_threads=many"), "max_threads cannot be 'many'; write a whole number");
  EXPECT_EQ(complaint({.quantum = "20"}),
            "--quantum takes a time with its unit, such as 20ms, 500us or 1s, not '20'");
  EXPECT_EQ(complaint({.cores = "0"}), "--cores takes a number of cores, 1 or more, not '0'");
  EXPECT_EQ(complaint({.cores = "0-1"}),
            "--cores takes a number of cores, 1 or more, not '0-1'; --cpus takes a list");
  EXPECT_EQ(complaint({.cores = "-1"}), "--cores takes a number of cores, 1 or more, not '-1'");
  EXPECT_EQ(complaint({.cores = "many"}), "--cores takes a number of cores, 1 or more, not 'many'");
  EXPECT_EQ(complaint({.spin = "on"}), "--spin takes off, preempt or rewrite, not 'on'");
  EXPECT_EQ(complaint({.blas = "on"}), "--blas takes keep, same or adapt, not 'on'");
  EXPECT_EQ(complaint({.cpus = "0", .cores = "1"}), "--cpus and --cores exclude each other");
}

}  // namespace
}  // namespace roost::cli
