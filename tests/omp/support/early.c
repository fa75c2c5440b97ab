// A library whose constructor and destructor open regions, and that others ask whether they could.
#include <omp.h>
#include <unistd.h>

static int members_at(int size) {
  int members = 0;
#pragma omp parallel num_threads(size)
  {
    __atomic_add_fetch(&members, 1, __ATOMIC_RELAXED);
#pragma omp barrier
#pragma omp parallel num_threads(2)
    __atomic_add_fetch(&members, 100, __ATOMIC_RELAXED);
  }
  return members;
}

static int in_constructor;
static __attribute__((constructor(101))) void early(void) {
  omp_set_dynamic(0);
  omp_set_max_active_levels(4);
  in_constructor = members_at(3);
}
static __attribute__((destructor)) void late(void) {
  if (members_at(4) != 804) _exit(3);
}
int early_members(void) { return in_constructor; }
