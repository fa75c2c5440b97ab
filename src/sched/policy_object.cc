// Reads the tables of an ELF file. Every offset and length in it is checked: it may be anything.
#include "sched/policy_object.h"

#include <string.h>

#include "os/elf.h"

namespace roost {
namespace {

// Functions of libc without state, which a compiler calls by itself. `__NAME_chk` counts as NAME.
constexpr const char* kMayCall[] = {"memcpy", "memmove", "memset", "memcmp", "__stack_chk_fail"};
// What start files and linkers bring along.
constexpr const char* kOfTheLinker[] = {"__cxa_finalize",
                                        "__gmon_start__",
                                        "_ITM_deregisterTMCloneTable",
                                        "_ITM_registerTMCloneTable",
                                        "_Jv_RegisterClasses",
                                        "_init",
                                        "_fini",
                                        "__bss_start",
                                        "_edata",
                                        "_end"};

template <std::size_t n>
bool is_one_of(const char* const (&names)[n], const char* name) {
  for (const char* known : names) {
    if (strcmp(name, known) == 0) return true;
  }
  return false;
}

bool may_call(const char* name) {
  if (is_one_of(kMayCall, name)) return true;
  std::size_t length = strlen(name);
  if (length < 7 || strncmp(name, "__", 2) != 0 || strcmp(name + length - 4, "_chk") != 0)
    return false;
  for (const char* known : kMayCall) {
    if (strlen(known) == length - 6 && strncmp(name + 2, known, length - 6) == 0) return true;
  }
  return false;
}

// A table in the file: `count` entries of T. They may lie at any address.
template <class T>
struct Table {
  const unsigned char* at = nullptr;
  std::size_t count = 0;
  T operator[](std::size_t i) const {
    T entry;
    memcpy(&entry, at + i * sizeof(T), sizeof(T));
    return entry;
  }
};

class Object {
 public:
  Object(const unsigned char* file, std::size_t bytes) : file_(file), bytes_(bytes) {}

  // Empty if it does not lie in the file.
  template <class T>
  Table<T> table(std::uint64_t offset, std::uint64_t length) const {
    if (offset > bytes_ || length > bytes_ - offset) return {};
    return {file_ + offset, length / sizeof(T)};
  }
  template <class T>
  Table<T> section(Elf64_Word type, const Table<Elf64_Shdr>& headers, Table<char>& names) const {
    for (std::size_t i = 0; i < headers.count; ++i) {
      Elf64_Shdr header = headers[i];
      if (header.sh_type != type || header.sh_link >= headers.count) continue;
      Elf64_Shdr strings = headers[header.sh_link];
      names = table<char>(strings.sh_offset, strings.sh_size);
      return table<T>(header.sh_offset, header.sh_size);
    }
    return {};
  }

 private:
  const unsigned char* file_;
  std::size_t bytes_;
};

// A null-terminated string of a table of strings; "?" if there is none.
const char* name_at(const Table<char>& names, std::uint64_t offset) {
  if (offset >= names.count || names[names.count - 1] != 0) return "?";
  return reinterpret_cast<const char*>(names.at) + offset;
}

bool check_libraries(const Table<Elf64_Dyn>& dynamic, const Table<char>& names, ErrorText& error) {
  for (std::size_t i = 0; i < dynamic.count && dynamic[i].d_tag != DT_NULL; ++i) {
    if (dynamic[i].d_tag != DT_NEEDED) continue;
    const char* name = name_at(names, dynamic[i].d_un.d_val);
    if (strcmp(name, "libc.so.6") == 0) continue;
    error << "needs " << name << "; a policy is C, linked with nothing but libc";
    return false;
  }
  return true;
}

// The size of roost_policy.
std::size_t check_symbols(const Table<Elf64_Sym>& symbols, const Table<char>& names,
                          ErrorText& error) {
  std::size_t found = 0;
  for (std::size_t i = 1; i < symbols.count; ++i) {
    Elf64_Sym symbol = symbols[i];
    const char* name = name_at(names, symbol.st_name);
    if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || is_one_of(kOfTheLinker, name)) continue;
    if (symbol.st_shndx == SHN_UNDEF) {
      if (may_call(name)) continue;
      error << "uses " << name
            << ", and a policy may call nothing but memcpy, memmove, memset and memcmp";
      return 0;
    }
    if (strcmp(name, "roost_policy") == 0) {
      if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT) found = symbol.st_size;
      continue;
    }
    error << "exports " << name
          << ", which the program may have, too; make all but roost_policy static";
    return 0;
  }
  if (!found) error << "exports no object roost_policy";
  return found;
}

}  // namespace

std::size_t check_policy_object(const unsigned char* file, std::size_t bytes, ErrorText& error) {
  Object object(file, bytes);
  Table<Elf64_Ehdr> header = object.table<Elf64_Ehdr>(0, sizeof(Elf64_Ehdr));
  if (header.count == 0 || memcmp(file, ELFMAG, SELFMAG) != 0) {
    error << "is no ELF file; build it as a shared object";
    return 0;
  }
  Elf64_Ehdr head = header[0];
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
      head.e_machine != os::kElfMachine) {
    error << "is built for another machine";
    return 0;
  }
  if (head.e_type != ET_DYN) {
    error << "is no shared object; build it with -shared -fPIC";
    return 0;
  }
  Table<Elf64_Shdr> sections = object.table<Elf64_Shdr>(
      head.e_shoff, head.e_shentsize == sizeof(Elf64_Shdr) ? head.e_shnum * sizeof(Elf64_Shdr) : 0);
  Table<char> names, libraries;
  Table<Elf64_Sym> symbols = object.section<Elf64_Sym>(SHT_DYNSYM, sections, names);
  Table<Elf64_Dyn> dynamic = object.section<Elf64_Dyn>(SHT_DYNAMIC, sections, libraries);
  if (symbols.count == 0 || dynamic.count == 0) {
    error << "has no table of symbols, or is cut off";
    return 0;
  }
  std::size_t table_bytes = check_symbols(symbols, names, error);
  return table_bytes && check_libraries(dynamic, libraries, error) ? table_bytes : 0;
}

std::uint64_t hash_of_file(const unsigned char* file, std::size_t bytes) {
  constexpr std::uint64_t kPrime = 1099511628211ull;  // FNV-1a, eight bytes at a time
  std::uint64_t hash = 1469598103934665603ull ^ bytes;
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    memcpy(&word, file + i, bytes - i < sizeof word ? bytes - i : sizeof word);
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace roost
