// Light threads of a runtime in this process (roost.h): what is done for a thread found waiting
// where a sibling on the same OS thread could run instead.
#pragma once

#include <cstdint>

namespace roost {

// The calling thread's flag, set by the runtime; stubs of rewritten loops test it (spin_site.cc).
extern "C" constinit thread_local unsigned char roost_light
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Lets a sibling of the calling light thread run. False if there is none, and now and then where
// threads of others wait for the core: two siblings that both wait must not keep it.
bool let_light_sibling_run();

// Whether the address is in the runtime's own code, whose loops are its own affair.
bool in_light_runtime(std::uint64_t address);

}  // namespace roost
