// The same library as wheels have it: its calls are bound to itself, and its loops wait in no-ops.
#define BINDING "protected"
#define YIELDING __asm__ volatile("nop;nop;nop;nop;nop;nop;nop;nop")
#include "openblas_pieces.c"
