// Reads the table that DT_GNU_HASH points to (as every linker writes it since 2006).
#include "base/object_symbols.h"

#include <string.h>

#include <algorithm>

namespace roost {
namespace {

std::uint32_t hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

}  // namespace

ObjectSymbols::ObjectSymbols(const link_map& object) : base_(object.l_addr) {
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    // glibc has added the base already, but for an object that it cannot write to.
    auto at = entry->d_un.d_ptr < base_ ? entry->d_un.d_ptr + base_ : entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_SYMTAB:
        symbols_ = reinterpret_cast<const ElfW(Sym)*>(at);
        break;
      case DT_STRTAB:
        names_ = reinterpret_cast<const char*>(at);
        break;
      case DT_GNU_HASH:
        hash_ = reinterpret_cast<const std::uint32_t*>(at);
        break;
      case DT_JMPREL:
        calls_ = reinterpret_cast<const ElfW(Rela)*>(at);
        break;
      case DT_PLTRELSZ:
        n_calls_ = entry->d_un.d_val / sizeof(ElfW(Rela));
        break;
      default:
        break;
    }
  }
}

ObjectSymbols::Buckets ObjectSymbols::buckets() const {
  if (!symbols_ || !names_ || !hash_) return {};
  std::uint32_t count = hash_[0], first = hash_[1], filter_words = hash_[2];
  const std::uint32_t* firsts = hash_ + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof *hash_);
  return {count, first, firsts, firsts + count};
}

void* ObjectSymbols::find(const char* name) const {
  Buckets table = buckets();
  if (table.count == 0) return nullptr;
  std::uint32_t wanted = hash_of(name);
  std::uint32_t i = table.firsts[wanted % table.count];
  if (i < table.first) return nullptr;
  for (;; ++i) {
    std::uint32_t found = table.hashes[i - table.first];
    const ElfW(Sym)& symbol = symbols_[i];
    if ((found | 1) == (wanted | 1) && symbol.st_shndx != SHN_UNDEF &&
        strcmp(names_ + symbol.st_name, name) == 0) {
      return reinterpret_cast<void*>(base_ + symbol.st_value);
    }
    if (found & 1) return nullptr;  // the last of its bucket
  }
}

// No table says how many there are: the last bucket ends where they do.
std::uint32_t ObjectSymbols::count() const {
  Buckets table = buckets();
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < table.count; ++i) last = std::max(last, table.firsts[i]);
  if (table.count == 0 || last < table.first) return table.first;
  while (!(table.hashes[last - table.first] & 1)) ++last;
  return last + 1;
}

ObjectSymbols::Place ObjectSymbols::place_of(const void* address) const {
  Place place{};
  auto at = reinterpret_cast<ElfW(Addr)>(address) - base_;
  ElfW(Addr) last = 0, next = ~ElfW(Addr){0};
  for (std::uint32_t i = 0, n = count(); i < n; ++i) {
    const ElfW(Sym)& symbol = symbols_[i];
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    const char* name = names_ + symbol.st_name;
    ElfW(Addr) begin = symbol.st_value;
    if (begin == at) place.begins = name;
    if (begin <= at && at - begin < symbol.st_size) place.around = name;
    if (begin < at && begin >= last) {
      last = begin;
      place.before = name;
    } else if (begin > at && begin < next) {
      next = begin;
      place.behind = name;
    }
  }
  return place;
}

bool ObjectSymbols::takes(const char* name) const {
  // Those that it does not define come first.
  Buckets table = buckets();
  for (std::uint32_t i = 1; i < table.first; ++i) {
    const ElfW(Sym)& symbol = symbols_[i];
    if (symbol.st_shndx == SHN_UNDEF && strcmp(names_ + symbol.st_name, name) == 0) return true;
  }
  return false;
}

bool ObjectSymbols::calls_by_table(const char* name) const {
  if (!symbols_ || !names_) return false;
  for (std::size_t i = 0; i < n_calls_; ++i) {
    const ElfW(Sym)& symbol = symbols_[ELF64_R_SYM(calls_[i].r_info)];
    if (strcmp(names_ + symbol.st_name, name) == 0) return true;
  }
  return false;
}

}  // namespace roost
