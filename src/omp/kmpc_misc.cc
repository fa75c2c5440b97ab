// LLVM's entry points that begin, end and ask; and the error directive of both compilers.
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "omp/api.h"
#include "omp/export.h"
#include "omp/kmpc.h"
#include "omp/team.h"
#include "ult/kernel.h"

extern "C" std::int32_t __kmpc_omp_taskwait(roost::omp::Ident* where, std::int32_t gtid);

namespace roost::omp {
namespace {

void write_message(Text<1024>& text, const char* message, std::size_t length) {
  if (message) {
    text << ": ";
    text.append(message, length);
  }
  text << "\n";
  ult::kernel::write_error(text.c_str(), text.length());
}

// The `index`-th part of what lies between semicolons.
void append_part(Text<1024>& text, const char* source, int index) {
  while (index > 0 && *source) index -= *source++ == ';';
  const char* end = strchr(source, ';');
  text.append(source, end ? static_cast<std::size_t>(end - source) : strlen(source));
}

// To clang's programs, in libomp's words, which people look for.
void say_as_libomp(bool fatal, const char* message, const char* source) {
  if (!fatal && !settings().warnings) return;
  Text<1024> text(fatal ? "OMP: Error #282: " : "OMP: Warning #283: ");
  if (source && *source) {
    append_part(text, source, 1);
    text << ':';
    append_part(text, source, 3);
    text << ':';
    append_part(text, source, 4);
  } else {
    text << "unknown";
  }
  text << (fatal ? ": Encountered user-directed error" : ": Encountered user-directed warning");
  write_message(text, message, message ? strlen(message) : 0);
}

// To gcc's programs, in libgomp's words, which people look for.
void say_as_libgomp(const char* kind, const char* message, std::size_t length) {
  Text<1024> text("\nlibgomp: ");
  text << kind << "error directive encountered";
  write_message(text, message, length);
}

// gcc's length of a text that ends with a null.
std::size_t length_of(const char* message, std::size_t length) {
  return message && length == ~std::size_t{0} ? strlen(message) : length;
}

}  // namespace

extern "C" {

// The runtime begins when it is first used and ends with the process.
ROOST_EXPORT void __kmpc_begin(Ident*, std::int32_t) {}
ROOST_EXPORT void __kmpc_end(Ident*) {}
ROOST_EXPORT std::int32_t __kmpc_ok_to_fork(Ident*) { return 1; }
ROOST_EXPORT std::int32_t __kmpc_in_parallel(Ident*) { return omp_in_parallel(); }
// The number that was pushed is used up by the region.
ROOST_EXPORT void __kmpc_pop_num_threads(Ident*, std::int32_t) {}

ROOST_EXPORT int omp_in_explicit_task() { return !self().task->implicit; }
ROOST_EXPORT std::int32_t omp_in_explicit_task_() { return omp_in_explicit_task(); }

// taskwait with nowait has dependences (__kmpc_omp_taskwait_deps_51); without them it waits (clang
// 16).
ROOST_EXPORT std::int32_t __kmpc_omp_taskwait_51(Ident* where, std::int32_t gtid, std::int32_t) {
  return __kmpc_omp_taskwait(where, gtid);
}

// Names of the executing task and of its parent, for tools.
ROOST_EXPORT std::uint64_t __kmpc_get_taskid() {
  return reinterpret_cast<std::uintptr_t>(self().task);
}
ROOST_EXPORT std::uint64_t __kmpc_get_parent_taskid() {
  const Task* parent = self().task->parent;
  return reinterpret_cast<std::uintptr_t>(parent);
}

ROOST_EXPORT void __kmpc_error(Ident* where, int severity, const char* message) {
  constexpr int kFatal = 2;
  ompt::error(severity, message, length_of(message, ~std::size_t{0}), __builtin_return_address(0));
  say_as_libomp(severity == kFatal, message, where ? where->source : nullptr);
  if (severity == kFatal) std::exit(1);
}
ROOST_EXPORT void GOMP_warning(const char* message, std::size_t length) {
  ompt::error(1, message, length_of(message, length), __builtin_return_address(0));
  say_as_libgomp("", message, length_of(message, length));
}
ROOST_EXPORT void GOMP_error(const char* message, std::size_t length) {
  ompt::error(2, message, length_of(message, length), __builtin_return_address(0));
  say_as_libgomp("fatal error: ", message, length_of(message, length));
  std::exit(1);
}

}  // extern "C"
}  // namespace roost::omp
