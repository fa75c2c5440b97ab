#!/usr/bin/env python3
"""Looks at each source of the product with the checks of .clang-tidy.

usage: tools/tidy.py BUILD_FOLDER [--thorough]

Half of clang-tidy's time goes into the headers of libraries. So sources of one folder that are
compiled alike are looked at together, as one source that holds them. If something is found in it,
which may only be that two of them use a name differently, its halves are looked at, and so on down
to single sources: what is found there counts.

The other half goes into the analyzer, which follows a function's paths through up to 225000
states; it stops at a tenth of them, unless asked to be thorough.
"""
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOGETHER = 10  # sources, at most: more would leave a core without work at the end
SHORT_PATHS = ["-Xclang", "-analyzer-config", "-Xclang", "max-nodes=20000"]


def sources(build):
    """The sources of the product with the arguments that they are compiled with."""
    tracked = subprocess.run(["git", "ls-files", "src/*.cc", ":!src/*_test.cc"], cwd=ROOT,
                             check=True, capture_output=True, text=True).stdout.split()
    missing = set(tracked)
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = os.path.relpath(entry["file"], ROOT)
        if path in missing:
            missing.remove(path)
            words = shlex.split(entry["command"])
            words = words[:words.index("-o")] + words[words.index("-o") + 2:]
            words = [word for word in words if word not in ("-c", entry["file"])]
            found.append((path, entry["directory"], words))
    if missing:
        sys.exit(f"tidy: no compile command for {', '.join(sorted(missing))}: is it built?")
    return found


def units(found):
    """Lists of sources that may be looked at together, with folder and arguments."""
    alike = {}
    for path, folder, words in found:
        alike.setdefault((str(Path(path).parent), folder, tuple(words)), []).append(path)
    for (_, folder, words), paths in alike.items():
        paths.sort()
        parts = -(-len(paths) // TOGETHER)
        for part in range(parts):
            yield folder, words, paths[part::parts]


def look(build, unit, options):
    """Looks at sources together, or at a single one as it is; what is found in them."""
    number, (folder, words, paths) = unit
    if len(paths) > 1:
        source = build / "tidy" / str(number) / f"{Path(paths[0]).parent.name}.cc"
        source.parent.mkdir(parents=True, exist_ok=True)
        # Copied and not included: clang's analyzer looks only at functions of the main file.
        source.write_text("".join(f'#line 1 "{ROOT / path}"\n{(ROOT / path).read_text()}'
                                  for path in paths))
    else:
        source = ROOT / paths[0]
    run = subprocess.run(["clang-tidy", "--quiet", f"--config-file={ROOT / '.clang-tidy'}",
                          str(source), "--", *words[1:], *options],
                         cwd=folder, capture_output=True, text=True)
    if run.returncode == 0:
        return ""
    return run.stdout or run.stderr or f"clang-tidy ended with status {run.returncode}\n"


def main():
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--thorough"]):
        sys.exit("usage: tools/tidy.py BUILD_FOLDER [--thorough]")
    build = Path(sys.argv[1]).resolve()
    options = [] if sys.argv[2:] else SHORT_PATHS
    found = sources(build)
    findings = []
    looks = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ahead = list(units(found))
        while ahead:
            # The largest first: so that the cores end together.
            ahead.sort(key=lambda unit: -sum((ROOT / path).stat().st_size for path in unit[2]))
            said = pool.map(lambda unit: look(build, unit, options), enumerate(ahead, looks))
            failed = [(unit, finding) for unit, finding in zip(ahead, said) if finding]
            looks += len(ahead)
            findings += [finding for (_, _, paths), finding in failed if len(paths) == 1]
            ahead = [(folder, words, half) for (folder, words, paths), _ in failed if len(paths) > 1
                     for half in (paths[:len(paths) // 2], paths[len(paths) // 2:])]
    print("".join(findings), end="")
    print(f"{len(found)} files in {looks} looks")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
