// The symbols that a loaded object defines itself, found without the dynamic linker's lock.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace roost {

// The dynamic symbol table of one object, as long as the object stays loaded.
class ObjectSymbols {
 public:
  explicit ObjectSymbols(const link_map& object);

  // Where the object defines `name`, in whatever version; null: it does not.
  void* find(const char* name) const;
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(find(name));
  }

  // Whether it takes `name` from another object. Looks at all names that it takes.
  bool takes(const char* name) const;

  // Whether the object's own calls of `name` go through its procedure linkage table, and so to
  // whoever defines it first in the process.
  bool calls_by_table(const char* name) const;

  // The exported functions about an address: the one that begins there, the one that it lies in,
  // the last that begins before it and the first behind it; null: there is none. Looks at all
  // symbols.
  struct Place {
    const char* begins;
    const char* around;
    const char* before;
    const char* behind;
  };
  Place place_of(const void* address) const;

 private:
  // What DT_GNU_HASH says of the symbols from `first` on: each bucket's lie side by side, the last
  // with an odd hash.
  struct Buckets {
    std::uint32_t count;
    std::uint32_t first;
    const std::uint32_t* firsts;  // of each bucket; less than `first`: it has none
    const std::uint32_t* hashes;  // of each symbol from `first` on
  };
  // None if a table is missing.
  Buckets buckets() const;
  // Of the last symbol, plus one.
  std::uint32_t count() const;

  ElfW(Addr) base_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  const std::uint32_t* hash_ = nullptr;  // DT_GNU_HASH
  const ElfW(Rela) * calls_ = nullptr;   // DT_JMPREL
  std::size_t n_calls_ = 0;
};

}  // namespace roost
