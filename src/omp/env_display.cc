// Shows the variables that are in force, in the standard's format (OMP_DISPLAY_ENV,
// omp_display_env()).
#include "base/text.h"
#include "omp/affinity.h"
#include "omp/export.h"
#include "omp/icv.h"
#include "ult/carrier.h"
#include "ult/kernel.h"

namespace roost::omp {
namespace {

struct Page : Text<8192> {
  using Text::Text;
  bool llvm = false;  // as libomp prints its settings
};

template <class Value>
void line(Page& page, const char* name, const Value& value) {
  page << (page.llvm ? "   " : "  [host] ") << name << (page.llvm ? "='" : " = '") << value
       << "'\n";
}
void line(Page& page, const char* name, bool value) { line(page, name, value ? "TRUE" : "FALSE"); }
void line(Page& page, const char* name, std::int32_t value) {
  line(page, name, static_cast<std::uint32_t>(value < 0 ? 0 : value));
}

const char* name_of(Bind bind) {
  constexpr const char* kNames[] = {"FALSE", "TRUE", "PRIMARY", "CLOSE", "SPREAD"};
  return kNames[static_cast<unsigned>(bind)];
}

void schedule(Page& page, const Icvs& icvs) {
  constexpr const char* kNames[] = {"", "STATIC", "DYNAMIC", "GUIDED", "AUTO"};
  Text<64> text;
  if (icvs.monotonic) text << "MONOTONIC:";
  text << kNames[static_cast<unsigned>(icvs.schedule)];
  if (icvs.chunk) text << ',' << static_cast<std::uint64_t>(icvs.chunk);
  line(page, "OMP_SCHEDULE", text.c_str());
}

void threads(Page& page, const Settings& set) {
  Text<256> text;
  text << static_cast<std::uint32_t>(set.initial.threads);
  for (int i = 1; i < set.n_threads_by_level; ++i)
    text << ',' << static_cast<std::uint32_t>(set.threads_by_level[i]);
  line(page, "OMP_NUM_THREADS", text.c_str());
}

void binds(Page& page, const Settings& set) {
  Text<256> text(name_of(set.initial.bind));
  for (int i = 1; i < set.n_bind_by_level; ++i) text << ',' << name_of(set.bind_by_level[i]);
  line(page, "OMP_PROC_BIND", text.c_str());
}

void allocator(Page& page, std::uintptr_t handle) {
  constexpr const char* kNames[] = {"",
                                    "omp_default_mem_alloc",
                                    "omp_large_cap_mem_alloc",
                                    "omp_const_mem_alloc",
                                    "omp_high_bw_mem_alloc",
                                    "omp_low_lat_mem_alloc",
                                    "omp_cgroup_mem_alloc",
                                    "omp_pteam_mem_alloc",
                                    "omp_thread_mem_alloc"};
  line(page, "OMP_ALLOCATOR", handle <= 8 ? kNames[handle] : "with traits");
}

void own_variables(Page& page, const Settings& set) {
  if (set.os_levels < 0) {
    line(page, "ROOST_OMP_LEVELS", "auto");
  } else {
    line(page, "ROOST_OMP_LEVELS", set.os_levels);
  }
  line(page, "ROOST_OMP_STACKSIZE", ult::light_stack_bytes.load(std::memory_order_relaxed) / 1024);
  auto patience = ult::patience_limit.load(std::memory_order_relaxed);
  Text<32> text;
  bool whole = patience % 1'000'000 == 0;
  text << static_cast<std::uint64_t>(patience / (whole ? 1'000'000 : 1000))
       << (whole ? "ms" : "us");
  line(page, "KMP_BLOCKTIME", text.c_str());
}

void all(Page& page, const Settings& set) {
  const Icvs& icvs = set.initial;
  constexpr const char* kOffload[] = {"DEFAULT", "MANDATORY", "DISABLED"};
  char format[kAffinityFormatRoom];
  get_affinity_format(format, sizeof format);
  line(page, "OMP_DYNAMIC", icvs.dynamic);
  line(page, "OMP_NESTED", icvs.max_active_levels > 1);
  threads(page, set);
  schedule(page, icvs);
  binds(page, set);
  line(page, "OMP_PLACES", set.places ? set.places : "");
  line(page, "OMP_STACKSIZE", set.stack_bytes);
  line(page, "OMP_WAIT_POLICY", set.wait == Settings::Wait::active ? "ACTIVE" : "PASSIVE");
  line(page, "OMP_THREAD_LIMIT", icvs.thread_limit);
  line(page, "OMP_MAX_ACTIVE_LEVELS", icvs.max_active_levels);
  line(page, "OMP_NUM_TEAMS", num_teams.load(std::memory_order_relaxed));
  line(page, "OMP_TEAMS_THREAD_LIMIT", teams_thread_limit.load(std::memory_order_relaxed));
  line(page, "OMP_CANCELLATION", set.cancellation);
  line(page, "OMP_DEFAULT_DEVICE", icvs.default_device);
  line(page, "OMP_MAX_TASK_PRIORITY", set.max_task_priority);
  line(page, "OMP_DISPLAY_AFFINITY", set.display_affinity);
  line(page, "OMP_AFFINITY_FORMAT", static_cast<const char*>(format));
  allocator(page, set.initial.allocator);
  line(page, "OMP_TARGET_OFFLOAD",
       kOffload[static_cast<unsigned>(set.offload.load(std::memory_order_relaxed))]);
  line(page, "OMP_TOOL", set.tool ? "enabled" : "disabled");
  line(page, "OMP_TOOL_LIBRARIES", set.tool_libraries ? set.tool_libraries : "");
  line(page, "OMP_TOOL_VERBOSE_INIT", set.tool_verbose ? set.tool_verbose : "disabled");
}

}  // namespace

void display_environment(bool verbose) {
  const Settings& set = settings();
  Page page("\nOPENMP DISPLAY ENVIRONMENT BEGIN\n  _OPENMP = '202111'\n");
  all(page, set);
  if (verbose) own_variables(page, set);
  page << "OPENMP DISPLAY ENVIRONMENT END\n";
  ult::kernel::write_error(page.c_str(), page.length());
}

void display_settings() {
  const Settings& set = settings();
  Page page("\nEffective settings:\n\n");
  page.llvm = true;
  all(page, set);
  own_variables(page, set);
  page << '\n';
  ult::kernel::write_error(page.c_str(), page.length());
}

extern "C" {

ROOST_EXPORT void omp_display_env(int verbose) { display_environment(verbose != 0); }
ROOST_EXPORT void omp_display_env_(const std::int32_t* verbose) {
  display_environment(*verbose != 0);
}
ROOST_EXPORT void omp_display_env_8_(const std::int64_t* verbose) {
  display_environment(*verbose != 0);
}

}  // extern "C"
}  // namespace roost::omp
