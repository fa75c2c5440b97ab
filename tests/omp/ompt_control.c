// omp_control_tool reaches the tool, and says so where there is none to reach.
//
// header: omp-tools.h
// compilers: clang
// flags: -rdynamic
// threads: 2
// reason: libgomp has no omp_control_tool
#include <omp.h>

#include "ompt_events.h"

static int told;
static int on_control_tool(uint64_t command, uint64_t modifier, void* argument, const void* code) {
  must_be("where it comes from is known", code != NULL, 1);
  *(int*)argument = (int)(command + modifier);
  return 42;
}

static void events_expected(void) {}

int main(void) {
  omp_get_max_threads();
  must_be("without a callback", omp_control_tool(1, 0, NULL) == omp_control_tool_nocallback, 1);
  WATCH(control_tool, ompt_set_always);
  must_be("with one", (unsigned long)omp_control_tool(64, 7, &told), 42);
  must_be("what it was told", (unsigned long)told, 71);
  int verdict = leave_tool();
  return verdict || omp_control_tool(1, 0, NULL) != omp_control_tool_notool;
}
