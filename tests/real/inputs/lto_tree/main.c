// Prints what the eight units compute.
#include <stdio.h>

#define UNITS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define DECLARE(unit) unsigned value_of_##unit(unsigned rounds);
#define PRINT(unit) printf("%u\n", value_of_##unit(1000 * unit));

UNITS(DECLARE)

int main(void) {
  UNITS(PRINT)
  return 0;
}
