// Machines that are not there, from a line such as "pack:2 node:2 l3:1 core:8 pu:2": for tests and
// the simulator. The notation is hwloc's.
#pragma once

#include "base/text.h"
#include "topo/machine.h"

namespace roost {

// Builds the machine a description stands for. From the outside in, each level is a type and how
// many of it each element of the level before has. Types: pack (also package, socket), node (numa,
// numanode), l1 to l5, core, and last pu, each at most once. 0 or -EINVAL with a sentence in
// `error`.
int machine_from_synthetic(const char* description, Machine&, ErrorText& error);

}  // namespace roost
