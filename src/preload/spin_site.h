// Wait loops of the program that are rewritten so that each round yields while threads are READY,
// and restored when that is no longer needed.
//
// A round then passes through a stub (docs/design/005-busy-waiting.md): nobody READY, it goes on as
// before; else the thread yields its core. The loop's own instructions stay as they are, but for
// the displacement of one backward branch (spin/detour.h).
#pragma once

#include <ucontext.h>

#include "spin/counted_wait.h"
#include "spin/wait_proof.h"

namespace roost {

// Whether this kernel has what rewriting needs. Once, before the others.
bool spin_sites_start();

// Whether the instance says that loops are to be left as the program has them.
bool loops_are_left();

// Rewrites the loop that `proof` was made of, as seen in `code`. False if it cannot be done safely;
// that is remembered. For signal handlers as well; says false where another thread is at it.
bool rewrite_wait_loop(const spin::WaitProof& proof, const spin::CodeWindow& code);

// The same for a loop that no proof follows, by its `pause`.
bool rewrite_pause(std::uint64_t pause, const spin::CodeWindow& code);

// The same for a wait that ends in a yield after so many rounds: makes them few.
bool shorten_counted_wait(const spin::CountedWait& wait, const spin::CodeWindow& code);
// Whether that has been done to the one with this comparison, and is still in force. Its caller
// waits there, so it is in use.
bool is_shortened(std::uint64_t comparison);

// Gives the core away after a proof, and says for which words the caller waits if all are known.
// The caller has deferred cancellation.
void yield_after(const spin::WaitProof& proof);

// In a signal handler that may run on an alternate stack: the interrupted thread, a light one that
// waits, will yield where it was interrupted, on its own stack. Nothing if its registers cannot be
// saved there.
void return_into_yield(ucontext_t& interrupted);
// Whether the calling thread was interrupted, and has gone on into such a yield.
bool yields_where_interrupted();

// Puts the program's own code back into a copy of it.
void undo_rewrites(spin::CodeWindow& code);

// Restores the program's loops once no thread of the instance has been READY for a while, or at
// once if the instance says that they are to be left alone. The keeper's; any thread may call it.
void spin_sites_look();

// Gives back what sites have whose code is unmapped: nobody can be in their stubs, or come back to
// there. What lies there next is another's.
void spin_sites_forget_unloaded();

// Where the program has the instruction at this address: it may be the copy of a loop's first one.
// For signal handlers.
std::uint64_t programs_address(std::uint64_t address);

// How many loops of this process have been rewritten, and how often one was restored.
unsigned rewritten_loops();
unsigned restored_loops();

// In the child of a fork, where nobody else can be at it.
void spin_sites_after_fork();

}  // namespace roost
