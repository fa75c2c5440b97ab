// Yields at the end of a long spin: where a thread shares its core, the spin is made short.
#pragma once

#include "spin/execute.h"

namespace roost {

// By a thread that yields, while others wait for its core or light siblings for their turn:
// `returned` as for find_counted_wait(). The first few times at each place it takes some
// microseconds, later a load or two.
void shorten_spin_before(const spin::Registers& returned);

}  // namespace roost
