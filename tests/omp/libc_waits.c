// Members that share an OS thread wait for each other in calls of libc: whoever waits lets its
// siblings run, is woken by whatever ends its wait, and no other wait of the thread is lost for it.
// scheduler: roost
// reason: without Roost, mutexes that have owners are the OS threads'; waits_begun.c is for there
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "expect.h"

static struct timespec after(clockid_t clock, long ms) {
  struct timespec at;
  clock_gettime(clock, &at);
  at.tv_nsec += ms % 1000 * 1000000;
  at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
  at.tv_nsec %= 1000000000;
  return at;
}

// A token goes round by semaphores, from the last member to the first: none has begun when its
// predecessor waits for it.
static void by_semaphores(int size, int rounds) {
  sem_t* turn = calloc((size_t)size, sizeof *turn);
  int passed = 0;
  for (int i = 0; i < size; ++i) sem_init(&turn[i], 0, 0);
#pragma omp parallel num_threads(size)
  {
    int me = omp_get_thread_num(), next = (me + size - 1) % size;
    if (me == size - 1) sem_post(&turn[me]);
    for (int i = 0; i < rounds; ++i) {
      sem_wait(&turn[me]);
      add(&passed, 1);
      sem_post(&turn[next]);
    }
  }
  EXPECT_EQ(passed, size * rounds);
  free(turn);
}

// All meet, by a condition variable and by a barrier of libc's, between barriers of OpenMP.
static void by_meeting(int size, int rounds) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, (unsigned)size);
  int present = 0, serial = 0;
#pragma omp parallel num_threads(size)
  for (int i = 1; i <= rounds; ++i) {
    pthread_mutex_lock(&mutex);
    if (++present == size * i) pthread_cond_broadcast(&changed);
    while (present < size * i) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
#pragma omp barrier
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) add(&serial, 1);
#pragma omp barrier
    EXPECT_EQ(look(&serial), i);
  }
  pthread_barrier_destroy(&barrier);
}

// Some wait in OpenMP's barrier and some in libc; those in libc go on by what the first then do.
static void both_kinds_of_wait(int size) {
  sem_t go;
  sem_init(&go, 0, 0);
  int done = 0;
#pragma omp parallel num_threads(size)
  {
    int me = omp_get_thread_num();
#pragma omp barrier
    if (me == size - 1)
      for (int i = 0; i < size - 1; ++i) sem_post(&go);
    if (me != size - 1) sem_wait(&go);
    add(&done, 1);
#pragma omp barrier
    EXPECT_EQ(look(&done), size);
  }
}

// A mutex and a lock for reading and writing are held across barriers of an inner region.
static void held_across_regions(int size, int rounds) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  int inside = 0, writers = 0, times = 0;
#pragma omp parallel num_threads(size)
  for (int i = 0; i < rounds; ++i) {
    pthread_mutex_lock(&mutex);
    EXPECT_EQ(add(&inside, 1), 1);
#pragma omp parallel num_threads(3)
    {
#pragma omp barrier
      add(&times, 1);
#pragma omp barrier
    }
    add(&inside, -1);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_wrlock(&lock);
    EXPECT_EQ(add(&writers, 1), 1);
    sched_yield();
    add(&writers, -1);
    pthread_rwlock_unlock(&lock);
#pragma omp barrier
  }
  EXPECT_EQ(times, size * rounds * 3);
}

// To libc, members on one thread are one owner: a recursive mutex keeps them apart all the same,
// and an error-checking one takes a sibling's hold for no deadlock.
static void owned_mutexes(int size, int rounds) {
  int kinds[] = {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
  for (int kind = 0; kind < 2; ++kind) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kinds[kind]);
    pthread_mutex_t mutex;
    pthread_mutex_init(&mutex, &attributes);
    int inside = 0;
#pragma omp parallel num_threads(size)
    for (int i = 0; i < rounds; ++i) {
      EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
      EXPECT_EQ(add(&inside, 1), 1);
      EXPECT_EQ(pthread_mutex_lock(&mutex), kind ? EDEADLK : 0);
      sched_yield();
      usleep(10);
      if (!kind) EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
      add(&inside, -1);
      EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    }
    EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
  }
}

// Timed waits end at their own times, whichever sibling's the thread sleeps for.
static void by_time(int size) {
  sem_t never;
  sem_init(&never, 0, 0);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t nobody = PTHREAD_COND_INITIALIZER;
  int timed_out = 0;
#pragma omp parallel num_threads(size)
  {
    int me = omp_get_thread_num();
    struct timespec at = after(CLOCK_REALTIME, 5 + (size - me) % 7 * 3);
    struct timespec before = after(CLOCK_MONOTONIC, 0);
    if (me % 2) {
      if (sem_timedwait(&never, &at) != 0 && errno == ETIMEDOUT) add(&timed_out, 1);
    } else {
      pthread_mutex_lock(&mutex);
      if (pthread_cond_timedwait(&nobody, &mutex, &at) == ETIMEDOUT) add(&timed_out, 1);
      pthread_mutex_unlock(&mutex);
    }
    struct timespec now = after(CLOCK_MONOTONIC, 0);
    EXPECT((now.tv_sec - before.tv_sec) * 1000 + (now.tv_nsec - before.tv_nsec) / 1000000 >= 4);
  }
  EXPECT_EQ(timed_out, size);
}

// The kernel's waits: each member waits for what its successor writes.
static void by_kernel(int size, int rounds) {
  int(*pipes)[2] = calloc((size_t)size, sizeof *pipes);
  int(*sockets)[2] = calloc((size_t)size, sizeof *sockets);
  int* events = calloc((size_t)size, sizeof *events);
  for (int i = 0; i < size; ++i) {
    EXPECT_EQ(pipe(pipes[i]), 0);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[i]), 0);
    events[i] = eventfd(0, 0);
  }
  int got = 0;
#pragma omp parallel num_threads(size)
  {
    int me = omp_get_thread_num(), next = (me + size - 1) % size;
    char byte = 'x';
    for (int i = 0; i < rounds; ++i) {
      if (me != size - 1 || i > 0) {
        if (read(pipes[me][0], &byte, 1) == 1) add(&got, 1);
      }
      EXPECT_EQ(write(pipes[next][1], &byte, 1), 1);
      if (me != size - 1 || i > 0) {
        if (recv(sockets[me][0], &byte, 1, 0) == 1) add(&got, 1);
      }
      EXPECT_EQ(send(sockets[next][1], &byte, 1, 0), 1);
      unsigned long long one = 1;
      if (me != size - 1 || i > 0) {
        struct pollfd wanted = {events[me], POLLIN, 0};
        EXPECT_EQ(poll(&wanted, 1, -1), 1);
        if (read(events[me], &one, sizeof one) == sizeof one) add(&got, 1);
      }
      one = 1;
      EXPECT_EQ(write(events[next], &one, sizeof one), sizeof one);
    }
  }
  EXPECT_EQ(got, 3 * (size * rounds - 1));
  for (int i = 0; i < size; ++i) {
    close(pipes[i][0]);
    close(pipes[i][1]);
    close(sockets[i][0]);
    close(sockets[i][1]);
    close(events[i]);
  }
  free(pipes);
  free(sockets);
  free(events);
}

// A child's end, a file's lock, a sleep, and an error with its number, beside siblings that wait.
static void kernel_calls_end(int size) {
  sem_t go;
  sem_init(&go, 0, 0);
  char name[] = "/tmp/roost-omp-XXXXXX";
  struct pollfd* volatile nowhere = (struct pollfd*)1;
  int file = mkstemp(name);
  int other = open(name, O_RDWR);
  unlink(name);
  EXPECT_EQ(flock(file, LOCK_EX), 0);
#pragma omp parallel num_threads(size)
  {
    switch (omp_get_thread_num() % 4) {
      case 0: {
        pid_t child = fork();
        if (child == 0) {
          struct timespec while_ago = {0, 3000000};
          nanosleep(&while_ago, NULL);
          _exit(7);
        }
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(WEXITSTATUS(status), 7);
        sem_post(&go);
        break;
      }
      case 1:
        EXPECT_EQ(flock(other, LOCK_EX), 0);
        break;
      case 2:
        sem_wait(&go);
        EXPECT_EQ(flock(file, LOCK_UN), 0);
        sem_post(&go);
        break;
      default:
        usleep(2000);
        errno = 0;
        EXPECT_EQ(poll(nowhere, 3, 100), -1);
        EXPECT_EQ(errno, EFAULT);
    }
  }
  close(file);
  close(other);
}

static void* post(void* semaphore) {
  usleep(1000);
  sem_post(semaphore);
  return semaphore;
}

// Threads of the program's own wake members, and are joined by them.
static void beside_threads(int size) {
  int joined = 0;
#pragma omp parallel num_threads(size)
  {
    sem_t posted;
    sem_init(&posted, 0, 0);
    pthread_t thread;
    void* result = NULL;
    EXPECT_EQ(pthread_create(&thread, NULL, post, &posted), 0);
    sem_wait(&posted);
    EXPECT_EQ(pthread_join(thread, &result), 0);
    if (result == &posted) add(&joined, 1);
  }
  EXPECT_EQ(joined, size);
}

// Members of inner regions wait for members of other teams.
static void across_teams(int outer, int inner) {
  pthread_barrier_t all;
  pthread_barrier_init(&all, NULL, (unsigned)(outer * inner));
  int passed = 0;
#pragma omp parallel num_threads(outer)
#pragma omp parallel num_threads(inner)
  for (int i = 0; i < 20; ++i) {
    pthread_barrier_wait(&all);
    add(&passed, 1);
  }
  EXPECT_EQ(passed, outer * inner * 20);
  pthread_barrier_destroy(&all);
}

// Tasks wait for each other's semaphores.
static void among_tasks(int size) {
  enum { kTasks = 40 };
  sem_t done[kTasks + 1];
  for (int i = 0; i <= kTasks; ++i) sem_init(&done[i], 0, 0);
  int order = 0;
#pragma omp parallel num_threads(size)
#pragma omp single
  {
    for (int i = 0; i < kTasks; ++i) {
#pragma omp task firstprivate(i)
      {
        if (i % size) sem_wait(&done[i]);  // the first of each group waits for nobody
        add(&order, 1);
        if ((i + 1) % size) sem_post(&done[i + 1]);
      }
    }
  }
  EXPECT_EQ(order, kTasks);
}

int main(void) {
  allow_nesting();
  int size = omp_get_max_threads();
  by_semaphores(size, 100);
  by_meeting(size, 50);
  both_kinds_of_wait(size);
  held_across_regions(size, 10);
  owned_mutexes(size, 10);
  by_time(size);
  if (size > 1) by_kernel(size, 20);
  kernel_calls_end((size + 3) / 4 * 4);
  beside_threads(size);
  across_teams(3, size > 8 ? 8 : size);
  if (size < 8) among_tasks(size);
  return verdict();
}
