"""The programs of bench/ compute right results under roost: each nested one compares itself with a
sequential run, and both sides must come to the same checksum."""

import json
import math

from harness.process import Outcome

from suite import Comparison, Context, both_sides, same_status

RUNTIMES = ("libgomp", "libomp", "tbb", "threads")
PROBLEMS = ("matmul", "cholesky")
SHAPES = ((2, 2), (8, 8))  # outer threads, OpenBLAS threads of each
SMALL = ["--size", "768", "--tile", "128", "--seconds", "0", "--verify"]

# Programs without a result of their own: they must come to their end.
LOOPS = {
    "convoy": ["--threads", "16", "--seconds", "0.2"],
    "barrier_loop": ["--threads", "16", "--seconds", "0.2"],
    "create_join": ["--at-once", "8", "--seconds", "0.2"],
}
TIMEOUT = 60


def suites(context: Context):
    programs = context.build_dir / "bench"
    for problem in PROBLEMS:
        for runtime in RUNTIMES:
            program = programs / f"{problem}-{runtime}"
            if not program.exists():
                yield Comparison(f"bench/{program.name}", skipped=f"not built: {program.name}")
                continue
            yield merged(f"bench/{program.name}", [
                both_sides(context, f"bench/{program.name}-{outer}x{inner}",
                           [str(program), "--outer", str(outer), "--inner", str(inner), *SMALL],
                           timeout=TIMEOUT, compare=same_result)
                for outer, inner in SHAPES])
    for name, options in LOOPS.items():
        if (programs / name).exists():
            yield both_sides(context, f"bench/{name}", [str(programs / name), *options],
                             timeout=TIMEOUT, compare=same_status)
        else:
            yield Comparison(f"bench/{name}", skipped=f"not built: {name}")


def same_result(plain: Outcome, roost: Outcome) -> list[str]:
    problems = same_status(plain, roost)
    if problems:
        return problems
    expected, got = json.loads(plain.stdout), json.loads(roost.stdout)
    for side, result in (("plain", expected), ("under roost", got)):
        if not result["verified"]:
            problems.append(f"{side} the result is wrong by {result['error']}")
    if not math.isclose(expected["checksum"], got["checksum"], rel_tol=1e-9):
        problems.append(f"checksum {expected['checksum']} plain, {got['checksum']} under roost")
    return problems


def merged(name: str, parts: list[Comparison]) -> Comparison:
    """Several runs of one program as one line."""
    def verdict(side):
        bad = [getattr(part, side) for part in parts if getattr(part, side) != "ok"]
        return bad[0] if bad else "ok"
    return Comparison(
        name, verdict("plain"), verdict("roost"),
        sum(part.plain_seconds for part in parts), sum(part.roost_seconds for part in parts),
        note=", ".join(f"{outer}x{inner}" for outer, inner in SHAPES),
        problems=[f"{part.name}: {problem}" for part in parts for problem in part.problems])
