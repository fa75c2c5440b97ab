// Start before any constructor, fork, exec, spawn and exit of a managed process.
#include "preload/process.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

#include "preload/affinity.h"
#include "preload/blas.h"
#include "preload/blas_calls.h"
#include "preload/blas_width.h"
#include "preload/config.h"
#include "preload/errand.h"
#include "preload/fork_gate.h"
#include "preload/handler_return.h"
#include "preload/in_handler.h"
#include "preload/libc_calls.h"
#include "preload/mutex.h"
#include "preload/nudge.h"
#include "preload/python_gil.h"
#include "preload/rank.h"
#include "preload/spin_site.h"
#include "preload/stats.h"
#include "preload/stopped_threads.h"
#include "preload/thread_cache.h"
#include "preload/trap.h"
#include "preload/trap_signals.h"
#include "preload/trap_state.h"
#include "preload/wait.h"
#include "sched/keeper.h"

extern "C" int __cxa_atexit(void (*)(void*), void*, void*);
extern "C" int __cxa_at_quick_exit(void (*)(void*), void*);
extern "C" __attribute__((weak)) void __tsan_init();

namespace roost {
namespace {

pid_t own_pid;  // of the process that is attached; a vfork child shares this memory but not the pid
bool report_stats;
// The calling process is the child of a fork that has not returned in it. A lock of the program's
// malloc may be held until it does.
constinit bool begins_as_child = false;

bool in_own_process() { return runtime_active() && os::getpid() == own_pid; }

// The kernel puts zeros there in the child of a fork; fork handlers say that it has joined, too.
struct alignas(4096) OwnPage {
  std::atomic<bool> is_own;
};
constinit OwnPage own_page{};
bool own_page_is_wiped = false;
constinit std::atomic<bool> memory_is_shared{false};

void note_own_process() {
  own_pid = os::getpid();
  own_page.is_own.store(own_page_is_wiped, std::memory_order_relaxed);
}

void stop() {
  if (runtime_restricted() || !in_own_process()) return;
  if (report_stats) print_stats(runtime_segment());
  runtime_stop();
}

void before_fork() {
  fork_gate_close();
  runtime_before_fork();
}

void after_fork_in_child() {
  fork_gate_after_fork();
  if (!runtime_active()) return;
  unsigned interrupted = lot_after_fork();
  note_own_process();
  nudges_after_fork();
  blas_after_fork();
  blas_calls_after_fork();
  errands_after_fork();
  begins_as_child = true;
  runtime_after_fork();
  threads_after_fork();
  self.waits -= interrupted;                          // they are counted when they begin again
  if (is_light() && self.record) unpark(self.index);  // a wait that is interrupted looks again
  begins_as_child = false;
}

// ThreadSanitizer has to see a lock before anybody else acts on it.
template <std::size_t n>
void complain(const char (&said)[n]) {
  os::write(2, said, n - 1);
}

void complain(const char* instance, const char* why) {
  Text<1536> text("roost: cannot join instance '");
  text.append(instance, kInstanceNameBytes);
  text << "': " << why << "; the program runs unmanaged\n";
  os::write(2, text.c_str(), text.length());
}

__attribute__((constructor(101))) void start(int, char**, char** environment) {
  if (&__tsan_init || RUNNING_ON_VALGRIND) {
    if (!started_by_roost(environment)) return;
    return &__tsan_init
               ? complain(
                     "roost: a program built for ThreadSanitizer runs unmanaged; its races could "
                     "not be told from Roost's locks\n")
               : complain(
                     "roost: a program under Valgrind, which runs one thread at a time, runs "
                     "unmanaged\n");
  }
  static constinit SegmentConfig config{};
  if (!program_has_libraries()) return;  // roost run has said so
  PolicyFileError refused;
  ConfigResult found = read_config(environment, config, refused);
  if (found == ConfigResult::refused) complain(config.instance, refused.c_str());
  if (found != ConfigResult::managed) return;
  report_stats = stats_wanted(environment);
  if (report_stats) keep_standard_error();
  trap_configure(trap_wanted(environment));
  blas_width_configure(blas_mode_wanted(environment), blas_trials_wanted(environment));
  configure_trace(environment, config.instance);
  nudges_prepare(spin_mode_wanted(environment));
  runtime_is_rank(rank_in(environment));
  if (int error = start_process(config)) {
    // Under a filter that knows few system calls (man-db's), of which nobody need be told.
    if (error == -ENOSYS) return;
    complain(config.instance,
             error == kSegmentPolicyMismatch ? runtime_refusal() : segment_error(error));
    return;
  }
  lead_libc_calls();
  lead_python_calls();
  inherit_affinity_hint(environment);
  handler_returns_start();
  nudges_start();
  blas_calls_look_at_objects(true);
  look_for_who_stops_threads();
}

// The image may be replaced by one that is not managed, so it must find the affinity of the whole
// instance and no core in its name. A vfork child shares our memory: it only unpins itself.
class ExecScope {
 public:
  ExecScope() : managed_(self.record && in_own_process() && can_park()) {
    if (managed_) {
      runtime_before_exec();
    } else {
      unpin_child();
    }
  }
  ~ExecScope() {
    int saved = errno;
    if (managed_) {
      runtime_exec_failed();
      if (this_thread()) this_thread()->index = self.index;
    }
    errno = saved;
  }

 private:
  static void unpin_child();
  bool managed_;
  AsTheProgramBelieves signals_;
};

void ExecScope::unpin_child() {
  if (!runtime_active()) return;
  os::set_affinity(0, &runtime_cpus(), sizeof(CpuSet));
}

// exec(environment) in ExecScope, and a spawn; the new image finds the affinity hint.
template <class Exec>
int exec_with(char* const* environment, Exec&& exec) {
  return with_affinity_hint(environment, [&](char* const* handed_on) {
    ExecScope scope;
    return exec(handed_on);
  });
}
template <class Call>
int spawn(char* const* environment, Call&& call) {
  AsTheProgramBelieves signals;
  return with_affinity_hint(environment, [&](char* const* handed_on) {
    return make_child([&] { return call(handed_on); });
  });
}

// The arguments of execl and its kind as an array; the list is on the caller's stack.
template <class Exec>
int exec_list(const char* first, va_list list, bool environment, Exec&& exec) {
  va_list counting;
  va_copy(counting, list);
  std::size_t count = 1;
  while (va_arg(counting, char*)) ++count;
  va_end(counting);
  auto** arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));
  arguments[0] = const_cast<char*>(first);
  for (std::size_t i = 1; i < count; ++i) arguments[i] = va_arg(list, char*);
  arguments[count] = nullptr;
  (void)va_arg(list, char*);
  char** envp = environment ? va_arg(list, char**) : environ;
  return exec(arguments, envp);
}

// glibc has these since 2.39.
using PidfdSpawn = int(int*, const char*, const posix_spawn_file_actions_t*,
                       const posix_spawnattr_t*, char* const*, char* const*);
ROOST_LISTED_APART constinit Real<PidfdSpawn> real_pidfd_spawn{"pidfd_spawn"};
ROOST_LISTED_APART constinit Real<PidfdSpawn> real_pidfd_spawnp{"pidfd_spawnp"};

}  // namespace

int start_process(const SegmentConfig& config) {
  LibcThreads libc{real::pthread_create.get(), real::pthread_mutex_clocklock.get(),
                   real::pthread_mutex_consistent.get(), real::pthread_mutex_unlock.get()};
  find_condition_layout();
  own_page_is_wiped = os::wipe_at_fork(&own_page, sizeof own_page);
  note_own_process();
  if (int error = runtime_start(config, libc)) return error;
  wake_everybody = wake_all_who_retry;
  lot_empties_at_fork();
  keeper_set_chore([] {
    spin_sites_look();
    cache_trim();
    issue_overdue_wakes(
        [](const void* key) { return !lot.bucket(key).lock.load(std::memory_order_relaxed); });
    return until_handlers_are_overdue();
  });
  // libc asks the program's malloc for a thread's memory, which a handler may have interrupted.
  keeper_set_permit(
      [] { return !begins_as_child && !yields_where_interrupted() && !perhaps_in_handler(); });
  threads_start();
  follow_own_policy();
  pthread_atfork(before_fork, fork_gate_open, after_fork_in_child);
  // Tied to no object. From the constructor it is registered before the dynamic linker's own
  // finaliser, and so runs after the last destructor of the program.
  __cxa_atexit([](void*) { stop(); }, nullptr, nullptr);
  __cxa_at_quick_exit([](void*) { stop(); }, nullptr);
  return 0;
}

long exec_in_kernel(long (*exec)(const void*), const void* data) {
  ExecScope scope;
  return exec(data);
}

void stop_process() { stop(); }

bool in_managed_process() { return in_own_process(); }

bool waits_in_managed_process() {
  if (memory_is_shared.load(std::memory_order_relaxed) ||
      !own_page.is_own.load(std::memory_order_relaxed))
    return in_own_process();
  return runtime_active();
}

void processes_may_share_memory() { memory_is_shared.store(true, std::memory_order_relaxed); }

void after_clone_in_child() {
  if (!runtime_active()) return;
  os::set_affinity(0, &runtime_cpus(), sizeof(CpuSet));
  runtime_restrict();
  after_fork_in_child();
}

bool pid_in_instance(pid_t pid) {
  return any_thread(runtime_segment(), [&](ThreadIndex, const ThreadRecord<RealWorld>& record) {
    return state_of(record.state.load(std::memory_order_relaxed)) != State::free &&
           record.tid.load(std::memory_order_relaxed) == pid;
  });
}

// Programs built for AddressSanitizer end where another library comes before its runtime, unless
// this says otherwise. Their own function of the name comes first.
ROOST_EXPORT const char* __asan_default_options() { return "verify_asan_link_order=0"; }

ROOST_EXPORT int execve(const char* path, char* const* argv, char* const* envp) noexcept {
  return exec_with(envp, [&](auto* e) { return real::execve(path, argv, e); });
}
ROOST_EXPORT int execv(const char* path, char* const* argv) noexcept {
  return execve(path, argv, environ);
}
ROOST_EXPORT int execvp(const char* file, char* const* argv) noexcept {
  return exec_with(environ, [&](auto* e) { return real::execvpe(file, argv, e); });
}
ROOST_EXPORT int execvpe(const char* file, char* const* argv, char* const* envp) noexcept {
  return exec_with(envp, [&](auto* e) { return real::execvpe(file, argv, e); });
}
ROOST_EXPORT int fexecve(int fd, char* const* argv, char* const* envp) noexcept {
  return exec_with(envp, [&](auto* e) { return real::fexecve(fd, argv, e); });
}
ROOST_EXPORT int execveat(int fd, const char* path, char* const* argv, char* const* envp,
                          int flags) noexcept {
  return exec_with(envp, [&](auto* e) { return real::execveat(fd, path, argv, e, flags); });
}
ROOST_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  int result = exec_list(first, list, false,
                         [&](char** argv, char** envp) { return execve(path, argv, envp); });
  va_end(list);
  return result;
}
ROOST_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  int result = exec_list(first, list, true,
                         [&](char** argv, char** envp) { return execve(path, argv, envp); });
  va_end(list);
  return result;
}
ROOST_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  int result = exec_list(first, list, false,
                         [&](char** argv, char** envp) { return execvpe(file, argv, envp); });
  va_end(list);
  return result;
}

ROOST_EXPORT int posix_spawn(pid_t* pid, const char* path,
                             const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const* argv,
                             char* const* envp) {
  return spawn(envp,
               [&](auto* e) { return real::posix_spawn(pid, path, actions, attributes, argv, e); });
}
ROOST_EXPORT int posix_spawnp(pid_t* pid, const char* file,
                              const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const* argv,
                              char* const* envp) {
  return spawn(
      envp, [&](auto* e) { return real::posix_spawnp(pid, file, actions, attributes, argv, e); });
}
ROOST_EXPORT int pidfd_spawn(int* pidfd, const char* path,
                             const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const* argv,
                             char* const* envp) {
  auto spawn_only = real_pidfd_spawn.find();
  if (!spawn_only) return ENOSYS;
  return spawn(envp,
               [&](auto* e) { return spawn_only(pidfd, path, actions, attributes, argv, e); });
}
ROOST_EXPORT int pidfd_spawnp(int* pidfd, const char* file,
                              const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const* argv,
                              char* const* envp) {
  auto spawn_only = real_pidfd_spawnp.find();
  if (!spawn_only) return ENOSYS;
  return spawn(envp,
               [&](auto* e) { return spawn_only(pidfd, file, actions, attributes, argv, e); });
}

ROOST_EXPORT void _exit(int status) {
  stop();
  real::_exit(status);
  __builtin_unreachable();
}
ROOST_EXPORT void _Exit(int status) noexcept {
  stop();
  real::_exit(status);
  __builtin_unreachable();
}

// No fork handlers run: the child stays unmanaged until it execs.
ROOST_EXPORT pid_t _Fork() noexcept {
  auto fork_only = real::_Fork.find();
  if (!fork_only) {
    errno = ENOSYS;
    return -1;
  }
  pid_t pid = fork_only();
  if (pid == 0) {
    self.record = nullptr;
    trace::after_fork();
    trap_after_fork();
    if (runtime_active()) os::set_affinity(0, &runtime_cpus(), sizeof(CpuSet));
  }
  return pid;
}

}  // namespace roost
