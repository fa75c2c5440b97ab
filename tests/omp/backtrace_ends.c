// A backtrace of a light thread shows the program's functions, and ends where its stack begins: by
// the unwinder of the language, and in gdb where there is one that may trace.
// flags: -O1 -rdynamic
// ours: named
// threads: 2
// reference: no
// reason: it is about light threads
// sanitized: no
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>

#include "light.h"

enum { MOST = 100 };

void* frames[MOST];
int n_frames;

// Not static: dladdr() knows them by name.
__attribute__((noinline)) void innermost(int trap) {
  n_frames = backtrace(frames, MOST);
  if (trap) raise(SIGTRAP);
}
__attribute__((noinline)) void called_by_member(int depth, int trap) {
  if (depth) {
    called_by_member(depth - 1, trap);
  } else {
    innermost(trap);
  }
  __asm__ volatile("" ::: "memory");  // no tail call
}
static void look_back(void) { called_by_member(3, 0); }
static void trap(void) { called_by_member(3, 1); }

static void check_unwinder(void) {
  int own = 0;
  const char* file = "";
  EXPECT(in_light_thread(look_back) > 0);
  EXPECT(n_frames > 5 && n_frames < 30);
  for (int i = 0; i < n_frames; ++i) {
    Dl_info info = {0};
    dladdr(frames[i], &info);
    own += info.dli_sname && strcmp(info.dli_sname, "called_by_member") == 0;
    file = info.dli_fname ? info.dli_fname : "";
  }
  EXPECT_EQ(own, 4);
  EXPECT(strstr(file, "roost") != NULL);
}

static void check_gdb(const char* program) {
  char command[1000];
  snprintf(command, sizeof command,
           "gdb -batch -nx -ex 'set debuginfod enabled off' -ex run -ex bt --args '%s' trap 2>&1",
           program);
  FILE* gdb = popen(command, "r");
  char line[1000], last[1000] = "";
  int own = 0, refused = 0, stopped = 0;
  while (gdb && fgets(line, sizeof line, gdb)) {
    own += strstr(line, " called_by_member (") != NULL;
    refused |= strstr(line, "not permitted") || strstr(line, "gdb: not found");
    stopped |= strstr(line, "Backtrace stopped") != NULL;
    if (line[0] == '#') strcpy(last, line);
  }
  if (gdb) pclose(gdb);
  if (refused) return;
  EXPECT_EQ(own, 4);
  EXPECT(!stopped);
  EXPECT(strstr(last, "roost_ult_begin") != NULL);
}

int main(int argc, char** argv) {
  if (argc > 1) return !in_light_thread(trap);
  check_unwinder();
  check_gdb(argv[0]);
  return verdict();
}
