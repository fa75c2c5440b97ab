// Runs models: a sound one must hold in every schedule tried, a weakened one must fail in some.
#pragma once

#include <cstdio>
#include <fstream>
#include <iostream>

#include "relacy_world.h"

namespace roost::model {

class Check {
 public:
  // Schedules are numbered and repeat exactly: the same number gives the same run.
  template <class Model>
  void holds(const char* what, unsigned schedules) {
    bool held = run<Model>(schedules, nowhere_);
    if (!held) run<Model>(schedules, std::cout);  // the same again, told
    report(held, "%s holds in %u schedules", what, schedules);
  }

  // Without that, some schedule must end in `failure`, or in `other`: which comes first is chance.
  template <class Model>
  void fails_without(Weakening what, rl::test_result_e failure, unsigned schedules,
                     rl::test_result_e other = rl::test_result_success) {
    weakening = what;
    bool held = run<Model>(schedules, nowhere_);
    weakening = {};
    report(!held && (result_ == failure || result_ == other),
           "without the %s of %s, %s: %s in schedule %lu",
           what.take == Take::fence ? "fence" : "orderings", what.file, what.function,
           rl::test_result_str(result_), stopped_);
  }

  int result() const { return failed_; }

 private:
  template <class Model>
  bool run(unsigned schedules, std::ostream& out) {
    rl::test_params parameters;
    parameters.iteration_count = schedules;
    parameters.execution_depth_limit = 4000;
    parameters.progress_stream = &nowhere_;
    parameters.output_stream = &out;
    bool held = rl::simulate<Model>(parameters);
    result_ = parameters.test_result;
    stopped_ = static_cast<unsigned long>(parameters.stop_iteration);
    return held;
  }

  template <class... Values>
  void report(bool good, const char* format, Values... values) {
    std::printf(good ? "ok   " : "FAIL ");
    std::printf(format, values...);
    std::printf("\n");
    std::fflush(stdout);
    if (!good) failed_ = 1;
  }

  std::ofstream nowhere_;  // never opened
  int failed_ = 0;
  rl::test_result_e result_ = rl::test_result_success;
  unsigned long stopped_ = 0;
};

}  // namespace roost::model
