// Without OMP_CANCELLATION nothing is cancelled.
#include "cancel_each.c"
