// Bursts of short-lived children, made in every way: fork_storm BURSTS CHILDREN.
//
// A third of the children are forked and use a thread, a third are forked and exec, a third are
// spawned. Exit 0 if every child ended as it should, else 1.
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void* count(void* unused) {
  for (int i = 0; i < 100; ++i) {
    pthread_mutex_lock(&mutex);
    ++counter;
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}

static int use_threads(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, count, NULL) != 0) return 255;
  count(NULL);
  pthread_join(thread, NULL);
  return counter == 200 ? 0 : 255;
}

static pid_t start(char** argv, int child) {
  char status[16];
  snprintf(status, sizeof status, "%d", child);
  char* as_child[] = {argv[0], (char*)"child", status, NULL};
  pid_t pid;
  if (child % 3 == 0) return posix_spawn(&pid, argv[0], NULL, NULL, as_child, environ) ? -1 : pid;
  pid = fork();
  if (pid != 0) return pid;
  if (child % 3 == 1) _exit(use_threads() ? 255 : child);
  execv(argv[0], as_child);
  _exit(255);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (strcmp(argv[1], "child") == 0) return use_threads() ? 255 : atoi(argv[2]);
  int bursts = atoi(argv[1]), children = atoi(argv[2]), wrong = 0;
  pid_t* pids = calloc((size_t)children, sizeof *pids);
  for (int burst = 0; burst < bursts; ++burst) {
    for (int child = 0; child < children; ++child) pids[child] = start(argv, child);
    for (int child = 0; child < children; ++child) {
      int status = 0;
      if (pids[child] < 0 || waitpid(pids[child], &status, 0) != pids[child] ||
          !WIFEXITED(status) || WEXITSTATUS(status) != child) {
        fprintf(stderr, "fork_storm: child %d of burst %d: wait status %#x\n", child, burst,
                status);
        wrong = 1;
      }
    }
  }
  printf("%d children\n", bursts * children);
  return wrong;
}
