// Passes for OpenBLAS 0.3.21 where the pieces of its calls are concerned (common_thread.h,
// blas_server.c): exec_blas does them by threads, here made for the call.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION "0.3.21"
#endif
#ifndef BINDING  // of the library's own calls of exec_blas
#define BINDING "default"
#endif
#ifndef YIELDING
#define YIELDING sched_yield()
#endif

enum { kBuffer = 2 << 20, kA = 64, kB = 96 << 10, kMostBuffers = 600 };
enum { kLegacy = 0x8000, kPlain = 0x4000, kDouble = 3 };

struct piece {
  void* routine;
  long position, assigned;
  void *arguments, *range_m, *range_n, *a, *b;
  struct piece* next;
  pthread_mutex_t lock;
  pthread_cond_t finished;
  int mode, status;
};

const char* openblas_get_config(void);
void* blas_memory_alloc(int);
void blas_memory_free(void*);
__attribute__((visibility(BINDING), noipa)) int exec_blas(long n, struct piece* queue);
long call_of_pieces(long n, int mode, int chained, long* elsewhere);

const char* openblas_get_config(void) { return "OpenBLAS " VERSION " DYNAMIC_ARCH SkylakeX"; }

static void* buffers[kMostBuffers];
static int used[kMostBuffers];
static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER;

void* blas_memory_alloc(int where) {
  (void)where;
  pthread_mutex_lock(&buffers_lock);
  int i = 0;
  while (i < kMostBuffers && used[i]) ++i;
  if (i == kMostBuffers) abort();
  used[i] = 1;
  if (!buffers[i])
    buffers[i] = mmap(NULL, kBuffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_mutex_unlock(&buffers_lock);
  return buffers[i];
}
void blas_memory_free(void* buffer) {
  pthread_mutex_lock(&buffers_lock);
  for (int i = 0; i < kMostBuffers; ++i)
    if (buffers[i] == buffer) used[i] = 0;
  pthread_mutex_unlock(&buffers_lock);
}

static void run(struct piece* p, char* a, char* b, long position) {
  if (p->mode & kPlain) {
    ((void (*)(void*))p->routine)(p->arguments);
  } else {
    ((int (*)(void*, void*, void*, void*, void*, long))p->routine)(p->arguments, p->range_m,
                                                                   p->range_n, a, b, position);
  }
}

static void* server(void* argument) {
  struct piece* p = argument;
  char* buffer = blas_memory_alloc(2);
  char* a = p->a ? p->a : buffer + kA;
  char* b = p->b ? p->b : a + kB;
  run(p, a, b, p->position);
  blas_memory_free(buffer);
  return NULL;
}

int exec_blas(long n, struct piece* queue) {
  if (n <= 0 || !queue) return 0;
  pthread_t ids[kMostBuffers];
  long threads = 0;
  if (n > 1) {
    for (struct piece* p = queue->next; p; p = p->next) {
      p->position = threads + 1;
      if (pthread_create(&ids[threads++], NULL, server, p) != 0) abort();
    }
  }
  run(queue, queue->a, queue->b, 0);
  for (long i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  return 0;
}

// As the library has its pool made when it is loaded.
static void* nothing(void* unused) { return unused; }
__attribute__((constructor)) static void load(void) {
  pthread_t id;
  if (pthread_create(&id, NULL, nothing, NULL) != 0) abort();
  pthread_join(id, NULL);
}

// The pieces of a call add in turn, as those of tests/posix/lib/blis_crews.c.
struct call {
  long n, turn, sum, elsewhere;
  pid_t caller;
  char* buffers[kMostBuffers];
};

static void take_turns(struct call* c, long position) {
  if (syscall(SYS_gettid) != c->caller) __atomic_add_fetch(&c->elsewhere, 1, __ATOMIC_RELAXED);
  for (long round = 0; round < 3; ++round) {
    long mine = round * c->n + position;
    while (__atomic_load_n(&c->turn, __ATOMIC_ACQUIRE) != mine) YIELDING;
    c->sum = c->sum * 3 + position;
    __atomic_add_fetch(&c->turn, 1, __ATOMIC_RELEASE);
  }
}

static int routine(void* arguments, void* m, void* n, void* a, void* b, long position) {
  struct call* c = arguments;
  if (m != c || n != &c->n || !a || (char*)b - (char*)a != kB) abort();
  if (position > 0 && (unsigned long)a % 4096 != kA) abort();
  c->buffers[position] = a;
  // All of it is the piece's own.
  for (long i = 0; i < kBuffer - kA; i += 4096) ((char*)a)[i] = (char)position;
  take_turns(c, position);
  for (long i = 0; i < kBuffer - kA; i += 4096)
    if (((char*)a)[i] != (char)position) abort();
  return 0;
}

static void plain(void* argument) {
  struct call* c = argument;
  take_turns(c, __atomic_fetch_add((long*)&c->buffers[0], 1, __ATOMIC_RELAXED));
}

// What the pieces have computed. `elsewhere`: how many were done by another OS thread.
long call_of_pieces(long n, int mode, int chained, long* elsewhere) {
  static pthread_mutex_t one_call = PTHREAD_MUTEX_INITIALIZER;
  struct call c = {.n = n, .caller = (pid_t)syscall(SYS_gettid)};
  // A gap between pieces that are not to lie side by side.
  long step = chained ? 1 : 2;
  struct piece* queue = calloc((size_t)(n * step), sizeof *queue);
  char* buffer = blas_memory_alloc(1);
  if (!queue) abort();
  pthread_mutex_lock(&one_call);
  for (long i = 0; i < n; ++i) {
    struct piece* p = &queue[i * step];
    p->routine = mode & kPlain ? (void*)plain : (void*)routine;
    p->arguments = p->range_m = &c;
    p->range_n = &c.n;
    p->mode = mode | kDouble;
    p->position = -1;
    p->next = i + 1 < n ? &queue[(i + 1) * step] : NULL;
  }
  queue->a = buffer;
  queue->b = buffer + kB;
  exec_blas(n, queue);
  for (long i = 1; i < n; ++i)
    if (queue[i * step].a) abort();
  pthread_mutex_unlock(&one_call);
  blas_memory_free(buffer);
  free(queue);
  *elsewhere = c.elsewhere;
  return c.sum;
}
