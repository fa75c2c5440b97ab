"""Everyday programs of the distribution that use threads and processes: under roost they write the
same bytes and end with the same status."""

import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.process import Outcome

from suite import Comparison, Context, both_sides, missing, same_status, tail

INPUTS = Path(__file__).resolve().parent / "inputs"
PYTHON = "/usr/bin/python3"
TIMEOUT = 120


@dataclass(frozen=True)
class Tool:
    name: str
    script: str  # for bash, in a directory with the input files
    needs: tuple[str, ...]
    status: int = 0


TOOLS = (
    # Not the last of its instance: xz 5.6 forbids itself (by Landlock) what would remove the segment.
    Tool("xz", "xz -T4 --block-size=256KiB -c text | cat", ("xz",)),
    Tool("xz-and-back", "set -o pipefail; xz -T4 --block-size=256KiB -c text "
         "| xz -T4 -dc | cmp - text", ("xz",)),
    Tool("zstd", "zstd -q -T4 -c < text", ("zstd",)),
    Tool("pigz", "pigz -n -p 4 -c text", ("pigz",)),
    Tool("sort", "sort --parallel=4 -S 1M text", ("sort",)),
    Tool("numpy", f"OPENBLAS_NUM_THREADS=4 {PYTHON} numpy_linalg.py", (PYTHON,)),
    *(Tool(f"blas-bits-{build}",
           f"ROOST_BLAS_TRIALS=all {PYTHON} blas_bits.py /usr/lib/$(uname -m)-linux-gnu/openblas-{build}/libopenblas.so.0",
           (PYTHON,)) for build in ("pthread", "openmp")),
    Tool("blas-right",
         f"ROOST_BLAS=adapt {PYTHON} blas_right.py /usr/lib/$(uname -m)-linux-gnu/openblas-openmp/libopenblas.so.0",
         (PYTHON,)),
    Tool("python-pools", f"{PYTHON} pool.py", (PYTHON,)),
    Tool("sqlite", f"{PYTHON} sqlite_threads.py", (PYTHON,)),
    Tool("perl-threads", "perl threads.pl", ("perl",)),
    Tool("make-lto", "make -s -C lto_tree -j4 && lto_tree/program && cat lto_tree/program",
         ("make", "cc")),
    Tool("xargs", "seq 64 | xargs -P 4 -n 1 sh -c 'echo $((($1 * 7) % 64))' sh | sort -n",
         ("xargs",)),
    Tool("pipeline", "set -o pipefail; head -c 1000000 text | tee >(wc -c >&2) | tr a-z A-Z "
         "| grep -v Q | awk '{ n += NF } END { print n }'", ("bash", "awk")),
    # Runtimes with threads and signals of their own.
    Tool("go-in-c", "export GOCACHE=$TMPDIR/go-cache GO111MODULE=off && cd go "
         "&& go build -buildmode=c-shared -o libworkers.so workers.go "
         "&& cc main.c ./libworkers.so -o main && ./main", ("go", "cc")),
    Tool("go-program", "export GOCACHE=$TMPDIR/go-cache GO111MODULE=off && cd go_program "
         "&& go build -o program main.go && for i in 1 2 3; do ./program; done; ./program",
         ("go", "cc"), status=4),
    Tool("java", "java Workers.java", ("java", "javac")),
    Tool("exit-status", "(exit 3) & wait $!; echo $?; exec false", ("bash",), status=1),
)


def suites(context: Context):
    text = context.scratch / "text"
    text.write_text(words())
    for tool in TOOLS:
        name = f"tools/{tool.name}"
        if reason := missing(*tool.needs):
            yield Comparison(name, skipped=reason)
        else:
            yield both_sides(context, name, ["bash", "-c", tool.script], timeout=TIMEOUT,
                             status=tool.status, prepare=lambda directory: lay_out(directory, text),
                             env=environment())
    yield environment_kept(context)
    yield static_program(context)


def environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C"}


def words() -> str:
    """Some 8 MB of text that compresses neither too well nor too badly; always the same."""
    source = random.Random(1)
    vocabulary = ["".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=source.randint(2, 9)))
                  for _ in range(4000)]
    return "".join(" ".join(source.choices(vocabulary, k=8)) + "\n" for _ in range(150_000))


def lay_out(directory: Path, text: Path) -> None:
    shutil.copytree(INPUTS, directory, dirs_exist_ok=True)
    (directory / "text").symlink_to(text)


def environment_kept(context: Context) -> Comparison:
    """Roost may add variables, and put itself first in LD_PRELOAD; it changes nothing else."""
    def compare(plain: Outcome, roost: Outcome) -> list[str]:
        problems = same_status(plain, roost)
        before, after = variables(plain), variables(roost)
        for name, value in before.items():
            same = after.get(name) == value
            if name == "LD_PRELOAD":
                same = after.get(name, "").split(":")[-1] == value
            if not same:
                problems.append(f"{name}={value} became {after.get(name)}")
        return problems
    # The library is one that changes nothing, so it may stand for the user's own.
    env = {**environment(), "LD_PRELOAD": "libutil.so.1", "OMP_WAIT_POLICY": "active"}
    return both_sides(context, "tools/env", ["env", "-0"], timeout=TIMEOUT, env=env,
                      compare=compare)


def variables(outcome: Outcome) -> dict[str, str]:
    entries = (entry.partition("=") for entry in outcome.stdout.decode().split("\0") if entry)
    return {name: value for name, _, value in entries if name not in ("_", "ROOST_TEST_RUN")}


def static_program(context: Context) -> Comparison:
    """A static program runs unmanaged: same output, same status; roost may say so on stderr."""
    name = "tools/static-busybox"
    if reason := missing("busybox"):
        return Comparison(name, skipped=reason)
    script = "busybox sha256sum < text; busybox seq 3; exit 5"

    def compare(plain: Outcome, roost: Outcome) -> list[str]:
        problems = same_status(plain, roost)
        if plain.stdout != roost.stdout:
            problems.append("stdout differs\n" + tail(roost.stdout))
        return problems
    return both_sides(context, name, ["busybox", "sh", "-c", script], timeout=TIMEOUT, status=5,
                      prepare=lambda directory: (directory / "text").write_text("static\n"),
                      compare=compare)
