// From a rewritten wait loop into C++ and back, with every register as it was.
//
// A stub (preload/spin_stub.cc) calls roost_spin_entry with the site's address, RAX and the flags on
// the stack above the return address, below the 128 bytes of the red zone. A signal handler leads to
// roost_nudge_return (return_into_yield): as from a stub of no site.
#if defined(__x86_64__)
#include "spin/saved_call.inc"
        .text
        ROOST_SAVED_CALL roost_spin_entry, roost_spin_pass
        ROOST_DETOUR roost_nudge_return, roost_spin_entry
#endif
        .section .note.GNU-stack,"",@progbits
