// A library with thread-local storage of its own, to be loaded while the program runs.
static __thread int initialised = 42;
static __thread int zero;
static __thread char large[100000];

// 0 if this thread finds everything as a new thread must; then leaves it changed.
int tls_check_and_dirty(void) {
  int sum = initialised - 42 + zero;
  for (unsigned i = 0; i < sizeof large; i += 1000) sum += large[i];
  initialised = 7;
  zero = 8;
  for (unsigned i = 0; i < sizeof large; ++i) large[i] = 9;
  return sum;
}

// 0 if this thread finds what tls_check_and_dirty left.
int tls_check_dirty(void) { return (initialised - 7) | (zero - 8) | (large[99999] - 9); }
