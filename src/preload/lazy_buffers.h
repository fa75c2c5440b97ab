// Large pieces of memory of which only what is touched costs anything, kept for the next user.
//
// A piece is taken and given back on one core mostly, so each core has a list of its own: what was
// touched last is in its caches. Lock-free, so that a child of fork finds no list locked. Nothing
// is given back to the system.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/types.h"

namespace roost {

class LazyBuffers {
 public:
  static constexpr unsigned kMost = 1024;  // pieces
  static constexpr unsigned kNone = ~0u;

  // The size of every piece, in bytes. Before any other call.
  void start(std::size_t bytes) { bytes_ = bytes; }
  std::size_t bytes() const { return bytes_; }

  // A piece, aligned to pages; kNone: there are kMost, or the system has no address space.
  unsigned take(CoreIndex core);
  void give_back(unsigned piece, CoreIndex core);
  char* memory(unsigned piece) const { return pieces_[piece].memory; }

 private:
  struct Piece {
    char* memory;
    std::atomic<unsigned> next;  // in its list, counted from 1; 0: none
  };
  // The first piece, counted from 1, and how often it has changed, for those that come late.
  struct alignas(64) List {
    std::atomic<std::uint64_t> first{0};
  };
  static constexpr unsigned kLists = 64;

  std::size_t bytes_ = 0;
  std::atomic<unsigned> made_{0};
  Piece pieces_[kMost] = {};
  List lists_[kLists] = {};
};

}  // namespace roost
