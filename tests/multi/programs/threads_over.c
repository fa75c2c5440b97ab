// Has a thread, which ends; says "alone" once the kernel knows of no thread but the first; stays
// until it is killed.
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void* end_at_once(void* unused) { return unused; }

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, end_at_once, NULL) != 0) return 1;
  if (pthread_join(thread, NULL) != 0) return 1;
  const struct timespec a_while = {0, 10000000};
  struct stat tasks;
  do {
    nanosleep(&a_while, NULL);
    if (stat("/proc/self/task", &tasks) != 0) return 1;
  } while (tasks.st_nlink != 3);
  const char* message = "alone\n";
  if (write(STDOUT_FILENO, message, strlen(message)) < 0) return 1;
  for (;;) nanosleep(&a_while, NULL);
}
