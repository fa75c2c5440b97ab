// OMP_DISPLAY_AFFINITY: each member of each region shows itself, nested ones too, and again when it
// was last in a region of another level or size, as who opens nested ones is each time.
//
// env: OMP_DISPLAY_AFFINITY=true OMP_AFFINITY_FORMAT=[%L.%a.%n.%N]
// threads: 2
// reference: no
// reason: the other runtimes repeat some more lines
#include <fcntl.h>
#include <omp.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "expect.h"

static int file;
static char text[4096];

static int count_of(int level, int ancestor, int number, int size) {
  char line[64];
  int count = 0;
  int length = snprintf(line, sizeof line, "[%d.%d.%d.%d]\n", level, ancestor, number, size);
  for (const char* at = text; (at = strstr(at, line)); at += length) ++count;
  return count;
}

// Twice; the second time only the members that open a region have something to show.
static void regions(int outer, int inner) {
  for (int round = 0; round < 2; ++round) {
#pragma omp parallel num_threads(outer)
#pragma omp parallel num_threads(inner)
    __asm__ volatile("");
  }
  fflush(stdout);
  ssize_t length = pread(file, text, sizeof text - 1, 0);
  text[length > 0 ? length : 0] = 0;
}

int main(void) {
  allow_nesting();
  int out = dup(1), error = dup(2);
  file = memfd_create("shown", 0);
  fcntl(file, F_SETFL, O_APPEND);
  dup2(file, 1);
  dup2(file, 2);
  regions(3, 2);
  size_t length = strlen(text);
  int wrong = 0;
  for (int i = 0; i < 3; ++i) {
    wrong += count_of(1, 0, i, 3) != 2;
    for (int j = 0; j < 2; ++j) wrong += count_of(2, i, j, 2) != (j == 0 ? 2 : 1);
  }
  wrong += length != 15 * strlen("[1.0.0.3]\n");
  regions(3, 4);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) wrong += count_of(2, i, j, 4) != (j == 0 ? 2 : 1);
  wrong += strlen(text) != length + (6 + 15) * strlen("[2.0.0.4]\n");
  dup2(out, 1);
  dup2(error, 2);
  if (wrong) fprintf(stderr, "%s", text);
  EXPECT_EQ(wrong, 0);
  return verdict();
}
