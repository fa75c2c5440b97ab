// Which shared object some code belongs to.
#pragma once

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

// Since glibc 2.35; the library may run on an older one than it was built with.
#pragma weak _dl_find_object

namespace roost {

// The object that has the address, found without the dynamic linker's lock. False if there is none,
// or no way to tell.
inline bool find_object(const void* address, dl_find_object& object) {
  return _dl_find_object && _dl_find_object(const_cast<void*>(address), &object) == 0;
}

// Calls visit(start, size, flags) for each part of the object's file that is loaded, `flags` being
// PF_R and so on, until one returns true; whether one did. The headers are in the first page.
template <class Visit>
bool any_loaded_part(const dl_find_object& object, Visit&& visit) {
  const auto* start = static_cast<const char*>(object.dlfo_map_start);
  ElfW(Ehdr) header;
  memcpy(&header, start, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) part;
    memcpy(&part, start + header.e_phoff + i * sizeof part, sizeof part);
    if (part.p_type != PT_LOAD) continue;
    auto address = static_cast<std::uintptr_t>(object.dlfo_link_map->l_addr + part.p_vaddr);
    if (visit(reinterpret_cast<const char*>(address), static_cast<std::size_t>(part.p_filesz),
              part.p_flags)) {
      return true;
    }
  }
  return false;
}

// The file name in a path.
inline const char* file_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// Whether the file name in a path begins so.
inline bool has_file_name(const char* path, const char* begins) {
  return strncmp(file_name(path), begins, strlen(begins)) == 0;
}

// Whether it contains `part`.
inline bool name_contains(const char* path, const char* part) {
  const char* name = file_name(path);
  return memmem(name, strlen(name), part, strlen(part)) != nullptr;
}

// Whether it is that of GCC's OpenMP runtime, also as wheels rename it; Roost's begins so as well.
inline bool is_libgomp_name(const char* path) {
  return has_file_name(path, "libgomp") && !has_file_name(path, "libgomp_roost");
}

// GCC's OpenMP runtime. Where Roost's has taken its place it is still
// loaded, as objects name it, and its constructor binds the thread it runs in to the first place
// (OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY); its threads, which would have the other places,
// are never made. `address`: in its code. Not in a signal handler.
inline bool is_libgomp(const void* address) {
  Dl_info object;
  return dladdr(address, &object) && object.dli_fname && is_libgomp_name(object.dli_fname);
}

}  // namespace roost
