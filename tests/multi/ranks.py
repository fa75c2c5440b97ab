"""Ranks of parallel jobs, more of them than cores: each core serves those of one job."""

from collections import Counter

from world import Skip, World, cores_here, require, require_success

RANKS = 4
JOBS = 2

# Stands where mpiexec would: it has none of the variables of its ranks.
LAUNCHER = """
rank=0
while [ $rank -lt $COUNT ]; do
  OMPI_COMM_WORLD_LOCAL_RANK=$rank OMPI_COMM_WORLD_LOCAL_SIZE=$COUNT "$@" &
  rank=$((rank + 1))
done
wait
"""


def turns_of_jobs(world: World) -> list[Counter]:
    """How many turns of each job were on each CPU."""
    instance = world.roost.new_instance("ranks")
    shared = world.directory / "shared"
    jobs = [world.start(["env", f"COUNT={RANKS}", "sh", "-c", LAUNCHER, "launcher",
                         *world.program("rank_ring", shared, job)],
                        instance, "--cores", "2")
            for job in range(JOBS)]
    turns = [Counter() for _ in range(JOBS)]
    for job in jobs:
        outcome = job.wait(60)
        require_success(outcome, "rank_ring")
        for line in outcome.stdout.splitlines():
            number, cpu, some = map(int, line.split())
            turns[number][cpu] += some
    world.require_gone(instance)
    return turns


def test_each_job_has_a_core(world: World):
    """Most turns are on one, but for those before the ranks have seen each other."""
    if cores_here() < 2:
        raise Skip("there is one core")
    turns = turns_of_jobs(world)
    shares = [max(of_job.values()) / sum(of_job.values()) for of_job in turns]
    require(min(shares) > 0.75, f"turns of the jobs by CPU: {turns}")
    cores = {of_job.most_common(1)[0][0] for of_job in turns}
    require(len(cores) == JOBS, f"both jobs have CPU {cores}")
    return ", ".join(f"{share:.2f}" for share in shares) + " of their turns"
