// Execs itself again and again while its threads run and wait: exec_chain LINKS.
//
// The last image checks that it is still the first one's process, says "end" and exits with 7.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static sem_t never;
static pthread_barrier_t started;

static void* wait_for_ever(void* unused) {
  pthread_barrier_wait(&started);
  sem_wait(&never);
  return unused;
}

static void* spin_for_ever(void* unused) {
  pthread_barrier_wait(&started);
  for (volatile int turn = 0;; turn = !turn) {
  }
  return unused;
}

int main(int argc, char** argv) {
  int links = argc > 1 ? atoi(argv[1]) : 0;
  char pid[16], left[16];
  snprintf(pid, sizeof pid, "%d", argc > 2 ? atoi(argv[2]) : (int)getpid());
  if (atoi(pid) != (int)getpid()) {
    fprintf(stderr, "exec_chain: started as process %s, now %d\n", pid, (int)getpid());
    return 1;
  }
  if (links == 0) {
    printf("end\n");
    return 7;
  }
  sem_init(&never, 0, 0);
  pthread_barrier_init(&started, NULL, 3);
  pthread_t thread;
  if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0) return 1;
  if (pthread_create(&thread, NULL, spin_for_ever, NULL) != 0) return 1;
  pthread_barrier_wait(&started);
  snprintf(left, sizeof left, "%d", links - 1);
  execl(argv[0], argv[0], left, pid, (char*)NULL);
  perror("exec_chain: exec");
  return 1;
}
