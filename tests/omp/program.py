"""A test of the OpenMP runtime: its source, and what its first lines say of how to run it.

Comments among the first lines of a source may say, each on a line of its own:

    // compilers: gcc                  only these: gcc, clang, or one version such as clang-16
    // threads: 1 2 7                  values of OMP_NUM_THREADS instead of 1, 2, 7 and 64
    // env: OMP_CANCELLATION=true      further variables
    // flags: -fno-openmp              for the compiler
    // limit: 20                       seconds, instead of 60
    // reference: no                   with --reference: not at all, or only gcc's or clang's build
    // header: omp-tools.h             one that LLVM's runtime brings; without it the test is skipped
    // object: support/x.c other       linked with it, built by the same or another compiler
    // library: support/x.c same       a shared object whose path is an argument of the program;
    //                                 with `linked` at the end, linked instead
    // scheduler: roost                run under Roost only, with all values of OMP_NUM_THREADS
    // ours: named both                how the library takes the runtime's place, a run for each:
    //                                 preloaded (the default); named: found in the library's folder
    //                                 of libgomp.so.1 and libomp.so.5; or both
    // sanitized: no                   not with a library built with sanitizers; address: only with
    //                                 AddressSanitizer's
    // ours: linked                    it is what -fopenmp links, and nothing else is said
    // reason: ...                     why there is an exception
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

THREADS = (1, 2, 7, 64)
TIME_LIMIT_SECONDS = 60
SUFFIXES = (".c", ".cc", ".f90")
HEAD_LINES = 25
WHOSE = ("same", "other")
DIRECTIVE = re.compile(r"^\s*(?://|!)\s*(compilers|threads|env|flags|limit|reference|header|object"
                       r"|library|ours|scheduler|sanitized):\s*(.*?)\s*$")
# One that was run into a sentence, as formatters do.
LOST = re.compile(r"(?://|!).*\S\s+(?:(?:threads|limit): \d|reference: (?:no|gcc|clang)"
                  r"|compilers: (?:gcc|clang)|flags: -|sanitized: |scheduler: roost)")


@dataclass
class Program:
    source: Path
    compilers: list[str] = field(default_factory=list)  # empty: all
    threads: tuple[int, ...] = THREADS
    env: dict[str, str] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    limit: float = TIME_LIMIT_SECONDS
    only_under_roost: bool = False
    sanitized: tuple[str, ...] = ("address", "thread")
    reference: list[str] = field(default_factory=list)  # empty: all
    headers: list[str] = field(default_factory=list)
    objects: list[tuple[Path, str]] = field(default_factory=list)
    libraries: list[tuple[Path, str, bool]] = field(default_factory=list)
    ours: list[str] = field(default_factory=lambda: ["preloaded"])

    @property
    def name(self) -> str:
        return self.source.stem

    def takes(self, compiler, as_reference: bool) -> bool:
        """Whether the compiler is to build it."""
        def named(wanted: list[str]) -> bool:
            return not wanted or compiler.family in wanted or compiler.name in wanted
        return (compiler.builds(self.source) and named(self.compilers) and
                (not as_reference or named(self.reference)))


def read(source: Path) -> Program:
    """The program, by its source. A mistake in what it says ends the runner with one sentence."""
    program = Program(source)
    lines = source.read_text(encoding="utf-8", errors="replace").splitlines()[:HEAD_LINES]
    for line in lines:
        found = DIRECTIVE.match(line)
        if LOST.match(line):
            raise SystemExit(f"omp: {source.name} has a line that says two things: {line.strip()}")
        if not found:
            continue
        try:
            understand(program, found.group(1), found.group(2).split())
        except (ValueError, IndexError):
            raise SystemExit(f"omp: {source.name} has a line that says nothing: {line.strip()}")
    return program


def understand(program: Program, what: str, words: list[str]) -> None:
    if what == "compilers":
        program.compilers = words
    elif what == "threads":
        program.threads = tuple(int(word) for word in words)
    elif what == "env":
        program.env |= dict(word.split("=", 1) for word in words)
    elif what == "flags":
        program.flags += words
    elif what == "limit":
        program.limit = float(words[0])
    elif what == "scheduler":
        if words != ["roost"]:
            raise ValueError(words)
        program.only_under_roost = True
    elif what == "sanitized":
        program.sanitized = () if one_of(words[0], "no", "address") == "no" else ("address",)
    elif what == "reference":
        program.reference = words
    elif what == "ours":
        known = ("linked",) if words[:1] == ["linked"] else ("preloaded", "named", "both")
        program.ours = [one_of(word, *known) for word in words]
    elif what == "header":
        program.headers += words
    elif what == "object":
        program.objects.append((program.source.parent / words[0], one_of(words[1], *WHOSE)))
    elif what == "library":
        linked = words[2:] == ["linked"]
        whose = one_of(words[1], *WHOSE)
        program.libraries.append((program.source.parent / words[0], whose, linked))


def one_of(word: str, *allowed: str) -> str:
    if word not in allowed:
        raise ValueError(word)
    return word


def find(folder: Path) -> list[Program]:
    return [read(path) for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES]
