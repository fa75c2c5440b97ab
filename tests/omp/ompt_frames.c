// What a tool needs to tell the program's frames from the runtime's: in each callback, the frames
// between a task's entry into the runtime and the call of the next task's code are the runtime's,
// and the addresses are those an unwinder finds.
//
// header: omp-tools.h
// flags: -rdynamic -fno-optimize-sibling-calls
// threads: 1 2 7
// reference: no
// reason: LLVM's runtime gives other kinds of addresses
#include <omp.h>
#include <unwind.h>

#include "ompt_events.h"

enum { FRAMES = 64 };

static char* executable_low;
static char* executable_high;
extern char __executable_start, etext;

static int is_program(const void* address) {
  return (char*)address >= executable_low && (char*)address < executable_high;
}

#ifdef __x86_64__
enum { FRAME_POINTER = 6 };
#else
enum { FRAME_POINTER = 29 };
#endif

// Frames from the inside out: where the code is, and the stack and frame pointers there.
typedef struct {
  int count;
  struct {
    void* code;
    void* stack;
    unsigned long pointer;
  } frame[FRAMES];
} frames;

static _Unwind_Reason_Code add_frame(struct _Unwind_Context* context, void* argument) {
  frames* all = argument;
  if (all->count == FRAMES) return _URC_END_OF_STACK;
  all->frame[all->count].code = (void*)_Unwind_GetIP(context);
  all->frame[all->count].pointer = (unsigned long)_Unwind_GetGR(context, FRAME_POINTER);
  all->frame[all->count++].stack = (void*)_Unwind_GetCFA(context);
  return _URC_NO_REASON;
}

static atomic_int looked_at[3];

// The program calls the library from here, by way of the compiler's outlined function. In the frame
// of the program's code that is nearest to the runtime, the stack pointer is what the task's enter
// frame says; where the runtime called that code, it is below what its exit frame says.
__attribute__((noinline)) static void look(int which) {
  frames all = {0};
  _Unwind_Backtrace(add_frame, &all);
  int flags = 0;
  ompt_frame_t* frame = NULL;
  must_be("there is a current task",
          (unsigned long)get_task_info(0, &flags, NULL, &frame, NULL, NULL), 2);
  must_be("the current task is left", frame->enter_frame.ptr != NULL, 0);
  must_be("its code was called by the runtime", frame->exit_frame.ptr != NULL, 1);
  // From this function to where the runtime called the task's code.
  int at = 0;
  while (at < all.count && is_program(all.frame[at].code)) ++at;
  must_be("the runtime is on the stack", at < all.count, 1);
  must_be("the exit frame", (unsigned long)frame->exit_frame.ptr,
          at < all.count ? all.frame[at].pointer : 0);
  must_be("flags of the exit frame", (unsigned long)frame->exit_frame_flags,
          ompt_frame_runtime | ompt_frame_framepointer);
  // On to where a task below called the runtime, if there is one on this stack.
  while (at < all.count && !is_program(all.frame[at].code)) ++at;
  ompt_frame_t* below = NULL;
  if (at < all.count && get_task_info(1, &flags, NULL, &below, NULL, NULL) == 2) {
    // The stack pointer of the runtime's caller is the canonical address of its frame.
    must_be("the enter frame", (unsigned long)below->enter_frame.ptr,
            (unsigned long)all.frame[at].stack);
    must_be("flags of the enter frame", (unsigned long)below->enter_frame_flags,
            ompt_frame_runtime | ompt_frame_cfa);
    atomic_fetch_add(&looked_at[which], 1);
  }
}

static void events_expected(void) {}

int main(void) {
  executable_low = &__executable_start;
  executable_high = &etext;
  omp_set_dynamic(0);
  omp_set_max_active_levels(4);
#pragma omp parallel
  {
    if (omp_get_thread_num() == 0) look(0);
#pragma omp barrier
#pragma omp master
    {
#pragma omp task
      look(1);
#pragma omp taskwait
    }
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) look(2);
  }
  int members = omp_get_max_threads();
  // Where the stack shows both tasks: on the first member's for certain.
  must_be("looks from a region", (unsigned long)looked_at[0], 1);
  must_be("looks from inner regions", (unsigned long)looked_at[2], (unsigned long)members);
  return leave_tool();
}
