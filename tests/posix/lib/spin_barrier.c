// A barrier that spins, between functions of some size, as a library has them.
static int arrived, generation;

int fill_before(int n);
int fill_before(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += i ^ generation;
  return sum;
}

void spin_barrier(int members);
void spin_barrier(int members) {
  int mine = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
  if (__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL) == members) {
    __atomic_store_n(&arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&generation, mine + 1, __ATOMIC_RELEASE);
    return;
  }
  while (__atomic_load_n(&generation, __ATOMIC_ACQUIRE) == mine) {
  }
}

int fill_behind(int n);
int fill_behind(int n) {
  int product = 1;
  for (int i = 1; i < n; ++i) product *= i | arrived;
  return product;
}
