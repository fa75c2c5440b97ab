// The same as constructor.c, for a library that is loaded and unloaded while the program runs.
#define constructor_events late_constructor_events
#include "constructor.c"
