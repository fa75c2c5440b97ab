#!/usr/bin/env python3
"""Checks the repository itself: what no compiler tells, one function a rule.

usage: tools/repo_check.py BUILD_FOLDER

Each rule prints its name and what breaks it; the last line is `N passed, N failed`.
"""
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 600

# The folders of src/ and what each may include besides itself (ARCHITECTURE.md, the picture).
STACK = ["base", "os", "trace", "spin", "blas", "topo", "segment", "policy", "sched", "preload"]
MAY_INCLUDE = {folder: set(STACK[:rank]) for rank, folder in enumerate(STACK)}
BELOW_PRELOAD = set(STACK[:-1])
# The OpenMP runtime: a library of its own, above the vocabulary alone (and the trace's, event.h).
MAY_INCLUDE["ult"] = {"base", "spin"}
MAY_INCLUDE["omp"] = {"base", "ult", "trace"}
MAY_INCLUDE["sim"] = BELOW_PRELOAD
MAY_INCLUDE["cli"] = BELOW_PRELOAD | {"sim"}

# Guest code may not use what throws, allocates from the host's heap, or calls into libstdc++.
FORBIDDEN_IN_GUEST = {
    r"\bstd::(jthread|thread|(recursive_|shared_|timed_)*mutex|condition_variable\w*|call_once"
    r"|once_flag|lock_guard|unique_lock|scoped_lock|shared_lock)\b": "threads of the C++ library",
    r"#\s*include\s*<(iostream|fstream|sstream|ostream|istream|iomanip)>": "iostream",
    r"#\s*include\s*<(string|vector|map|set|list|deque|unordered_map|unordered_set|functional"
    r"|memory|thread|mutex|shared_mutex|condition_variable|future|regex|filesystem)>":
        "a header of the C++ library that allocates or locks",
    r"\bthrow\b": "exceptions",
    r"\b(try|catch)\s*[({]": "exceptions",
    r"\b(dynamic_cast|typeid)\b": "run-time type information",
    r"(?<!<)\bnew\b(?!\s*\()": "the heap (placement new is fine)",
    r"(?<!= )(?<!=)\bdelete\b": "the heap",
    r"(?<![\w.>:])(malloc|calloc|realloc|strdup|asprintf)\s*\(": "the heap",
}

# All that policies may call. The stack's guard is a default of some distributions' compilers.
POLICY_IMPORTS = {"strcmp", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}

LIBC = {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

# The formatter's output changes between releases, so one release is the reference.
CLANG_FORMAT_RELEASE = "14"


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def repository_files():
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard").stdout.split("\n")
    return sorted(Path(name) for name in listed if name and (ROOT / name).is_file())


FILES = repository_files()


def text(path):
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


def is_source(path):
    return path.suffix in {".cc", ".h", ".c", ".S"}


def is_guest(path):
    return (path.parts[0] == "src" and len(path.parts) > 2 and path.parts[1] in [*STACK, "ult", "omp"]
            and is_source(path) and not path.stem.endswith(("_test", "_host")))


def is_shell(path):
    return path.suffix == ".sh" or text(path).startswith(("#!/usr/bin/env bash", "#!/bin/bash",
                                                          "#!/bin/sh"))


def quoted_includes(path):
    for number, line in enumerate(text(path).split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        if match:
            yield number, match.group(1)


def without_comments_and_strings(source):
    """The code alone, with its line numbers kept."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, lambda match: "\n" * match.group().count("\n"), source, flags=re.DOTALL)


def layering(_):
    """A file includes only from its own folder and those below."""
    for path in FILES:
        if path.parts[0] != "src" or not is_source(path) or len(path.parts) < 3:
            continue
        folder = path.parts[1]
        if folder not in MAY_INCLUDE:
            yield f"{path}: folder src/{folder} has no place in the order of {Path(__file__).name}"
            continue
        for number, name in quoted_includes(path):
            target = name.split("/")[0]
            if target in MAY_INCLUDE and target != folder and target not in MAY_INCLUDE[folder]:
                yield f"{path}:{number}: {folder} may not include {name}"
            elif "/" not in name:
                yield f'{path}:{number}: write "{folder}/{name}", paths start at src/'


def included_once(_):
    """A file includes another once."""
    for path in filter(is_source, FILES):
        if path.parts[0] not in ("src", "include"):
            continue
        names = [name for _, name in quoted_includes(path)]
        names += re.findall(r"^#include <([^>]+)>", text(path), re.MULTILINE)
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"{path}: includes {name} twice"


def headers_used(_):
    """Every header under src/ is included by somebody."""
    included = {name for path in FILES if is_source(path) for _, name in quoted_includes(path)}
    for path in FILES:
        if path.parts[0] == "src" and path.suffix == ".h":
            if str(path.relative_to("src")) not in included:
                yield f"{path}: nobody includes it"


def guest_dialect(_):
    """Guest sources keep to their dialect: no exceptions, RTTI, heap or C++ threads."""
    for path in filter(is_guest, FILES):
        code = without_comments_and_strings(text(path))
        for pattern, what in FORBIDDEN_IN_GUEST.items():
            for match in re.finditer(pattern, code):
                line = code.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: {match.group().strip()!r}: guest code may not use {what}"


# Libraries loaded into programs, each with the list of what it may import.
GUEST_LIBRARIES = {"libroost.so": "guest_imports.allow", "libroost_omp.so": "omp_imports.allow"}


def guest_needs_libc_alone(build):
    """The guest libraries need libc and nothing else."""
    for name in GUEST_LIBRARIES:
        library = ROOT / build / "lib" / name
        if not library.exists():
            yield f"{library} was not built"
            continue
        for needed in re.findall(r"\(NEEDED\).*\[(.*)\]",
                                 run("readelf", "-d", str(library)).stdout):
            if needed not in LIBC:
                yield f"{name} needs {needed}"


def guest_imports(build):
    """The guest libraries import only the symbols of their lists in tools/."""
    for name, list_name in GUEST_LIBRARIES.items():
        library = ROOT / build / "lib" / name
        if library.exists():
            lines = (ROOT / "tools" / list_name).read_text().split("\n")
            yield from unexpected_imports(library, {line.split("#")[0].strip() for line in lines},
                                          list_name)
        else:
            yield f"{library} was not built"


def no_dynamic_initialisers(build):
    """The guest libraries' data is complete when they are loaded."""
    for name in GUEST_LIBRARIES:
        for line in run("nm", str(ROOT / build / "lib" / name)).stdout.split("\n"):
            if "_GLOBAL__sub_I_" in line:
                yield (f"{name}: {line.split('_GLOBAL__sub_I_')[1]} initialises data when it is loaded; "
                       "declare it constinit")


def unexpected_imports(library, allowed, list_name):
    for line in run("nm", "-D", "--undefined-only", str(library)).stdout.split("\n"):
        if line:
            kind, symbol = line.split()[-2:]
            symbol = symbol.split("@")[0]
            # Fortified and C23 forms of a function, by the distribution's compiler flags.
            if symbol not in allowed:
                symbol = re.sub(r"^__(\w+)_chk$|^__isoc23_(\w+)$", r"\1\2", symbol)
            # Weak ones are optional: the compiler's start files ask for some.
            if symbol not in allowed and kind != "w":
                yield f"{library.name}: unexpected import {symbol} (see tools/{list_name})"


def policies_are_one_object(build):
    """Policies include nothing of the OS and compile once, for runtime and simulator alike."""
    for path in FILES:
        if path.parts[:2] == ("src", "policy") and is_source(path):
            for number, name in quoted_includes(path):
                if name.split("/")[0] not in {"base", "segment", "policy"}:
                    yield f"{path}:{number}: a policy may not include {name}"
    database = ROOT / build / "compile_commands.json"
    if not database.exists():
        yield f"{database} is missing"
        return
    compiled = json.loads(database.read_text())
    for path in FILES:
        if path.parts[:2] != ("src", "policy") or path.suffix != ".cc" or path.stem.endswith("_test"):
            continue
        objects = [Path(entry["directory"]) / re.search(r" -o (\S+)", entry["command"]).group(1)
                   for entry in compiled if Path(entry["file"]) == ROOT / path]
        if len(objects) != 1:
            yield f"{path}: compiled {len(objects)} times"
            continue
        if not objects[0].exists():
            yield f"{objects[0]} was not built"
            continue
        for line in run("nm", "-u", "-C", str(objects[0])).stdout.split("\n"):
            symbol = line.split(None, 1)[1] if line.strip() else ""
            if symbol and symbol not in POLICY_IMPORTS and not symbol.startswith("roost::"):
                yield f"{path}: imports {symbol}"
        users = (ROOT / build / "build.ninja")
        if users.exists():
            name = str(objects[0].relative_to(ROOT / build))
            links = [line for line in users.read_text().split("\n")
                     if line.startswith("build ") and f" {name}" in line and "_LINKER" in line]
            if len(links) != 2:
                yield f"{name}: not linked into both libroost.so and the host's library"


def file_sizes(_):
    """No file grows out of hand."""
    for path in FILES:
        if is_source(path) or path.suffix in {".py", ".cmake"} or is_shell(path):
            lines = text(path).count("\n")
            if lines > MAX_LINES:
                yield f"{path}: {lines} lines, more than {MAX_LINES}; split it by what it does"


def purpose(_):
    """A file starts with a sentence that says what it is for."""
    comment = re.compile(r'\s*(//|/\*|#(?!\s*(include|pragma|if|define)\b)|"""|\'\'\'|\.\\")\s*\S')
    for path in FILES:
        named = path.name == "CMakeLists.txt" or path.suffix in {".py", ".cmake"}
        if not (is_source(path) or named or is_shell(path)):
            continue
        lines = text(path).split("\n")
        if lines[0].startswith("#!"):
            lines = lines[1:]
        if not lines or not comment.match(lines[0]):
            yield f"{path}: the first line is not a comment that says what the file is for"


def python_parses(_):
    """Python files parse."""
    for path in FILES:
        if path.suffix == ".py":
            try:
                compile(text(path), str(path), "exec")
            except SyntaxError as error:
                yield f"{path}:{error.lineno}: {error.msg}"


def shell_lint(_):
    """shellcheck has nothing to say."""
    if not shutil.which("shellcheck"):
        print("     no shellcheck here: not looked at")
        return
    scripts = [str(path) for path in FILES if is_shell(path)]
    if scripts:
        yield from run("shellcheck", "-f", "gcc", *scripts).stdout.split("\n")


def clang_format():
    for name in (f"clang-format-{CLANG_FORMAT_RELEASE}", "clang-format"):
        if shutil.which(name) and f"version {CLANG_FORMAT_RELEASE}." in run(name, "--version").stdout:
            return name
    return None


def formatting(_):
    """clang-format would change nothing."""
    formatter = clang_format()
    if not formatter:
        print(f"     no clang-format {CLANG_FORMAT_RELEASE} here: not looked at")
        return
    for path in FILES:
        if path.suffix in {".cc", ".h", ".c"}:
            found = run(formatter, "--dry-run", "-Werror", str(path))
            if found.returncode:
                places = re.findall(r":(\d+):\d+: error", found.stderr)
                yield f"{path}: lines {', '.join(dict.fromkeys(places[:8]))}: run {formatter} -i on it"


RULES = [layering, included_once, headers_used, guest_dialect, guest_needs_libc_alone,
         guest_imports, no_dynamic_initialisers, policies_are_one_object, file_sizes, purpose,
         python_parses, shell_lint, formatting]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tools/repo_check.py BUILD_FOLDER")
    failed = 0
    for rule in RULES:
        problems = [problem for problem in rule(sys.argv[1]) if problem]
        print(f"{'FAIL' if problems else 'ok  '} {rule.__doc__}")
        for problem in problems:
            print(f"     {problem}")
        failed += bool(problems)
    print(f"{len(RULES) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
