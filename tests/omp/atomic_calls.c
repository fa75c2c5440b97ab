/* The atomic entry points of LLVM's runtime that clang does not call, but other compilers do. */
// compilers: clang
#include <complex.h>
#include <stdbool.h>

#include "worksharing.h"

void __kmpc_atomic_fixed1_add(void*, int, signed char*, signed char);
void __kmpc_atomic_fixed4_sub_rev(void*, int, int*, int);
void __kmpc_atomic_fixed4u_div(void*, int, unsigned*, unsigned);
void __kmpc_atomic_fixed8_max(void*, int, long*, long);
void __kmpc_atomic_fixed2_shl(void*, int, short*, short);
void __kmpc_atomic_fixed4_eqv(void*, int, int*, int);
int __kmpc_atomic_fixed4_add_cpt(void*, int, int*, int, int);
int __kmpc_atomic_fixed4_swp(void*, int, int*, int);
void __kmpc_atomic_fixed4_mul_float8(void*, int, int*, double);
float __kmpc_atomic_float4_sub_cpt_rev(void*, int, float*, float, int);
void __kmpc_atomic_float8_add(void*, int, double*, double);
void __kmpc_atomic_float10_add(void*, int, long double*, long double);
void __kmpc_atomic_float4_add_float8(void*, int, float*, double);
void __kmpc_atomic_cmplx4_add(void*, int, float _Complex*, float _Complex);
void __kmpc_atomic_cmplx4_add_cpt(void*, int, float _Complex*, float _Complex, float _Complex*,
                                  int);
void __kmpc_atomic_cmplx8_add(void*, int, double _Complex*, double _Complex);
void __kmpc_atomic_cmplx8_div_rev(void*, int, double _Complex*, double _Complex);
long double __kmpc_atomic_float10_rd(void*, int, long double*);
bool __kmpc_atomic_bool_4_cas(void*, int, int*, int, int);
bool __kmpc_atomic_bool_4_cas_cpt(void*, int, int*, int, int, int*);
int __kmpc_atomic_val_4_cas(void*, int, int*, int, int);
int __kmpc_atomic_val_4_cas_cpt(void*, int, int*, int, int, int*);
void __kmpc_atomic_8(void*, int, void*, void*, void (*)(void*, void*, void*));
void __kmpc_atomic_16(void*, int, void*, void*, void (*)(void*, void*, void*));
void __kmpc_atomic_start(void);
void __kmpc_atomic_end(void);
int __kmpc_global_thread_num(void*);

static void add_long(void* out, void* a, void* b) { *(long*)out = *(long*)a + *(long*)b; }
static void add_complex(void* out, void* a, void* b) {
  *(double _Complex*)out = *(double _Complex*)a + *(double _Complex*)b;
}

static void alone() {
  int gtid = __kmpc_global_thread_num(0);
  signed char c = 100;
  __kmpc_atomic_fixed1_add(0, gtid, &c, 100);
  if (c != (signed char)200) fail("fixed1_add", c);
  int i = 3, j;
  __kmpc_atomic_fixed4_sub_rev(0, gtid, &i, 10);
  if (i != 7) fail("fixed4_sub_rev", i);
  __kmpc_atomic_fixed4_eqv(0, gtid, &i, 5);
  if (i != ~(7 ^ 5)) fail("fixed4_eqv", i);
  i = 7;
  if (__kmpc_atomic_fixed4_add_cpt(0, gtid, &i, 2, 1) != 9) fail("fixed4_add_cpt, new", i);
  if (__kmpc_atomic_fixed4_add_cpt(0, gtid, &i, 2, 0) != 9) fail("fixed4_add_cpt, old", i);
  if (__kmpc_atomic_fixed4_swp(0, gtid, &i, 4) != 11 || i != 4) fail("fixed4_swp", i);
  __kmpc_atomic_fixed4_mul_float8(0, gtid, &i, 2.5);
  if (i != 10) fail("fixed4_mul_float8", i);
  unsigned u = 4000000000u;
  __kmpc_atomic_fixed4u_div(0, gtid, &u, 2);
  if (u != 2000000000u) fail("fixed4u_div", u);
  long l = -5;
  __kmpc_atomic_fixed8_max(0, gtid, &l, -9);
  if (l != -5) fail("fixed8_max", l);
  short s = 3;
  __kmpc_atomic_fixed2_shl(0, gtid, &s, 4);
  if (s != 48) fail("fixed2_shl", s);
  float f = 1;
  if (__kmpc_atomic_float4_sub_cpt_rev(0, gtid, &f, 5, 1) != 4) fail("float4_sub_cpt_rev", (long)f);
  __kmpc_atomic_float4_add_float8(0, gtid, &f, 0.5);
  if (f != 4.5f) fail("float4_add_float8", (long)f);
  float _Complex z = 1 + I, out = 0;
  __kmpc_atomic_cmplx4_add_cpt(0, gtid, &z, 2, &out, 1);
  if (out != 3 + I || z != out) fail("cmplx4_add_cpt", (long)crealf(out));
  double _Complex w = 2;
  __kmpc_atomic_cmplx8_div_rev(0, gtid, &w, 4 + 2 * I);
  if (w != 2 + I) fail("cmplx8_div_rev", (long)creal(w));
  i = 1;
  if (!__kmpc_atomic_bool_4_cas(0, gtid, &i, 1, 2) || i != 2) fail("bool_4_cas", i);
  if (__kmpc_atomic_bool_4_cas_cpt(0, gtid, &i, 1, 3, &j) || j != 2) fail("bool_4_cas_cpt", j);
  if (__kmpc_atomic_val_4_cas(0, gtid, &i, 2, 5) != 2 || i != 5) fail("val_4_cas", i);
  if (__kmpc_atomic_val_4_cas_cpt(0, gtid, &i, 5, 6, &j) != 5 || j != 6) fail("val_4_cas_cpt", j);
}

static void together(int threads) {
  double d = 0;
  long double e = 0;
  float _Complex z4 = 0;
  double _Complex z8 = 0, z16 = 0;
  long l = 0, guarded = 0;
#pragma omp parallel num_threads(threads)
  {
    int gtid = __kmpc_global_thread_num(0);
    long one = 1;
    double _Complex both = 1 + I;
    for (int r = 0; r < 1000; ++r) {
      __kmpc_atomic_float8_add(0, gtid, &d, 1);
      __kmpc_atomic_float10_add(0, gtid, &e, 1);
      __kmpc_atomic_cmplx4_add(0, gtid, &z4, 1 + I);
      __kmpc_atomic_cmplx8_add(0, gtid, &z8, 1 + I);
      __kmpc_atomic_8(0, gtid, &l, &one, add_long);
      __kmpc_atomic_16(0, gtid, &z16, &both, add_complex);
      __kmpc_atomic_start();
      ++guarded;
      __kmpc_atomic_end();
    }
  }
  long n = threads * 1000L;
  if (d != n || e != n || l != n || guarded != n) fail("updates by calls", (long)d);
  if (z4 != n + n * I || z8 != n + n * I || z16 != n + n * I) fail("complex updates by calls", n);
  if (__kmpc_atomic_float10_rd(0, __kmpc_global_thread_num(0), &e) != n) fail("float10_rd", n);
}

int main() {
  alone();
  together(1);
  together(2);
  together(7);
  together(40);
  return failures != 0;
}
