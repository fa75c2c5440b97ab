// Levels, ancestors' numbers and team sizes in regions nested up to three deep, some of one member.
#include "expect.h"

static int executed;

static void inside(const int* sizes, const int* numbers, int level) {
  EXPECT_EQ(omp_get_level(), level);
  int active = 0;
  for (int i = 1; i <= level; ++i) active += sizes[i] > 1;
  EXPECT_EQ(omp_get_active_level(), active);
  EXPECT_EQ(omp_in_parallel(), active > 0);
  EXPECT_EQ(omp_get_num_threads(), sizes[level]);
  EXPECT_EQ(omp_get_thread_num(), numbers[level]);
  for (int i = 0; i <= level; ++i) {
    EXPECT_EQ(omp_get_ancestor_thread_num(i), numbers[i]);
    EXPECT_EQ(omp_get_team_size(i), sizes[i]);
  }
  EXPECT_EQ(omp_get_ancestor_thread_num(level + 1), -1);
  EXPECT_EQ(omp_get_team_size(level + 1), -1);
  EXPECT_EQ(omp_get_ancestor_thread_num(-1), -1);
}

static void three(int a, int b, int c) {
  executed = 0;
  int sizes[4] = {1, a, b, c};
#pragma omp parallel num_threads(a)
  {
    int n1 = omp_get_thread_num();
    int first[4] = {0, n1};
    inside(sizes, first, 1);
#pragma omp parallel num_threads(b)
    {
      int n2 = omp_get_thread_num();
      int second[4] = {0, n1, n2};
      inside(sizes, second, 2);
#pragma omp parallel num_threads(c)
      {
        int third[4] = {0, n1, n2, omp_get_thread_num()};
        inside(sizes, third, 3);
        add(&executed, 1);
#pragma omp barrier
        inside(sizes, third, 3);
      }
      inside(sizes, second, 2);
#pragma omp barrier
      inside(sizes, second, 2);
    }
    inside(sizes, first, 1);
  }
  EXPECT_EQ(executed, a * b * c);
  EXPECT_EQ(omp_get_level(), 0);
  EXPECT_EQ(omp_get_active_level(), 0);
  EXPECT_EQ(omp_get_team_size(0), 1);
  EXPECT_EQ(omp_get_ancestor_thread_num(0), 0);
}

static int depth_reached;
static void recurse(int level) {
  EXPECT_EQ(omp_get_level(), level);
  if (level == 6) {
    add(&depth_reached, 1);
    return;
  }
#pragma omp parallel num_threads(2)
  recurse(level + 1);
}

int main(void) {
  allow_nesting();
  static const int sizes[] = {1, 2, 3, 5};
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 4; ++b)
      for (int c = 0; c < 4; ++c) three(sizes[a], sizes[b], sizes[c]);
  three(8, 8, 2);
  for (int round = 0; round < 3; ++round) {
    depth_reached = 0;
    recurse(0);
    EXPECT_EQ(depth_reached, 64);
  }
  omp_set_max_active_levels(1);
#pragma omp parallel num_threads(3)
  {
#pragma omp parallel num_threads(3)
    {
      EXPECT_EQ(omp_get_num_threads(), 1);
      EXPECT_EQ(omp_get_level(), 2);
      EXPECT_EQ(omp_get_active_level(), 1);
    }
  }
  return verdict();
}
