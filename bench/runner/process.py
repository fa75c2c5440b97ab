"""One run of one program: time limit, whole process group ended, the JSON line it printed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

from .model import Sample, Variant

# What users set to steer these runtimes. Taken away, so that every variant starts from nothing.
STEERING = ("OMP_", "GOMP_", "KMP_", "OPENBLAS_", "GOTO_", "MKL_", "BLIS_", "TBB_",
            "OMPI_MCA_", "MPICH_", "MPIR_", "UCX_")


def clean_environment(extra: dict[str, str]) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(STEERING)}
    return kept | extra


def run(variant: Variant, limit_seconds: float) -> Sample:
    """Runs the variant's command once. Never raises for what the command does."""
    start = time.monotonic()
    try:
        child = subprocess.Popen(
            variant.argv, env=clean_environment(variant.env), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    except OSError as error:
        return Sample(None, 0.0, failure=f"{variant.argv[0]}: {error.strerror}")
    try:
        output, errors = child.communicate(timeout=limit_seconds)
    except subprocess.TimeoutExpired:
        _end_group(child)
        return Sample(None, limit_seconds, timed_out=True)
    except BaseException:
        _end_group(child)  # Ctrl-C leaves nothing running
        raise
    seconds = time.monotonic() - start
    if child.returncode != 0:
        return Sample(None, seconds, failure=_describe_exit(child.returncode, errors))
    try:
        line = json.loads(output.strip().splitlines()[-1])
        value = float(line["value"])
    except (IndexError, KeyError, ValueError):
        return Sample(None, seconds, failure="printed no result")
    others = {k: v for k, v in line.items() if isinstance(v, (int, float)) and k != "value"}
    return Sample(value * variant.scale, seconds, others=others)


def _end_group(child: subprocess.Popen) -> None:
    """Ends the child and its children: it leads a process group of its own."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.communicate()


def _describe_exit(code: int, errors: str) -> str:
    reason = f"ended by signal {-code}" if code < 0 else f"exit code {code}"
    lines = errors.strip().splitlines()
    return f"{reason}: {lines[-1]}" if lines else reason
