// The threaded BLAS inside the tasks. One source a library.
#pragma once

#include <string>

// How many threads each call of the BLAS uses from now on.
void set_inner_width(int threads);
int inner_width();
const char* inner_library_name();
// What is wrong with the library found at run time; empty if nothing is.
std::string inner_library_problem();
