// The same library under a name that is not BLIS's.
#include "blis_crews.c"
