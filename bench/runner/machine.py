"""What the figures were measured on, and whether something else was running there."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def cores() -> int:
    return len(os.sched_getaffinity(0))


def first_core() -> int:
    return min(os.sched_getaffinity(0))


def load() -> float:
    """Threads that run or want to, over the last minute."""
    return float(Path("/proc/loadavg").read_text().split()[0])


def executable(program: str) -> bool:
    return os.access(program, os.X_OK)


def busy_warning() -> str | None:
    """A sentence when other work would spoil the figures."""
    if load() < 0.5 * cores():
        return None
    return f"The machine is busy (load {load():.1f} on {cores()} cores): the figures will suffer."


def describe() -> dict[str, str]:
    return {
        "processor": _field("/proc/cpuinfo", "model name", ":") or platform.machine(),
        "cores": str(cores()),
        "virtual machine": "yes" if " hypervisor " in _flags() else "no",
        "memory": f"{_memory_gib():.0f} GiB",
        "kernel": platform.release(),
        "system": _field("/etc/os-release", "PRETTY_NAME", "=").strip('"'),
        "glibc": platform.libc_ver()[1],
    }


def _field(path: str, name: str, separator: str) -> str:
    try:
        for line in Path(path).read_text().splitlines():
            key, _, value = line.partition(separator)
            if key.strip() == name:
                return value.strip()
    except OSError:
        pass
    return ""


def _flags() -> str:
    return f' {_field("/proc/cpuinfo", "flags", ":")} '


def _memory_gib() -> float:
    return int(_field("/proc/meminfo", "MemTotal", ":").split()[0]) / 2**20
