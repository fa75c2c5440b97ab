// Valgrind knows light stacks: a program without errors has none in memcheck, and no warnings that
// it seems to switch stacks. Where there is no valgrind, nothing is tested.
// flags: -g0
// ours: named
// threads: 2
// reference: no
// reason: it is about light threads; valgrind may not understand newer debugging information
// sanitized: no
#include "light.h"

static int deep(int n, const char* above) {
  char bytes[5000];
  memset(bytes, above[0], sizeof bytes);
  __asm__ volatile("" ::"r"(bytes) : "memory");
  return n ? deep(n - 1, bytes) + bytes[n] : bytes[0];
}

static void inside(void) {
  char mine[3000];
  memset(mine, 1, sizeof mine);
  int sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
  {
#pragma omp barrier
    sum += deep(10, mine);
#pragma omp barrier
  }
  EXPECT_EQ(sum, 33);
}

int main(int argc, char** argv) {
  if (argc > 1) {
    EXPECT(in_light_thread(inside) > 0);
    return verdict();
  }
  if (system("valgrind --version > /dev/null 2>&1") != 0) return 0;
  char command[1000];
  snprintf(command, sizeof command, "valgrind -q --error-exitcode=9 '%s' inside 2>&1", argv[0]);
  FILE* valgrind = popen(command, "r");
  char line[1000];
  int lines = 0;
  while (valgrind && fgets(line, sizeof line, valgrind))
    if (lines++ < 20) fputs(line, stderr);
  EXPECT_EQ(lines, 0);
  EXPECT(valgrind && pclose(valgrind) == 0);
  return verdict();
}
