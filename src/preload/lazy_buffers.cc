// A list is one word: its first piece, and a count against pieces that have come back meanwhile.
#include "preload/lazy_buffers.h"

#include <sys/mman.h>

#include "os/sys.h"

namespace roost {
namespace {

constexpr std::uint64_t kChange = std::uint64_t{1} << 32;
unsigned first_of(std::uint64_t list) { return static_cast<unsigned>(list); }

}  // namespace

unsigned LazyBuffers::take(CoreIndex core) {
  std::atomic<std::uint64_t>& list = lists_[core % kLists].first;
  // acquire: with the release in give_back(), sees the piece's `next`.
  std::uint64_t seen = list.load(std::memory_order_acquire);
  while (unsigned first = first_of(seen)) {
    unsigned next = pieces_[first - 1].next.load(std::memory_order_relaxed);
    std::uint64_t wanted = (seen & ~std::uint64_t{~0u}) + kChange + next;
    if (list.compare_exchange_weak(seen, wanted, std::memory_order_acquire)) return first - 1;
  }
  unsigned piece = made_.load(std::memory_order_relaxed);
  do {
    if (piece >= kMost) return kNone;
  } while (!made_.compare_exchange_weak(piece, piece + 1, std::memory_order_relaxed));
  void* memory = os::map_memory(bytes_, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  if (!memory) return kNone;  // the number is lost: it will not be the last
  pieces_[piece].memory = static_cast<char*>(memory);
  return piece;
}

void LazyBuffers::give_back(unsigned piece, CoreIndex core) {
  std::atomic<std::uint64_t>& list = lists_[core % kLists].first;
  std::uint64_t seen = list.load(std::memory_order_relaxed);
  std::uint64_t wanted;
  do {
    pieces_[piece].next.store(first_of(seen), std::memory_order_relaxed);
    wanted = (seen & ~std::uint64_t{~0u}) + kChange + piece + 1;
  } while (!list.compare_exchange_weak(seen, wanted, std::memory_order_release,
                                       std::memory_order_relaxed));
}

}  // namespace roost
