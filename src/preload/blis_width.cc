// bli_rntm_set_ways_for_op: by this function BLIS finds how to cut a call of level 3, given the
// number of threads. It exports it, and calls it by that name, so Roost's comes first.
//
// Rows and columns are cut, at whole tiles of the kernels, whatever the number of threads, and each
// tile's sums are the same. But of results that are triangles (syrk, herk, syr2k, her2k), where a
// tile may be cut by the diagonal, and by another edge if the block is another: bits may differ.
// So these keep their threads, unless bits may differ (`--blas adapt`).
// docs/design/032-threads-of-blis.md.
#include "preload/blis_width.h"

#include <string.h>

#include <algorithm>
#include <atomic>

#include "base/floating_point.h"
#include "base/loaded_object.h"
#include "base/object_symbols.h"
#include "preload/blas_width.h"
#include "preload/real.h"
#include "preload/wait.h"
#include "sched/runtime.h"

namespace roost {

// What of BLIS's rntm_t (0.7 to 0.9) tells how a call is to be cut. Of a call for a number of
// threads no loop has ways yet.
struct BlisPlan {
  bool automatic;  // set when BLIS has found the ways
  long threads;
  long ways_within_kernel;  // always one, once they are found
  long ways[5];             // of the loops

  bool is_for_number() const {
    return threads > 1 && std::all_of(ways, ways + 5, [](long n) { return n == -1; });
  }
};
using SetWays = void(int operation, int side, long m, long n, long k, BlisPlan* plan);
ROOST_EXPORT SetWays bli_rntm_set_ways_for_op;

namespace {

constexpr char kSetWays[] = "bli_rntm_set_ways_for_op";
ROOST_LISTED_APART constinit Real<unsigned(unsigned)> crew_width{"roost_crew_width"};

// Where a library calls bli_rntm_set_ways_for_op for results that are triangles. Operations do not
// tell: from 0.8 on these have the number of gemm.
class Sites {
 public:
  void add(const void* site) {
    if (n_ < kMost && !contain(site)) sites_[n_++] = site;
  }
  bool contain(const void* site) const {
    return std::find(sites_, sites_ + n_, site) < sites_ + n_;
  }
  bool are_known() const { return n_ > 0 && n_ < kMost; }

 private:
  static constexpr unsigned kMost = 8;
  const void* sites_[kMost] = {};
  unsigned n_ = 0;
};

// While a thread has the library make such calls, to see where they come from.
struct Learning {
  SetWays* own;
  Sites sites;
};
constinit thread_local Learning* learning __attribute__((tls_model("initial-exec"))) = nullptr;

// Updates small matrices of zeros, which take one thread each, by all routines of that kind.
Sites learn_sites(const ObjectSymbols& symbols, SetWays* own) {
  // As Fortran calls them; integers are as long as the library has been built for.
  using Rank = void(const char*, const char*, const long*, const long*, const void*, const void*,
                    const long*, const void*, void*, const long*);
  using Rank2 = void(const char*, const char*, const long*, const long*, const void*, const void*,
                     const long*, const void*, const long*, const void*, void*, const long*);
  constexpr long kSide = 8, kNumbers = 2 * kSide * kSide;
  double a[kNumbers] = {}, c[kNumbers] = {}, one[2] = {1, 0};
  Learning here{own, {}};
  learning = &here;
  for (const char* name : {"dsyrk_", "zherk_"}) {
    if (auto* rank = symbols.function<Rank>(name))
      rank("L", "N", &kSide, &kSide, one, a, &kSide, one, c, &kSide);
  }
  for (const char* name : {"dsyr2k_", "zher2k_"}) {
    if (auto* rank2 = symbols.function<Rank2>(name))
      rank2("L", "N", &kSide, &kSide, one, a, &kSide, a, &kSide, one, c, &kSide);
  }
  learning = nullptr;
  return here.sites;
}

bool is_version_known(const ObjectSymbols& symbols) {
  auto* version = symbols.function<const char*()>("bli_info_get_version_str");
  if (!version) return false;
  const char* text = version();
  return strncmp(text, "0.", 2) == 0 && text[2] >= '7' && text[2] <= '9';
}

// A BLIS in the process. Filled by one thread, and not changed any more.
struct Library {
  enum class State : int { free, being_filled, known };
  std::atomic<State> state{State::free};
  // Which object it is: another one may come to lie there.
  const void* start = nullptr;
  const void* end = nullptr;
  const void* dynamic = nullptr;
  Sites triangles;  // none: it is no version that is known

  bool is(const dl_find_object& object) const {
    return start == object.dlfo_map_start && end == object.dlfo_map_end &&
           dynamic == object.dlfo_link_map->l_ld;
  }
  void fill(const dl_find_object& object, const ObjectSymbols& symbols, SetWays* own) {
    start = object.dlfo_map_start;
    end = object.dlfo_map_end;
    dynamic = object.dlfo_link_map->l_ld;
    if (is_version_known(symbols)) triangles = learn_sites(symbols, own);
  }
};
constinit Library libraries[4];

// Null: there are too many, or another thread fills a record just now.
const Library* library_of(const dl_find_object& object, const ObjectSymbols& symbols,
                          SetWays* own) {
  for (Library& it : libraries) {
    Library::State state = it.state.load(std::memory_order_acquire);
    if (state == Library::State::known) {
      if (it.is(object)) return &it;
      continue;
    }
    if (state != Library::State::free ||
        !it.state.compare_exchange_strong(state, Library::State::being_filled,
                                          std::memory_order_relaxed)) {
      return nullptr;
    }
    it.fill(object, symbols, own);
    it.state.store(Library::State::known, std::memory_order_release);
    return &it;
  }
  return nullptr;
}

}  // namespace

ROOST_EXPORT void bli_rntm_set_ways_for_op(int operation, int side, long m, long n, long k,
                                           BlisPlan* plan) {
  static constinit Real<SetWays> elsewhere{kSetWays};
  const void* site = __builtin_return_address(0);
  if (learning) {
    learning->sites.add(site);
    plan->threads = 1;
    return learning->own(operation, side, m, n, k, plan);
  }
  dl_find_object object;
  if (!find_object(site, object)) return elsewhere(operation, side, m, n, k, plan);
  ObjectSymbols symbols(*object.dlfo_link_map);
  auto* own = symbols.function<SetWays>(kSetWays);
  if (!own) return elsewhere(operation, side, m, n, k, plan);
  resolve_functions();
  if (crew_width.found() && runtime_active() && !inside_roost() && plan->is_for_number()) {
    const Library* library = library_of(object, symbols, own);
    bool fewer = blas_has_fewer_pieces() && FloatingPoint::of_caller().is_standard() && library &&
                 library->triangles.are_known() &&
                 (blas_bits_may_differ() || !library->triangles.contain(site));
    auto asked = static_cast<unsigned>(plan->threads);
    unsigned width = fewer ? crew_width.found()(asked) : asked;
    count_blas_call(width < asked);
    plan->threads = width;
  }
  own(operation, side, m, n, k, plan);
}

void blis_width_after_fork() {
  for (Library& it : libraries) {
    if (it.state.load(std::memory_order_relaxed) == Library::State::being_filled)
      it.state.store(Library::State::free, std::memory_order_relaxed);
  }
}

}  // namespace roost
