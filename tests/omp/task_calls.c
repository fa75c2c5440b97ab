// What clang's code may ask of tasks by calls: omp_all_memory in both its forms, a task without a
// body (taskwait with depend and nowait), and what libomptarget wants to know of the current task.
// compilers: clang
// reference: no
// reason: libomp 14 runs what is not there
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
  intptr_t address;
  size_t bytes;
  unsigned char flags;
} Dependence;
typedef struct Task {
  void* shared;
  int (*routine)(int, struct Task*);
  int part;
  void* unused[2];
  int *count, *wrong, expected;
} Task;
enum { IN = 1, INOUT = 3, ALL_MEMORY = 0x80, TIED = 1 };

int __kmpc_global_thread_num(void* where);
Task* __kmpc_omp_task_alloc(void* where, int gtid, int flags, size_t bytes, size_t shared,
                            int (*routine)(int, Task*));
int __kmpc_omp_task_with_deps(void* where, int gtid, Task* task, int count, Dependence* list,
                              int more_count, Dependence* more);
_Bool __kmpc_omp_has_task_team(int gtid);
void* __kmpc_omp_get_target_async_handle_ptr(int gtid);

static int where[6] = {0, 2};

static int body(int gtid, Task* task) {
  (void)gtid;
  // Each is alone: all before it are over, and none after it has begun.
  if (__atomic_fetch_add(task->count, 1, __ATOMIC_RELAXED) != task->expected) *task->wrong = 1;
  return 0;
}

static void create(Dependence depends, int (*routine)(int, Task*), int* count, int* wrong,
                   int expected) {
  int gtid = __kmpc_global_thread_num(where);
  Task* task = __kmpc_omp_task_alloc(where, gtid, TIED, sizeof(Task), 0, routine);
  task->count = count;
  task->wrong = wrong;
  task->expected = expected;
  __kmpc_omp_task_with_deps(where, gtid, task, 1, &depends, 0, NULL);
}

int main(void) {
  int wrong = 0;
#pragma omp parallel shared(wrong)
#pragma omp single
  for (int round = 0; round < 200; ++round) {
    int x = 0, y = 0, count = 0;
    create((Dependence){(intptr_t)&x, sizeof x, INOUT}, body, &count, &wrong, 0);
    create((Dependence){-1, 0, INOUT}, body, &count, &wrong, 1);
    create((Dependence){(intptr_t)&y, sizeof y, INOUT}, body, &count, &wrong, 2);
    create((Dependence){(intptr_t)&y, sizeof y, INOUT}, NULL, &count, &wrong, 0);
    create((Dependence){0, 0, ALL_MEMORY}, body, &count, &wrong, 3);
    create((Dependence){(intptr_t)&x, sizeof x, IN}, body, &count, &wrong, 4);
#pragma omp taskwait
    if (count != 5) wrong = 1;
  }
  if (wrong) printf("tasks with omp_all_memory are out of order\n");
  int gtid = __kmpc_global_thread_num(where);
  if (__kmpc_omp_has_task_team(gtid) || __kmpc_omp_get_target_async_handle_ptr(gtid)) {
    printf("there is a device to wait for\n");
    wrong = 1;
  }
  return wrong;
}
