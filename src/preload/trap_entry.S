// A trapped call of a light thread, made on the thread's own stack with every other register as it
// was (trap_handler.cc): the handler of SIGSYS leads to roost_trap_return.
#if defined(__x86_64__)
#include "spin/saved_call.inc"
        .text
        ROOST_SAVED_CALL roost_trap_entry, roost_trap_pass
        ROOST_DETOUR roost_trap_return, roost_trap_entry
#endif
        .section .note.GNU-stack,"",@progbits
