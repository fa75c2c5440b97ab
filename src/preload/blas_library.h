// What Roost knows of an OpenBLAS in the process: how its calls are divided, and how to take part.
//
// Read in 0.3.21 and 0.3.29, tried with 0.3.21, 0.3.27, 0.3.30 and 0.3.31; other versions than
// 0.3.11 to 0.3.34 are left alone.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "blas/piece.h"
#include "blas/routine.h"
#include "preload/lazy_buffers.h"

namespace roost {

class BlasLibrary {
 public:
  // The one that the object is; null: it is none that is known, or another thread finds that out
  // just now. `replacement`: of its exec_blas. Calls functions of the library.
  static BlasLibrary* find(const dl_find_object& object, blas::Exec* replacement);

  // Before the object makes its first thread: has its own calls of exec_blas go to `replacement`,
  // if it has bound them to itself, and makes room in its wait loops, so that they can be led
  // through stubs (spin_site.h). Nothing if it is no OpenBLAS that is known.
  static void prepare(const dl_find_object& object, blas::Exec* replacement);

  // Threads may be in its wait loops already, which stay as they are.
  static void leave_loops(const dl_find_object& object);

  // The object's own exec_blas, also where its entry leads to `replacement`; null: it has none.
  static blas::Exec* original(const dl_find_object& object, blas::Exec* replacement);

  blas::Exec* exec() const { return exec_; }

  // Where a thread's work buffers are for pieces of a mode, as the library itself has them.
  struct Layout {
    std::size_t a;  // from a buffer's start
    std::size_t b;  // from the first's start
  };
  // False if it does not tell. Has it do two pieces, the first time.
  bool layout_of(int mode, Layout& layout);
  // Of a buffer, from where the second begins: at least. The first piece has one of the library's,
  // of which no more than its least size (BUFFER_SIZE) is certain.
  std::size_t bytes_of_second(const Layout& layout) const;

  // Which one the code of a piece belongs to. `caller`: where exec_blas was called.
  blas::Routine routine_of(const void* code, const void* caller);

  bool contains(const void* address) const {
    auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= start_.load(std::memory_order_relaxed) && at < end_;
  }

  const void* begin() const {
    return reinterpret_cast<const void*>(start_.load(std::memory_order_relaxed));
  }
  const void* end() const { return reinterpret_cast<const void*>(end_); }

  // Of the size that the library's own buffers have.
  LazyBuffers buffers;

 private:
  enum class Fit : int { unknown, asked, yes, no };

  static BlasLibrary* slot_of(const dl_find_object& object);
  bool learn(const dl_find_object& object, blas::Exec* replacement);
  bool learn_buffer_size();

  static BlasLibrary all_[4];

  // Which object it is.
  std::atomic<std::uintptr_t> start_{0};
  std::uintptr_t end_ = 0;
  const void* dynamic_ = nullptr;

  std::atomic<Fit> fit_{Fit::unknown};
  std::atomic<bool> prepared_{false};
  std::atomic<bool> loops_have_room_{false};
  blas::Exec* exec_ = nullptr;
  void* (*allocate_)(int) = nullptr;
  void (*release_)(void*) = nullptr;
  // By the number's type; b 0: not learned.
  static constexpr unsigned kTypes = 32;
  struct Learned {
    std::atomic<std::size_t> a{0}, b{0};
  };
  Learned layouts_[kTypes];
  // Those asked for of late, by their code's address: it, and the Routine in the highest byte.
  static constexpr unsigned kRoutines = 128;
  std::atomic<std::uint64_t> routines_[kRoutines];
};

}  // namespace roost
