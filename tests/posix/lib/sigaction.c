// A library that has a say in handlers, as Java's libjsig: it counts calls, and makes them.
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

static int calls;

int sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  int (*libcs)(int, const struct sigaction*, struct sigaction*);
  *(void**)&libcs = dlsym(RTLD_NEXT, "sigaction");
  if (!libcs) abort();
  if (action && number == SIGUSR1) ++calls;
  return libcs(number, action, before);
}

int calls_of_sigaction(void) { return calls; }
