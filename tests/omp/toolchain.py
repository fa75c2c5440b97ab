"""The compilers of the OpenMP tests, and how a test is built with one of them."""

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
FLAGS = ["-O2", "-g", "-fopenmp", "-pthread", "-Wall", "-Wno-unknown-pragmas"]
LANGUAGE = {".c": ["-std=gnu11", "-D_GNU_SOURCE"], ".cc": ["-std=c++17"], ".f90": []}
# What OpenMP programs ask of their runtime.
ENTRY_POINT = re.compile(r"^(GOMP_|GOACC_|__kmpc_|__kmp_|kmpc_|omp_|ompc_|kmp_)")


class BuildError(Exception):
    """A test cannot be built; says what the compiler said."""


class TooOld(Exception):
    """A newer clang calls what the LLVM runtime that is installed does not have."""


def is_too_old(error: BuildError) -> bool:
    """Whether that is why the linker gave up."""
    return re.search("undefined reference to `__kmpc", str(error)) is not None


@dataclass(frozen=True)
class Compiler:
    name: str  # as in `// compilers:`, or with the version
    family: str  # gcc or clang
    commands: dict[str, str]  # the driver for each suffix
    extra: tuple[str, ...] = ()  # where LLVM's omp.h and libomp are

    def builds(self, source: Path) -> bool:
        return source.suffix in self.commands

    def command(self, source: Path) -> list[str]:
        return [self.commands[source.suffix], *LANGUAGE[source.suffix], *FLAGS, *self.extra]


def find_compilers(work: Path) -> list[Compiler]:
    """gcc, and clang in every version that is installed; the newest first among these."""
    found = []
    gcc = {suffix: name for suffix, name in ((".c", "gcc"), (".cc", "g++"), (".f90", "gfortran"))
           if shutil.which(name)}
    if ".c" in gcc:
        found.append(Compiler("gcc", "gcc", gcc))
    versions = {}
    for suffix in ("", *(f"-{number}" for number in range(24, 13, -1))):
        if shutil.which("clang" + suffix):
            versions.setdefault(clang_version("clang" + suffix), suffix)
    runtime = llvm_runtime(work)
    for version in sorted(versions, reverse=True):
        suffix = versions[version]
        commands = {".c": "clang" + suffix}
        if shutil.which("clang++" + suffix):
            commands[".cc"] = "clang++" + suffix
        compiler = Compiler(f"clang-{version}", "clang", commands, runtime)
        if runtime:
            found.append(compiler)
    return found


def clang_version(command: str) -> int:
    printed = subprocess.run([command, "-dumpversion"], capture_output=True, text=True).stdout
    return int(printed.split(".")[0])


def llvm_runtime(work: Path) -> tuple[str, ...]:
    """Flags that find omp.h and libomp of some LLVM: not every release of clang has its own."""
    headers = sorted(Path("/usr/lib").glob("llvm-*/lib/clang/*/include/omp.h"))
    libraries = sorted(Path("/usr/lib").glob("llvm-*/lib/libomp.so"))
    if not headers or not libraries:
        return ()
    folder = work / "include"
    show_alone(headers[-1], folder)
    place = libraries[-1].parent
    # llvm's own folder holds other libraries, too, so it goes to the linker alone.
    return (f"-idirafter{folder}", f"-L{place}", f"-Wl,-rpath,{place}")


def llvm_headers(names: list[str], work: Path) -> list[str] | None:
    """Flags that find headers which LLVM's runtime brings for any compiler; None: it is not here."""
    folder = work / "headers"
    for name in names:
        found = sorted(Path("/usr/lib").glob(f"llvm-*/lib/clang/*/include/{name}"))
        if not found:
            return None
        show_alone(found[-1], folder)
    return [f"-idirafter{folder}"] if names else []


def show_alone(header: Path, folder: Path) -> None:
    """Puts a link to the header into the folder: what is beside it belongs to one compiler."""
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / header.name
    if not link.is_symlink() or Path(os.readlink(link)) != header:
        link.unlink(missing_ok=True)
        link.symlink_to(header)


def compile_cached(command: list[str], sources: list[Path], output: Path) -> Path:
    """Runs `command -o output` unless that was done with the same command and the same sources."""
    key = hashlib.sha256("\0".join(command).encode())
    for source in [*sources, *sorted(HERE.glob("**/*.h"))]:
        key.update(source.read_bytes())
    stamp = output.with_name(output.name + ".key")
    if output.exists() and stamp.exists() and stamp.read_text() == key.hexdigest():
        return output
    output.parent.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    done = subprocess.run([*command, "-o", str(output)], capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise BuildError("\n".join(["cannot be built: " + " ".join(command), *said[-12:]]))
    stamp.write_text(key.hexdigest())
    return output


class Builder:
    """Builds tests into one folder, each with the parts it names in its first lines."""

    def __init__(self, work: Path, compilers: list[Compiler], ours: Path | None):
        self._work = work
        self._compilers = compilers
        self._ours = ours  # libroost_omp.so, for what an older libomp lacks

    def build(self, program, compiler: Compiler) -> tuple[Path, list[Path]]:
        """The program, and the shared objects that it gets as arguments."""
        folder = self._work / compiler.name
        parts, sources, arguments = [], [program.source], []
        for path, whose in program.objects:
            parts.append(str(self._part(path, self._choose(compiler, whose), program, [])))
            sources.append(Path(parts[-1]))
            if compiler.family == "gcc" and self._choose(compiler, whose).family == "clang":
                parts += [*self._choose(compiler, whose).extra, "-lomp"]
        for path, whose, linked in program.libraries:
            library = self._part(path, self._choose(compiler, whose), program, ["-shared"])
            if linked:
                parts += [str(library), f"-Wl,-rpath,{library.parent}"]
                sources.append(library)
            else:
                arguments.append(library)
        fortran = [f"-J{folder}"] if program.source.suffix == ".f90" else []
        folder.mkdir(parents=True, exist_ok=True)
        headers = llvm_headers(program.headers, self._work)
        # Before the compiler's own folders.
        linked = self._linked() if program.ours == ["linked"] else []
        driver, *usual = compiler.command(program.source)
        command = [driver, *linked, *usual, *fortran, f"-I{HERE}", *(headers or []),
                   str(program.source), *parts, *program.flags, "-ldl", "-lm"]
        output = folder / program.name
        try:
            return compile_cached(command, sources, output), arguments
        except BuildError as error:
            if compiler.family == "gcc" or not is_too_old(error):
                raise
            if not self._ours:
                raise TooOld from error
        ours = [str(self._ours), f"-Wl,-rpath,{self._ours.parent}"]
        return compile_cached([*command, *ours], sources, output), arguments

    def _linked(self) -> list[str]:
        folder = self._ours.parent
        return [f"-L{folder}/roost/omp/link", f"-Wl,-rpath,{folder}"]

    def _part(self, path: Path, compiler: Compiler, program, how: list[str]) -> Path:
        """An object, or with -shared a shared object."""
        ending = ".so" if how else ".o"
        output = self._work / compiler.name / "parts" / f"{program.name}-{path.stem}{ending}"
        command = [*compiler.command(path), "-fPIC", *(how or ["-c"]), f"-I{HERE}",
                   *(llvm_headers(program.headers, self._work) or []), str(path)]
        return compile_cached(command, [path], output)

    def _choose(self, compiler: Compiler, whose: str) -> Compiler:
        if whose == "same":
            return compiler
        for other in self._compilers:
            if other.family != compiler.family:
                return other
        raise BuildError("needs a compiler of the other family")


def symbols(path: Path, which: str) -> set[str]:
    """Names in the dynamic table: `which` is --undefined-only or --defined-only."""
    lines = subprocess.run(["nm", "-D", which, str(path)], capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in lines.splitlines() if line.strip()}


def entry_points_used(path: Path) -> set[str]:
    return {name for name in symbols(path, "--undefined-only") if ENTRY_POINT.match(name)}
