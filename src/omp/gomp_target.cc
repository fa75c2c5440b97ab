// GCC's entry points for target and teams constructs: all of it runs on the host.
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "omp/allocators.h"
#include "omp/api.h"
#include "omp/export.h"
#include "omp/league.h"
#include "ult/kernel.h"

extern "C" void GOMP_taskwait_depend(void** depend);

namespace roost::omp {
namespace {

// What the compiler passes as the device besides its number.
constexpr int kDeviceOfIcv = -1;
constexpr int kHostBecauseOfIf = -2;  // or because the program says omp_initial_device

// Mandatory offload forbids what falls back to the host, not what the program wants there.
void require_host_allowed(int device, const char* construct) {
  if (settings().offload.load(std::memory_order_relaxed) != Settings::Offload::mandatory ||
      device == kHostBecauseOfIf)
    return;
  if (device == kDeviceOfIcv) device = self().task->icvs.default_device;
  if (device == omp_get_initial_device()) return;
  Text<256> text("roost: OMP_TARGET_OFFLOAD is MANDATORY, but there is no device for ");
  text << construct << "\n";
  ult::kernel::write_error(text.c_str(), text.length());
  std::exit(1);
}

void wait_for(void** depend) {
  if (depend) GOMP_taskwait_depend(depend);
}

// ---- firstprivate: the region gets copies -------------------------------------------------------

constexpr unsigned kFirstPrivate = 12;  // GOMP_MAP_FIRSTPRIVATE, in the low byte of a kind

bool is_first_private(unsigned short kind, const void* address) {
  return (kind & 0xff) == kFirstPrivate && address;
}

// Bytes from the beginning of the copies to this one and to behind it.
struct Place {
  std::size_t begin;
  std::size_t end;
};
Place place_behind(std::size_t end, unsigned short kind, std::size_t size) {
  std::size_t align = std::size_t{1} << (kind >> 8);
  std::size_t begin = (end + align - 1) & ~(align - 1);
  return {begin, begin + size};
}

struct Mappings {
  std::size_t count;
  void** addresses;
  const std::size_t* sizes;
  const unsigned short* kinds;
};

std::size_t bytes_of_copies(const Mappings& maps, std::size_t& alignment) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < maps.count; ++i) {
    if (!is_first_private(maps.kinds[i], maps.addresses[i])) continue;
    std::size_t align = std::size_t{1} << (maps.kinds[i] >> 8);
    if (align > alignment) alignment = align;
    end = place_behind(end, maps.kinds[i], maps.sizes[i]).end;
  }
  return end;
}

// `room` is aligned for all of them.
void make_copies(const Mappings& maps, char* room) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < maps.count; ++i) {
    if (!is_first_private(maps.kinds[i], maps.addresses[i])) continue;
    Place place = place_behind(end, maps.kinds[i], maps.sizes[i]);
    memcpy(room + place.begin, maps.addresses[i], maps.sizes[i]);
    maps.addresses[i] = room + place.begin;
    end = place.end;
  }
}

// ---- Arguments of a target region ---------------------------------------------------------------

// The thread_limit clause among the arguments; 0: none.
std::int32_t thread_limit_of(void** arguments) {
  constexpr std::intptr_t kValueFollows = 1 << 7;
  constexpr std::intptr_t kDeviceMask = 0x7f;
  constexpr std::intptr_t kIdMask = 0xff << 8;
  constexpr std::intptr_t kThreadLimit = 2 << 8;
  constexpr int kValueShift = 16;
  while (arguments && *arguments) {
    auto id = reinterpret_cast<std::intptr_t>(*arguments++);
    std::intptr_t value =
        id & kValueFollows ? reinterpret_cast<std::intptr_t>(*arguments++) : id >> kValueShift;
    if ((id & kDeviceMask) || (id & kIdMask) != kThreadLimit || value <= 0) continue;
    return value > 0x7fff'ffff ? 0x7fff'ffff : static_cast<std::int32_t>(value);
  }
  return 0;
}

struct Leagues {
  void (*function)(void*);
  void* data;
};
void run_league(void* argument) {
  auto& leagues = *static_cast<Leagues*>(argument);
  ompt::UserCode code;
  leagues.function(leagues.data);
}

void run_target(void (*function)(void*), void** addresses, std::int32_t thread_limit) {
  League league;
  league.thread_limit = thread_limit;
  // What the program has set is its host thread's. (Clang calls the region without us.)
  league.icvs = &settings().initial;
  run_initial_task(league, function, addresses);
}

}  // namespace

extern "C" {

ROOST_EXPORT void GOMP_target(int device, void (*function)(void*), const void*, std::size_t,
                              void** addresses, std::size_t*, unsigned char*) {
  require_host_allowed(device, "a target region");
  ompt::Entry entry;
  run_target(function, addresses, 0);
}

ROOST_EXPORT void GOMP_target_ext(int device, void (*function)(void*), std::size_t count,
                                  void** addresses, std::size_t* sizes, unsigned short* kinds,
                                  unsigned, void** depend, void** arguments) {
  require_host_allowed(device, "a target region");
  ompt::Entry entry;
  wait_for(depend);
  Mappings maps{count, addresses, sizes, kinds};
  std::size_t alignment = 1;
  std::size_t bytes = bytes_of_copies(maps, alignment);
  constexpr std::size_t kInPlace = 1024;
  alignas(64) char room[kInPlace];
  void* memory = nullptr;
  char* copies = room;
  if (bytes > kInPlace || alignment > 64) {
    // Rather from the heap than from the stack of a light thread.
    memory = program_heap().allocate(bytes + alignment);
    if (!memory) ult::out_of_memory("firstprivate variables of a target region");
    auto address = reinterpret_cast<std::uintptr_t>(memory);
    copies = reinterpret_cast<char*>((address + alignment - 1) & ~(alignment - 1));
  }
  if (bytes) make_copies(maps, copies);
  run_target(function, addresses, thread_limit_of(arguments));
  if (memory) program_heap().release(memory);
}

// What is mapped is there already.
ROOST_EXPORT void GOMP_target_data(int device, const void*, std::size_t, void**, std::size_t*,
                                   unsigned char*) {
  require_host_allowed(device, "a target data region");
}
ROOST_EXPORT void GOMP_target_data_ext(int device, std::size_t, void**, std::size_t*,
                                       unsigned short*) {
  require_host_allowed(device, "a target data region");
}
ROOST_EXPORT void GOMP_target_end_data() {}
ROOST_EXPORT void GOMP_target_update(int device, const void*, std::size_t, void**, std::size_t*,
                                     unsigned char*) {
  require_host_allowed(device, "a target update");
}
ROOST_EXPORT void GOMP_target_update_ext(int device, std::size_t, void**, std::size_t*,
                                         unsigned short*, unsigned, void** depend) {
  require_host_allowed(device, "a target update");
  wait_for(depend);
}
ROOST_EXPORT void GOMP_target_enter_exit_data(int device, std::size_t, void**, std::size_t*,
                                              unsigned short*, unsigned, void** depend) {
  require_host_allowed(device, "target enter data or target exit data");
  wait_for(depend);
}
// Of a procedure on the device: the same one here (gcc 14).
ROOST_EXPORT void* GOMP_target_map_indirect_ptr(void* pointer) { return pointer; }

// Code for devices is not loaded.
ROOST_EXPORT void GOMP_offload_register(const void*, int, const void*) {}
ROOST_EXPORT void GOMP_offload_register_ver(unsigned, const void*, int, const void*) {}
ROOST_EXPORT void GOMP_offload_unregister(const void*, int, const void*) {}
ROOST_EXPORT void GOMP_offload_unregister_ver(unsigned, const void*, int, const void*) {}

// A teams construct outside target.
ROOST_EXPORT void GOMP_teams_reg(void (*function)(void*), void* data, unsigned teams,
                                 unsigned thread_limit, unsigned) {
  ompt::Entry entry;
  self();  // the environment has been read
  Leagues leagues{function, data};
  League league;
  league.size = leagues_for(teams);
  league.thread_limit = league_thread_limit(thread_limit);
  run_leagues(league, run_league, &leagues);
}

// A teams construct inside target, whose initial task becomes one league after the other. Returns
// whether there is one (more) to run.
ROOST_EXPORT bool GOMP_teams4(unsigned teams_low, unsigned, unsigned thread_limit, bool first) {
  Member& member = self();
  Team& team = *member.team;
  if (!first) return ++team.league < team.league_size;
  if (std::int32_t limit = league_thread_limit(thread_limit))
    member.task->icvs.thread_limit = limit;
  team.league_size = leagues_for(teams_low);
  team.league = 0;
  return true;
}
// Before gcc 12: one league.
ROOST_EXPORT void GOMP_teams(unsigned, unsigned thread_limit) {
  if (std::int32_t limit = league_thread_limit(thread_limit))
    self().task->icvs.thread_limit = limit;
}

}  // extern "C"
}  // namespace roost::omp
