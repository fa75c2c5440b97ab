// Stays in the instance until SIGTERM, then ends with exit status 0. It cannot read /proc: for its
// root is an empty folder (no_proc root FOLDER), it has no /proc (no_proc mount), or it may open
// no file (no_proc files).
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

static sigset_t stop;

static void* wait_for_stop(void* unused) {
  int number;
  sigwait(&stop, &number);
  return unused;
}

static int lose_proc(const char* how, const char* folder) {
  struct rlimit none = {0, 0};
  if (strcmp(how, "root") == 0) return chroot(folder) || chdir("/");
  if (strcmp(how, "files") == 0) return setrlimit(RLIMIT_NOFILE, &none);
  return unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
         umount2("/proc", MNT_DETACH);
}

int main(int argc, char** argv) {
  pthread_t thread;
  if (argc < 2 || lose_proc(argv[1], argv[2])) return 99;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, NULL);
  if (pthread_create(&thread, NULL, wait_for_stop, NULL) != 0) return 1;
  const char* message = "there\n";
  if (write(STDOUT_FILENO, message, strlen(message)) < 0) return 1;
  pthread_join(thread, NULL);
  return 0;
}
