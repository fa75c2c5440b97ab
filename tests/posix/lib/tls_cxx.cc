// A library with a C++ thread_local that has a constructor and a destructor.
namespace {

int constructed, destroyed;

struct Counted {
  int uses = 0;
  Counted() { __atomic_add_fetch(&constructed, 1, __ATOMIC_SEQ_CST); }
  ~Counted() { __atomic_add_fetch(&destroyed, 1, __ATOMIC_SEQ_CST); }
};

thread_local Counted counted;

}  // namespace

// How often this thread has called it, itself included.
extern "C" int counted_use() { return ++counted.uses; }
extern "C" int counted_constructed() { return __atomic_load_n(&constructed, __ATOMIC_SEQ_CST); }
extern "C" int counted_destroyed() { return __atomic_load_n(&destroyed, __ATOMIC_SEQ_CST); }
