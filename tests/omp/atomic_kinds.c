/* Atomic updates of all kinds by many threads, for which compilers have instructions, locks or
 * calls. */
#include "worksharing.h"

#define EACH 1000

static void with(int threads) {
  signed char c = 0;
  short s = 0;
  int i = 0, shifted = 1, captured = 0, most = -1;
  long l = 0, product = 1;
  float f = 0;
  double d = 0, divided = 1;
  long double e = 0;
  struct {
    char before;
    long value;
  } __attribute__((packed)) unaligned = {0, 0};
  unsigned char seen[64 * EACH] = {0};
#pragma omp parallel num_threads(threads)
  for (int r = 0; r < EACH; ++r) {
#pragma omp atomic
    c += 1;
#pragma omp atomic
    s -= 2;
#pragma omp atomic
    i ^= r;
#pragma omp atomic
    shifted = shifted | 1 << r % 20;
#pragma omp atomic
    l += r;
#pragma omp atomic
    product *= 3;
#pragma omp atomic
    f += 1;
#pragma omp atomic
    d += 0.5;
#pragma omp atomic
    divided = 1 / divided;
#ifndef __clang__ /* would need libatomic */
#pragma omp atomic
    e += 0.25;
#pragma omp atomic
    unaligned.value += 2;
#else
#pragma omp critical
    {
      e += 0.25;
      unaligned.value += 2;
    }
#endif
    int got;
#pragma omp atomic capture
    got = captured++;
    if (seen[got]) fail("atomic capture gave a number twice", got);
    seen[got] = 1;
#pragma omp atomic read
    got = captured;
    if (got <= 0) fail("atomic read", got);
#pragma omp critical(extreme)
    if (r > most) most = r;
  }
  long n = (long)threads * EACH;
  long expected_product = 1;
  for (long k = 0; k < n; ++k) expected_product = (long)((unsigned long)expected_product * 3);
  if (c != (signed char)n) fail("signed char", c);
  if (s != (short)(-2 * n)) fail("short", s);
  int x = 0;
  for (int r = 0; r < EACH; ++r) x ^= r;
  if (i != (threads % 2 ? x : 0)) fail("xor", i);
  if (shifted != (1 << 20) - 1) fail("or", shifted);
  if (l != (long)threads * EACH * (EACH - 1) / 2) fail("long", l);
  if (product != expected_product) fail("product", product);
  if (f != (float)n) fail("float", (long)f);
  if (d != 0.5 * (double)n) fail("double", (long)d);
  if (divided != 1) fail("quotient", (long)divided);
  if (e != 0.25L * n) fail("long double", (long)e);
  if (unaligned.value != 2 * n) fail("an unaligned long", unaligned.value);
  if (captured != n || most != EACH - 1) fail("capture", captured);
}

int main() {
  omp_set_dynamic(0);
  with(1);
  with(2);
  with(7);
  with(64);
  return failures != 0;
}
