"""Packages that are linked with libgomp compute with Roost's OpenMP runtime, found by that name
(lib/roost/omp) and without Roost, what they compute with libgomp."""

import os
from glob import glob

from harness.process import Outcome
from suite import Comparison, Context, tail
from tools_suite import INPUTS, PYTHON

TIMEOUT = 120
# Then says on standard error whose code is loaded.
NUMPY = """
import re, sys
exec(open("numpy_linalg.py").read())
maps = re.findall(r" r-xp .*/(libgomp_roost|libgomp|libomp)\\b.*", open("/proc/self/maps").read())
print(*sorted(set(maps)), file=sys.stderr)
"""


def suites(context: Context):
    name = "openmp/numpy-by-name"
    blas = glob("/usr/lib/*/openblas-openmp")
    if not blas or not os.path.exists(PYTHON):
        yield Comparison(name, skipped="not installed: libopenblas0-openmp or Python")
        return
    ours = str(context.build_dir / "lib" / "roost" / "omp")

    def numpy(folders: list[str]) -> Outcome:
        env = {**os.environ, "OMP_NUM_THREADS": "2", "LD_LIBRARY_PATH": ":".join(folders)}
        return context.plain([PYTHON, "-c", NUMPY], timeout=TIMEOUT, cwd=INPUTS, env=env)

    plain, named = numpy(blas), numpy([ours, *blas])
    problems = []
    for outcome, runtime in ((plain, "libgomp"), (named, "libgomp_roost")):
        loaded = outcome.stderr.decode(errors="replace").split()
        if outcome.status != 0 or loaded != [runtime]:
            problems.append(f"{outcome.verdict()}, not on {runtime} alone\n" + tail(outcome.stderr))
    if not problems and plain.stdout != named.stdout:
        problems.append("prints something else\n" + tail(named.stdout))
    yield Comparison(name, plain.verdict(), named.verdict(), plain.seconds, named.seconds,
                     problems=problems)
