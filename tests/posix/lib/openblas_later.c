// The same library of a version that nobody has read.
#define VERSION "0.3.99"
#include "openblas_pieces.c"
