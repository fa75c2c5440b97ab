// Formats of affinity.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

int main(void) {
  char text[256], expected[256];
  omp_set_affinity_format("team %t of %T");
  CHECK(omp_get_affinity_format(text, sizeof text) == 13 && strcmp(text, "team %t of %T") == 0);
  CHECK(omp_get_affinity_format(text, 5) == 13 && strcmp(text, "team") == 0);
  CHECK(omp_capture_affinity(text, sizeof text, NULL) == 11 && strcmp(text, "team 0 of 1") == 0);
  CHECK(omp_capture_affinity(text, 7, "") == 11 && strcmp(text, "team 0") == 0);
  snprintf(expected, sizeof expected, "%ld|%08ld|%%", (long)getpid(), (long)getpid());
  omp_capture_affinity(text, sizeof text, "%P|%0.8P|%%");
  CHECK(strcmp(text, expected) == 0);
  int right = 0;
#pragma omp parallel num_threads(3)
  {
    char mine[256], wanted[256];
    omp_capture_affinity(mine, sizeof mine, "[%4n][%.4{num_threads}][%0.4L][%a]");
    snprintf(wanted, sizeof wanted, "[%-4d][%4d][%04d][%d]", omp_get_thread_num(), 3, 1, 0);
#pragma omp atomic
    right += strcmp(mine, wanted) == 0;
  }
  CHECK(right == 3);
  omp_capture_affinity(text, sizeof text, "%H %i %A");
  CHECK(strlen(text) > 4);
  CHECK(omp_get_num_places() >= 0);
  return 0;
}
