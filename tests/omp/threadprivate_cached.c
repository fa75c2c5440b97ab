// threadprivate variables: the main thread's is the variable itself, others begin with its first
// value and keep theirs from region to region. Here kept by the runtime rather than by the linker.
// compilers: clang
// flags: -fnoopenmp-use-tls
#include "threadprivate_persists.c"
