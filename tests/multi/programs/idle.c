// Stays in the instance and does nothing until SIGTERM, then ends with exit status 0.
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;

static void stop(int number) {
  (void)number;
  stopped = 1;
}

int main(void) {
  signal(SIGTERM, stop);
  const char* message = "idle\n";
  if (write(STDOUT_FILENO, message, strlen(message)) < 0) return 1;
  const struct timespec a_while = {0, 20000000};
  while (!stopped) nanosleep(&a_while, NULL);
  return 0;
}
