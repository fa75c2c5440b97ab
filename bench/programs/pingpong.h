// Two threads that wake each other in turn, through four different primitives. Each turn is
// one block and one resume; meant for one core (taskset, or `roost run --cores 1`).
#pragma once

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

class FutexPair {
 public:
  void wait(int side) {
    while (word_[side].exchange(0) == 0) call(side, FUTEX_WAIT_PRIVATE, 0);
  }
  void wake(int side) {
    word_[side].store(1);
    call(side, FUTEX_WAKE_PRIVATE, 1);
  }

 private:
  void call(int side, int operation, int value) {
    syscall(SYS_futex, &word_[side], operation, value, nullptr, nullptr, 0);
  }
  std::atomic<int> word_[2]{};
};

class ConditionPair {
 public:
  void wait(int side) {
    pthread_mutex_lock(&mutex_);
    while (!set_[side]) pthread_cond_wait(&condition_[side], &mutex_);
    set_[side] = false;
    pthread_mutex_unlock(&mutex_);
  }
  void wake(int side) {
    pthread_mutex_lock(&mutex_);
    set_[side] = true;
    pthread_cond_signal(&condition_[side]);
    pthread_mutex_unlock(&mutex_);
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition_[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
  bool set_[2] = {};
};

class SemaphorePair {
 public:
  SemaphorePair() {
    for (sem_t& s : semaphore_) sem_init(&s, 0, 0);
  }
  void wait(int side) {
    while (sem_wait(&semaphore_[side]) != 0) {
    }
  }
  void wake(int side) { sem_post(&semaphore_[side]); }

 private:
  sem_t semaphore_[2];
};

class YieldPair {
 public:
  void wait(int side) {
    while (turn_.load() != side) sched_yield();
  }
  void wake(int side) { turn_.store(side); }

 private:
  std::atomic<int> turn_{0};
};
