// Affinity calls are hints (USF section 4.3.2): stored, returned when asked for, never applied; and
// CPU counts answer with the cores of the instance, so that pools size themselves to what they get.
// As the kernel's masks, a hint goes to children and to the images they execute.
#include "preload/affinity.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/loaded_object.h"
#include "preload/library_threads.h"
#include "preload/process.h"
#include "preload/wait.h"
#include "topo/cpulist.h"

namespace roost {
namespace {

constexpr char kHintVariable[] = "ROOST_AFFINITY=";

Thread* by_pid(pid_t pid) {
  if (pid == 0 || pid == self.tid) return this_thread();
  return find_thread_by_tid(pid);
}

long instance_cores() { return runtime_segment().header->n_cores; }

// The kernel refuses a mask without a CPU it has, and memory that is not there.
int store_hint(Thread* t, std::size_t bytes, const void* set) {
  CpuSet mask;
  std::size_t size = bytes < sizeof mask ? bytes : sizeof mask;
  if (!os::read_own_memory(reinterpret_cast<std::uintptr_t>(set), &mask, size)) return EFAULT;
  long cpus = real::sysconf(_SC_NPROCESSORS_CONF);
  bool any = false;
  for (long cpu = 0; cpu < cpus && cpu < 1024; ++cpu) any |= mask.words[cpu / 64] >> (cpu % 64) & 1;
  if (!any) return EINVAL;
  t->affinity_hint = mask;
  t->has_affinity_hint = true;
  return 0;
}

// How many bytes the kernel writes, or -errno: it looks at the size and the memory.
long load_hint(const Thread* t, std::size_t bytes, void* set) {
  long written = os::raw_syscall(SYS_sched_getaffinity, 0, static_cast<long>(bytes), os::arg(set));
  if (written < 0) return written;
  CpuSet mask = t && t->has_affinity_hint ? t->affinity_hint : runtime_cpus();
  auto size = static_cast<std::size_t>(written);
  memcpy(set, &mask, size < sizeof mask ? size : sizeof mask);
  return written;
}

// As libc's wrappers, which clear what the kernel does not write. 0 or a positive errno value.
int load_whole(const Thread* t, std::size_t bytes, cpu_set_t* set) {
  long written = load_hint(t, bytes, set);
  if (written < 0) return static_cast<int>(-written);
  memset(reinterpret_cast<char*>(set) + written, 0, bytes - static_cast<std::size_t>(written));
  return 0;
}

int fail(int error) {
  errno = error;
  return -1;
}

}  // namespace

bool affinity_is_ours(pid_t pid) {
  return runtime_active() && (by_pid(pid) || pid_in_instance(pid));
}

int set_affinity_hint(pid_t pid, std::size_t bytes, const void* set) {
  Thread* t = by_pid(pid);
  return t ? store_hint(t, bytes, set) : 0;
}

long get_affinity_hint(pid_t pid, std::size_t bytes, void* set) {
  return load_hint(by_pid(pid), bytes, set);
}

// Which thread's status file the path is: proc(5), self, thread-self, PID and PID/task/TID. 0:
// none.
static pid_t thread_of_status_file(const char* path) {
  auto skip = [&](const char* text) {
    std::size_t length = strlen(text);
    bool there = strncmp(path, text, length) == 0;
    if (there) path += length;
    return there;
  };
  auto number = [&] {
    pid_t value = 0;
    for (; *path >= '0' && *path <= '9' && value < 100'000'000; ++path)
      value = value * 10 + (*path - '0');
    return value;
  };
  if (!skip("/proc/")) return 0;
  pid_t thread = skip("self") ? os::getpid() : skip("thread-self") ? self.tid : number();
  if (skip("/task/")) thread = number();
  return strcmp(path, "/status") == 0 ? thread : 0;
}

void show_whole_affinity(const char* path) {
  pid_t tid = thread_of_status_file(path);
  Thread* thread = tid && runtime_active() && !inside_roost() ? by_pid(tid) : nullptr;
  if (thread && thread->index != kNoThread) unpin_thread(thread->index);
}

void inherit_affinity_hint(char** environment) {
  for (char** entry = environment; *entry; ++entry) {
    if (strncmp(*entry, kHintVariable, sizeof kHintVariable - 1) != 0) continue;
    CpuSet mask;
    ErrorText error;
    Thread* t = this_thread();
    if (t && parse_cpulist(*entry + sizeof kHintVariable - 1, mask, error) == 0 && mask.count()) {
      t->affinity_hint = mask;
      t->has_affinity_hint = true;
    }
    // The program does not see it.
    for (char** later = entry; (*later = later[1]); ++later) {
    }
    return;
  }
}

Text<4096> affinity_variable() {
  Text<4096> text;
  const Thread* t = runtime_active() ? this_thread() : nullptr;
  if (t && t->has_affinity_hint) text << kHintVariable << format_cpulist(t->affinity_hint).c_str();
  return text;
}

static int set_by_pid(pid_t pid, size_t bytes, const cpu_set_t* set) {
  if (!affinity_is_ours(pid)) return real::sched_setaffinity(pid, bytes, set);
  int error = set_affinity_hint(pid, bytes, set);
  return error ? fail(error) : 0;
}
static int get_by_pid(pid_t pid, size_t bytes, cpu_set_t* set) {
  if (!affinity_is_ours(pid)) return real::sched_getaffinity(pid, bytes, set);
  int error = load_whole(by_pid(pid), bytes, set);
  return error ? fail(error) : 0;
}
// Inline: it asks who has called.
__attribute__((always_inline)) static inline int set_by_handle(pthread_t handle, size_t bytes,
                                                               const cpu_set_t* set) {
  if (has_openmp_runtime() && is_libgomp(__builtin_return_address(0))) return 0;
  Thread* t = runtime_active() ? find_thread(handle) : nullptr;
  return t ? store_hint(t, bytes, set) : real::pthread_setaffinity_np(handle, bytes, set);
}
static int get_by_handle(pthread_t handle, size_t bytes, cpu_set_t* set) {
  Thread* t = runtime_active() ? find_thread(handle) : nullptr;
  return t ? load_whole(t, bytes, set) : real::pthread_getaffinity_np(handle, bytes, set);
}

#if defined(__x86_64__)
// glibc's versions: before 2.3.4 the calls had no size, the set was of 128 bytes; later ones only
// moved.
#define ROOST_VERSION(local, symbol, parameters, call)                                          \
  extern "C" __attribute__((visibility("default"), used)) int local parameters { return call; } \
  asm(".symver " #local "," symbol)
#define ROOST_AFFINITY(local, version, first, name, by, set_type) \
  ROOST_VERSION(local, name version, (first who, size_t bytes, set_type * set), by(who, bytes, set))
#define ROOST_OLD_AFFINITY(local, first, name, by, set_type) \
  ROOST_VERSION(local, name "@GLIBC_2.3.3", (first who, set_type * set), by(who, 128, set))
ROOST_OLD_AFFINITY(roost_sched_set_233, pid_t, "sched_setaffinity", set_by_pid, const cpu_set_t);
ROOST_OLD_AFFINITY(roost_sched_get_233, pid_t, "sched_getaffinity", get_by_pid, cpu_set_t);
ROOST_OLD_AFFINITY(roost_set_233, pthread_t, "pthread_setaffinity_np", set_by_handle,
                   const cpu_set_t);
ROOST_OLD_AFFINITY(roost_get_233, pthread_t, "pthread_getaffinity_np", get_by_handle, cpu_set_t);
ROOST_AFFINITY(roost_sched_set, "@@GLIBC_2.3.4", pid_t, "sched_setaffinity", set_by_pid,
               const cpu_set_t);
ROOST_AFFINITY(roost_sched_get, "@@GLIBC_2.3.4", pid_t, "sched_getaffinity", get_by_pid, cpu_set_t);
ROOST_AFFINITY(roost_set_234, "@GLIBC_2.3.4", pthread_t, "pthread_setaffinity_np", set_by_handle,
               const cpu_set_t);
ROOST_AFFINITY(roost_get_234, "@GLIBC_2.3.4", pthread_t, "pthread_getaffinity_np", get_by_handle,
               cpu_set_t);
ROOST_AFFINITY(roost_set, "@@GLIBC_2.34", pthread_t, "pthread_setaffinity_np", set_by_handle,
               const cpu_set_t);
ROOST_AFFINITY(roost_get, "@@GLIBC_2.32", pthread_t, "pthread_getaffinity_np", get_by_handle,
               cpu_set_t);
#else
ROOST_EXPORT int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t* set) noexcept {
  return set_by_pid(pid, bytes, set);
}
ROOST_EXPORT int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t* set) noexcept {
  return get_by_pid(pid, bytes, set);
}
ROOST_EXPORT int pthread_setaffinity_np(pthread_t handle, size_t bytes,
                                        const cpu_set_t* set) noexcept {
  return set_by_handle(handle, bytes, set);
}
ROOST_EXPORT int pthread_getaffinity_np(pthread_t handle, size_t bytes, cpu_set_t* set) noexcept {
  return get_by_handle(handle, bytes, set);
}
#endif

ROOST_EXPORT long sysconf(int name) noexcept {
  bool count = name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF;
  return count && runtime_active() ? instance_cores() : real::sysconf(name);
}
ROOST_EXPORT int get_nprocs() noexcept { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }
ROOST_EXPORT int get_nprocs_conf() noexcept {
  return static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
}

}  // namespace roost
