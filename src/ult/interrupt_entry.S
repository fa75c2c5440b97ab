// Where a strand goes on that was interrupted in a wait (ult/interrupt.cc): siblings run, and it
// comes back to where it was with every register as it was.
#if defined(__x86_64__)
#include "spin/saved_call.inc"
        .text
        ROOST_SAVED_CALL roost_ult_saved_yield, roost_ult_yield
        ROOST_DETOUR roost_ult_interrupted, roost_ult_saved_yield
#endif
        .section .note.GNU-stack,"",@progbits
