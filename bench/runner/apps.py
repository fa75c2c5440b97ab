"""The cases of whole applications: PyTorch servers.

Beside ideal, Linux and Roost each has its rivals: what people set today. What needs packages that
the other cases do not is installed by `scripts/setup applications`.
"""

from __future__ import annotations

from pathlib import Path

from . import machine
from .cases import Place, numpy_python
from .model import IDEAL, LINUX, ROOST, Aspect, Case, Target, Variant

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"

TORCH_PROCESSES = (2, 4, 8)
TORCH_THREADS = (2, 4, 8, 28)


def all_cases(place: Place) -> list[Case]:
    return [*_torch(place)]


def _python(script: str, *arguments: str) -> tuple[str, ...]:
    return (numpy_python(), str(PROGRAMS / script), *arguments)


def _seconds(place: Place) -> str:
    return "2" if place.quick else "5"


def _torch(place: Place) -> list[Case]:
    return [_torch_case(place, processes, threads)
            for processes in TORCH_PROCESSES for threads in TORCH_THREADS]


def _torch_case(place: Place, processes: int, threads: int) -> Case:
    """Servers with one client each. The ideal has the same clients, and a server a core."""
    def servers(copies: int, *prefix: str, clients: int = 1) -> tuple[str, ...]:
        return _python("closed_loop.py", str(copies), _seconds(place), "--", *prefix,
                       *_python("torch_inference.py", "--clients", str(clients)))

    cores = min(machine.cores(), processes)
    width = {"OMP_NUM_THREADS": str(threads)}
    one = {"OMP_NUM_THREADS": "1"}
    same = servers(processes)
    return Case(f"torch/{processes}x{threads}", "requests/s", (
        Variant(IDEAL, servers(cores, clients=processes // cores), one),
        Variant(LINUX, same, width),
        Variant("OMP_WAIT_POLICY=passive", same, width | {"OMP_WAIT_POLICY": "passive"}),
        Variant("OMP_NUM_THREADS=1", same, one),
        Variant(ROOST, servers(processes, *place.under_roost()), width),
    ), target=Target(over=IDEAL, at_least=0.93),
        aspects=(Aspect("p99_ms", "ms", target=Target(over=IDEAL, at_least=1 / 1.25)),))
