"""Threads that wait for the core of their waker, which is about to leave it."""

import re

from world import World, cases, require, require_success


@cases("3", "8", "32")
def test_a_token_round_threads_comes_behind_its_waker(world: World, threads: str):
    """In every 64th round the waker stays, and the other core has to serve who waits for it."""
    rounds = 12800 // int(threads)
    # Beside other load one of the cores may be left alone all the time.
    for _ in range(5):
        behind = wakes_behind(world, threads, rounds)
        if behind:
            break
    require(behind > 0, "nobody waited so")
    return f"{behind} of {int(threads) * rounds} wakes"


def wakes_behind(world: World, threads: str, rounds: int) -> int:
    instance = world.roost.new_instance("behind")
    outcome = world.run(world.program("pass_token", threads, rounds), instance, "--stats",
                        "--cores", "2")
    require_success(outcome, "pass_token")
    require(outcome.stdout == f"{int(threads) * rounds} times\n".encode(),
            f"it printed {outcome.stdout!r}")
    world.require_gone(instance)
    found = re.search(rb"behind (\d+)", outcome.stderr)
    require(found, f"--stats printed {outcome.stderr!r}")
    return int(found[1])
