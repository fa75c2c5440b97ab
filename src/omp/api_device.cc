// The API of devices: there is one, the host, and it is the initial device.
#include <cerrno>
#include <cstring>

#include "omp/allocators.h"
#include "omp/api.h"
#include "omp/export.h"
#include "omp/send.h"
#include "omp/team.h"

extern "C" void GOMP_taskwait();

namespace roost::omp {
namespace {

// With no devices, the initial device's number is 0; -1 is the name for it since OpenMP 6.0.
bool is_host(int device) { return device == 0 || device == -1; }

// Depend objects of the asynchronous copies: tasks that they could name are the caller's children.
void wait_for(int count) {
  if (count > 0) GOMP_taskwait();
}

// Bytes a sub-volume's rows are apart, dimension by dimension.
void copy_volume(char* to, const char* from, std::size_t element, int dimensions,
                 const std::size_t* volume, const std::size_t* to_offsets,
                 const std::size_t* from_offsets, const std::size_t* to_sizes,
                 const std::size_t* from_sizes) {
  if (dimensions == 1) {
    memcpy(to + *to_offsets * element, from + *from_offsets * element, *volume * element);
    return;
  }
  std::size_t to_row = element;
  std::size_t from_row = element;
  for (int i = 1; i < dimensions; ++i) {
    to_row *= to_sizes[i];
    from_row *= from_sizes[i];
  }
  for (std::size_t i = 0; i < *volume; ++i) {
    copy_volume(to + (*to_offsets + i) * to_row, from + (*from_offsets + i) * from_row, element,
                dimensions - 1, volume + 1, to_offsets + 1, from_offsets + 1, to_sizes + 1,
                from_sizes + 1);
  }
}

constexpr int kInteropEmpty = -1;  // omp_irc_empty: there are no interop objects
void no_interop(int* code) {
  if (code) *code = kInteropEmpty;
}

}  // namespace

extern "C" {

ROOST_EXPORT int omp_get_num_devices() { return 0; }
ROOST_EXPORT int omp_get_initial_device() { return 0; }
ROOST_EXPORT int omp_get_device_num() { return 0; }
ROOST_EXPORT int omp_is_initial_device() { return 1; }

ROOST_EXPORT void* omp_target_alloc(std::size_t size, int device) {
  return is_host(device) && size ? program_heap().allocate(size) : nullptr;
}
ROOST_EXPORT void omp_target_free(void* memory, int device) {
  if (is_host(device)) program_heap().release(memory);
}
ROOST_EXPORT int omp_target_is_present(const void* memory, int device) {
  return memory && is_host(device);
}
ROOST_EXPORT int omp_target_is_accessible(const void*, std::size_t, int device) {
  return is_host(device);
}
ROOST_EXPORT void* omp_get_mapped_ptr(const void* memory, int device) {
  return is_host(device) ? const_cast<void*>(memory) : nullptr;
}
ROOST_EXPORT int omp_target_associate_ptr(const void*, const void*, std::size_t, std::size_t, int) {
  return EINVAL;  // host memory is what it is
}
ROOST_EXPORT int omp_target_disassociate_ptr(const void*, int) { return EINVAL; }

ROOST_EXPORT int omp_target_memcpy(void* to, const void* from, std::size_t length,
                                   std::size_t to_offset, std::size_t from_offset, int to_device,
                                   int from_device) {
  if (!to || !from || !is_host(to_device) || !is_host(from_device)) return EINVAL;
  memcpy(static_cast<char*>(to) + to_offset, static_cast<const char*>(from) + from_offset, length);
  return 0;
}
// Both addresses null asks for the number of dimensions that are supported.
ROOST_EXPORT int omp_target_memcpy_rect(void* to, const void* from, std::size_t element,
                                        int dimensions, const std::size_t* volume,
                                        const std::size_t* to_offsets,
                                        const std::size_t* from_offsets,
                                        const std::size_t* to_sizes, const std::size_t* from_sizes,
                                        int to_device, int from_device) {
  if (!to && !from) return 0x7fff'ffff;
  if (!to || !from || !element || dimensions < 1 || !is_host(to_device) || !is_host(from_device))
    return EINVAL;
  copy_volume(static_cast<char*>(to), static_cast<const char*>(from), element, dimensions, volume,
              to_offsets, from_offsets, to_sizes, from_sizes);
  return 0;
}
ROOST_EXPORT int omp_target_memcpy_async(void* to, const void* from, std::size_t length,
                                         std::size_t to_offset, std::size_t from_offset,
                                         int to_device, int from_device, int depend_count, void*) {
  wait_for(depend_count);
  return omp_target_memcpy(to, from, length, to_offset, from_offset, to_device, from_device);
}
ROOST_EXPORT int omp_target_memcpy_rect_async(
    void* to, const void* from, std::size_t element, int dimensions, const std::size_t* volume,
    const std::size_t* to_offsets, const std::size_t* from_offsets, const std::size_t* to_sizes,
    const std::size_t* from_sizes, int to_device, int from_device, int depend_count, void*) {
  wait_for(depend_count);
  return omp_target_memcpy_rect(to, from, element, dimensions, volume, to_offsets, from_offsets,
                                to_sizes, from_sizes, to_device, from_device);
}
ROOST_EXPORT void* omp_target_memset(void* memory, int value, std::size_t count, int device) {
  return is_host(device) ? memset(memory, value, count) : nullptr;
}
ROOST_EXPORT void* omp_target_memset_async(void* memory, int value, std::size_t count, int device,
                                           int depend_count, void*) {
  wait_for(depend_count);
  return omp_target_memset(memory, value, count, device);
}

// LLVM's extensions: memory of a kind, all of it the host's.
ROOST_EXPORT void* llvm_omp_target_alloc_host(std::size_t size, int device) {
  return omp_target_alloc(size, device);
}
ROOST_EXPORT void* llvm_omp_target_alloc_shared(std::size_t size, int device) {
  return omp_target_alloc(size, device);
}
ROOST_EXPORT void* llvm_omp_target_alloc_device(std::size_t size, int device) {
  return omp_target_alloc(size, device);
}
ROOST_EXPORT void llvm_omp_target_free_host(void* memory, int device) {
  omp_target_free(memory, device);
}
ROOST_EXPORT void llvm_omp_target_free_shared(void* memory, int device) {
  omp_target_free(memory, device);
}
ROOST_EXPORT void llvm_omp_target_free_device(void* memory, int device) {
  omp_target_free(memory, device);
}
ROOST_EXPORT void* llvm_omp_target_dynamic_shared_alloc() { return nullptr; }
ROOST_EXPORT void* llvm_omp_get_dynamic_shared() { return nullptr; }

ROOST_EXPORT int omp_get_num_interop_properties(const void*) { return 0; }
ROOST_EXPORT std::intptr_t omp_get_interop_int(const void*, int, int* code) {
  no_interop(code);
  return 0;
}
ROOST_EXPORT void* omp_get_interop_ptr(const void*, int, int* code) {
  no_interop(code);
  return nullptr;
}
ROOST_EXPORT const char* omp_get_interop_str(const void*, int, int* code) {
  no_interop(code);
  return nullptr;
}
ROOST_EXPORT const char* omp_get_interop_name(const void*, int) { return nullptr; }
ROOST_EXPORT const char* omp_get_interop_type_desc(const void*, int) { return nullptr; }
ROOST_EXPORT const char* omp_get_interop_rc_desc(const void*, int code) {
  switch (code) {
    case 1:
      return "no value";
    case 0:
      return "success";
    case -1:
      return "the object is empty";
    case -2:
      return "the property is out of range";
    case -3:
      return "the property is an integer";
    case -4:
      return "the property is a pointer";
    case -5:
      return "the property is a string";
    default:
      return "another error";
  }
}

ROOST_EXPORT int omp_get_num_interop_properties_(const void*) { return 0; }
ROOST_EXPORT std::intptr_t omp_get_interop_int_(const void*, const int*, int* code) {
  no_interop(code);
  return 0;
}
ROOST_EXPORT void* omp_get_interop_ptr_(const void*, const int*, int* code) {
  no_interop(code);
  return nullptr;
}
ROOST_EXPORT const char* omp_get_interop_str_(const void*, const int*, int* code) {
  no_interop(code);
  return nullptr;
}
ROOST_EXPORT const char* omp_get_interop_name_(const void*, const int*) { return nullptr; }
ROOST_EXPORT const char* omp_get_interop_type_desc_(const void*, const int*) { return nullptr; }
ROOST_EXPORT const char* omp_get_interop_rc_desc_(const void*, const int* code) {
  return omp_get_interop_rc_desc(nullptr, *code);
}

// Nothing is held for a device; threads outside regions only sleep. Not from within a region.
ROOST_EXPORT int omp_pause_resource(int kind, int device) {
  constexpr int kSoft = 1;
  constexpr int kHard = 2;
  bool known = kind == kSoft || kind == kHard;
  if (!known || !is_host(device) || self().team->level != 0) return -1;
  dismiss_idle_workers();
  return 0;
}
ROOST_EXPORT int omp_pause_resource_all(int kind) { return omp_pause_resource(kind, 0); }
ROOST_EXPORT int __kmpc_pause_resource(int kind) { return omp_pause_resource(kind, 0); }

ROOST_EXPORT int omp_control_tool(int command, int modifier, void* argument) {
  ompt::Entry entry;
  return ompt::control_tool(command, modifier, argument, __builtin_return_address(0));
}

}  // extern "C"
}  // namespace roost::omp
