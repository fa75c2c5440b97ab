"""Reads traces (`roost sim --trace`) and figures (`roost sim --json`)."""
import json
import re
import statistics
from dataclasses import dataclass, field
from pathlib import Path


class InputError(Exception):
    """One sentence for the user."""


@dataclass
class Run:
    """What the cores did in one run. Times in milliseconds."""

    title: str
    cores: int = 0
    slices: list[tuple[int, str, float, float]] = field(default_factory=list)  # core, process, from, to

    @property
    def end(self) -> float:
        return max((end for *_, end in self.slices), default=0.0)

    def processes(self) -> list[str]:
        return sorted({process for _, process, *_ in self.slices}, key=_natural)


def _natural(text):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def _load(path):
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is no JSON of roost sim ({error})") from error


def read_trace(path) -> list[Run]:
    """The runs of a trace, in the order in which they were made."""
    document = _load(path)
    if not isinstance(document, dict) or "traceEvents" not in document:
        raise InputError(f"{path}: is no trace; roost sim SCENARIO --trace FILE writes one")
    runs: dict[int, Run] = {}
    for event in document["traceEvents"]:
        run = runs.setdefault(event["pid"], Run(""))
        if event["name"] == "process_name":
            run.title = event["args"]["name"]
        elif event["name"] == "thread_name":
            run.cores += 1
        elif event["ph"] == "X":  # times in microseconds; rows of cores begin at 1
            process = " ".join(event["name"].split()[:2])
            begin = event["ts"] / 1000
            run.slices.append((event["tid"] - 1, process, begin, begin + event["dur"] / 1000))
    return list(runs.values())


@dataclass
class Comparison:
    """The figures of one scenario; times in ns, by policy in the order in which they were run."""

    name: str
    times: dict[str, list[float]]

    def speedups(self) -> dict[str, tuple[float, float, float]]:
        """By policy: how many times as fast as the first it is by the medians, with its slowest and
        with its fastest run."""
        base = statistics.median(next(iter(self.times.values())))
        return {policy: (base / statistics.median(times), base / max(times), base / min(times))
                for policy, times in self.times.items()}


def read_comparison(path) -> Comparison:
    document = _load(path)
    if not isinstance(document, dict) or "runs" not in document:
        raise InputError(f"{path}: has no runs; roost sim SCENARIO --json FILE writes them")
    times: dict[str, list[float]] = {}
    for run in document["runs"]:
        if not run["finished"]:
            raise InputError(f"{path}: {run['policy']}, seed {run['seed']}, {run['trouble']}")
        times.setdefault(run["policy"], []).append(run["time_ns"])
    return Comparison(f"{document['scenario']}\n{document['machine']}", times)
