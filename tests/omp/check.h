// For tests that end at the first thing that does not hold; others count, with expect.h.
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                           \
  do {                                                             \
    if (!(condition)) {                                            \
      printf("line %d: %s does not hold\n", __LINE__, #condition); \
      exit(1);                                                     \
    }                                                              \
  } while (0)
