// One of the eight units: a function whose name and result depend on UNIT.
#define JOIN(a, b) a##b
#define FUNCTION(unit) JOIN(value_of_, unit)

unsigned FUNCTION(UNIT)(unsigned rounds) {
  unsigned value = UNIT;
  for (unsigned i = 0; i < rounds; ++i) value = value * 1664525u + 1013904223u + i;
  return value;
}
