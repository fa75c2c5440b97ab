// A tool that OMP_TOOL_LIBRARIES names is loaded, behind names that lead nowhere, sees the regions
// and tasks of the program and of its threads, and is left when the process exits.
//
// header: omp-tools.h
// library: support/ompt_library.c same
// threads: 1 2 7
// reference: no
// reason: libgomp has no tools, and LLVM's runtime leaves a file behind in a process that its tool
// ends
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { REGIONS = 20, TASKS = 7 };

static int sum;

static void* regions(void* unused) {
  for (int i = 0; i < REGIONS; ++i) {
#pragma omp parallel
#pragma omp master
    for (int task = 0; task < TASKS; ++task) {
#pragma omp task
      {
#pragma omp atomic
        ++sum;
      }
    }
  }
  return unused;
}

int main(int argc, char** argv) {
  char text[4096];
  if (argc < 2) return 2;
  snprintf(text, sizeof text, "/nowhere/tool.so::%s", argv[1]);
  setenv("OMP_TOOL_LIBRARIES", text, 1);
  snprintf(text, sizeof text, "regions %d %d members left 0 tasks %d %d initial 1", 2 * REGIONS,
           2 * REGIONS, 2 * REGIONS * TASKS, 2 * REGIONS * TASKS);
  setenv("OMPT_LIBRARY_WANTS", text, 1);
  pthread_t thread;
  if (pthread_create(&thread, NULL, regions, NULL)) return 2;
  regions(NULL);
  pthread_join(thread, NULL);
  return 1;  // the tool's end is the process's, with the verdict
}
