// roost_attach and roost_detach: threads that pthread_create did not show to Roost, and back.
#include <dlfcn.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "api.h"

// libc's own pthread_create, as a library gets it that looks there by itself.
static pthread_t start_hidden_thread(void* (*run)(void*), void* argument) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  EXPECT(libc != NULL);
  int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) =
      dlsym(libc, "pthread_create");
  if (!create) create = dlsym(RTLD_NEXT, "pthread_create");
  pthread_t thread;
  EXPECT_EQ(create(&thread, NULL, run, argument), 0);
  dlclose(libc);
  return thread;
}

static void expect_unattached(void) {
  EXPECT_EQ(roost_active(), 1);
  EXPECT_EQ(roost_self(), ROOST_NO_THREAD);
  EXPECT_EQ(roost_core(), -1);
  EXPECT_EQ(roost_block(), -ESRCH);
  EXPECT_EQ(roost_block_until(0), -ESRCH);
  EXPECT_EQ(roost_yield(), -ESRCH);
  EXPECT_EQ(roost_pass_point(), -ESRCH);
  EXPECT_EQ(roost_enter_blocking(), -ESRCH);
  EXPECT_EQ(roost_leave_blocking(), -ESRCH);
  EXPECT_EQ(roost_detach(), -ESRCH);
}

static void expect_attached(void) {
  EXPECT(roost_self() != ROOST_NO_THREAD);
  EXPECT(roost_core() >= 0);
  EXPECT_EQ(roost_attach(), -EALREADY);
  EXPECT_EQ(roost_block_until(0), -ETIMEDOUT);
  EXPECT_EQ(roost_unblock(roost_self()), 0);
  EXPECT_EQ(roost_block(), 0);
  EXPECT(roost_yield() >= 0);
  EXPECT_EQ(roost_enter_blocking(), 0);
  EXPECT_EQ(roost_leave_blocking(), 0);
}

static void* come_and_go(void* data) {
  for (int i = 0; i < 10; ++i) {
    expect_unattached();
    EXPECT_EQ(roost_attach(), 0);
    expect_attached();
    roost_thread handle = roost_self();
    EXPECT_EQ(roost_detach(), 0);
    EXPECT_EQ(roost_unblock(handle), -ESRCH);
  }
  return data;
}

CASE(a_thread_of_pthread_create_is_attached) { expect_attached(); }

static void* detach_and_attach(void* data) {
  expect_attached();
  EXPECT_EQ(roost_detach(), 0);
  come_and_go(data);
  EXPECT_EQ(roost_attach(), 0);
  expect_attached();
  return data;
}

static void* detach_and_end(void* data) {
  EXPECT_EQ(roost_detach(), 0);
  return data;
}

CASE(a_thread_may_leave_and_come_back) {
  for (int i = 0; i < 10; ++i) {
    join_thread(start_thread(detach_and_attach, NULL));
    join_thread(start_thread(detach_and_end, NULL));
  }
}

CASE(the_first_thread_may_leave_and_come_back) {
  EXPECT_EQ(roost_detach(), 0);
  expect_unattached();
  join_thread(start_thread(detach_and_attach, NULL));
  EXPECT_EQ(roost_attach(), 0);
  expect_attached();
}

CASE(a_thread_that_only_libc_saw_start_may_attach) {
  for (int i = 0; i < 10; ++i) join_thread(start_hidden_thread(come_and_go, NULL));
}

static void* attach_and_end(void* data) {
  EXPECT_EQ(roost_attach(), 0);
  *(roost_thread*)data = roost_self();
  return data;
}

CASE(an_attached_thread_gives_everything_back_when_it_ends) {
  for (int i = 0; i < 20; ++i) {
    roost_thread handle = ROOST_NO_THREAD;
    join_thread(start_hidden_thread(attach_and_end, &handle));
    EXPECT(handle != ROOST_NO_THREAD);
    EXPECT_EQ(roost_unblock(handle), -ESRCH);
  }
}

struct sleeper {
  shared_handle handle;
  atomic_int attach, released;
};

static void* block_attached(void* data) {
  struct sleeper* sleeper = data;
  if (sleeper->attach) EXPECT_EQ(roost_attach(), 0);
  atomic_store(&sleeper->handle, roost_self());
  EXPECT_EQ(roost_block(), 0);
  EXPECT(atomic_load(&sleeper->released));
  return NULL;
}

CASE(an_attached_thread_is_woken_like_any_other) {
  struct sleeper sleeper = {.attach = 1};
  pthread_t thread = start_hidden_thread(block_attached, &sleeper);
  roost_thread handle = handle_in(&sleeper.handle);
  atomic_store(&sleeper.released, 1);
  EXPECT_EQ(roost_unblock(handle), 0);
  join_thread(thread);
}

static void* wake_unattached(void* data) {
  struct sleeper* sleeper = data;
  EXPECT_EQ(roost_self(), ROOST_NO_THREAD);
  roost_thread handle = handle_in(&sleeper->handle);
  atomic_store(&sleeper->released, 1);
  EXPECT_EQ(roost_unblock(handle), 0);
  return NULL;
}

CASE(an_unattached_thread_may_wake) {
  for (int i = 0; i < 20; ++i) {
    struct sleeper sleeper = {0};
    pthread_t blocked = start_thread(block_attached, &sleeper);
    join_thread(start_hidden_thread(wake_unattached, &sleeper));
    join_thread(blocked);
  }
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void* count(void* attach) {
  for (int i = 0; i < 300; ++i) {
    if (attach) EXPECT_EQ(roost_attach(), 0);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    ++counter;
    sched_yield();
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    if (attach) EXPECT_EQ(roost_detach(), 0);
  }
  return NULL;
}

CASE(locks_work_between_attached_and_unattached_threads) {
  int attach;
  pthread_t threads[6];
  for (int i = 0; i < 6; ++i) {
    threads[i] =
        i < 2 ? start_thread(count, NULL) : start_hidden_thread(count, i < 4 ? &attach : NULL);
  }
  for (int i = 0; i < 6; ++i) join_thread(threads[i]);
  EXPECT_EQ(counter, 6 * 300);
}

#if defined(__x86_64__)
// A thread of clone(2) with thread-local storage of its own, of which libc knows nothing.
struct raw_thread {
  atomic_int tid;  // cleared by the kernel at its end
  atomic_int done;
  char* stack;
};
enum { RAW_STACK = 256 * 1024 };

static int raw_main(void* data) {
  struct raw_thread* thread = data;
  come_and_go(NULL);
  EXPECT_EQ(roost_attach(), 0);
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  ++counter;
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  EXPECT_EQ(roost_detach(), 0);
  atomic_store(&thread->done, 1);
  syscall(SYS_exit, 0);
  return 0;
}

// As a thread library does: room from the dynamic linker, and the words libc expects at its head.
static void* new_thread_storage(void) {
  void* (*allocate)(void*) = dlvsym(RTLD_DEFAULT, "_dl_allocate_tls", "GLIBC_PRIVATE");
  if (!allocate) return NULL;
  void** head = allocate(NULL);
  void** own = __builtin_thread_pointer();
  if (!head) return NULL;
  head[0] = head[2] = head;  // tcb, self
  head[5] = own[5];          // stack and pointer guards
  head[6] = own[6];
  return head;
}

CASE(a_thread_of_clone_may_attach) {
  enum {
    FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
            CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID
  };
  enum { THREADS = 8 };
  static struct raw_thread threads[THREADS];
  counter = 0;
  for (int i = 0; i < THREADS; ++i) {
    void* storage = new_thread_storage();
    if (!storage) SKIP("this libc gives no thread-local storage to others");
    threads[i].stack =
        mmap(NULL, RAW_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(threads[i].stack != MAP_FAILED);
    int* tid = (int*)&threads[i].tid;
    EXPECT(clone(raw_main, threads[i].stack + RAW_STACK, FLAGS, &threads[i], tid, storage, tid) >
           0);
  }
  for (int i = 0; i < THREADS; ++i) {
    int tid;
    while ((tid = atomic_load(&threads[i].tid)) != 0) {
      syscall(SYS_futex, &threads[i].tid, FUTEX_WAIT, tid, NULL, NULL, 0);
    }
    EXPECT_EQ(threads[i].done, 1);
    munmap(threads[i].stack, RAW_STACK);
  }
  EXPECT_EQ(counter, THREADS);
}
#endif
