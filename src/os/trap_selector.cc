// The calling thread's selector: nothing is trapped until preload/trap.cc says so.
#include "os/raw_syscall.h"

namespace roost::os {

#if defined(__x86_64__) && defined(ROOST_GUEST)
extern "C" {
constinit thread_local TrapSelector roost_trap_selector{};
}
#endif

}  // namespace roost::os
