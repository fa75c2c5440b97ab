// Jobs of batch systems, by the variables that these set in all processes of a job.
#pragma once

#include <cstring>

namespace roost {

// The first that is set counts.
inline constexpr const char* kJobVariables[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"};

// What the first of them says; "" outside of jobs. `lookup(name)` is a variable's value or null.
template <class Lookup>
const char* job_of(const Lookup& lookup) {
  for (const char* name : kJobVariables)
    if (const char* value = lookup(name); value && *value) return value;
  return "";
}

// Which of an array's jobs of that name it is, if the name does not say so (LSF); "" if none.
template <class Lookup>
const char* index_in_array(const Lookup& lookup) {
  const char* index = lookup("LSB_JOBINDEX");
  return index && std::strcmp(index, "0") != 0 ? index : "";
}

// In ROOST_JOB, between a job and its index: job 12's third is not job 123.
inline constexpr char kBeforeIndex = ':';

// Whether the ROOST_* variables were set in another job, or outside, and came along with what was
// submitted there: ROOST_JOB has the job they were set in. Without it they are taken for this
// job's, as they are where the variables of the job have been removed.
template <class Lookup>
bool comes_from_another_job(const Lookup& lookup) {
  const char* then = lookup("ROOST_JOB");
  const char* now = job_of(lookup);
  if (!then || !*now) return false;
  std::size_t length = std::strlen(now);
  if (std::strncmp(then, now, length) != 0) return true;
  const char* index = index_in_array(lookup);
  const char* rest = then + length;
  if (*index && *rest++ != kBeforeIndex) return true;
  return std::strcmp(rest, index) != 0;
}

}  // namespace roost
