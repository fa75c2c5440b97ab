"""What is measured: cases, their variants, samples, and what the samples amount to."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field, replace

IDEAL, LINUX, ROOST, BOUND = "ideal", "linux", "roost", "bound"
ADAPT = "adapt"  # Roost with --blas adapt

# Roost counts as slower than Linux below this ratio of medians.
LOSS = 0.98


@dataclass(frozen=True)
class Variant:
    """One way to run a case: a command and what to add to the environment."""

    name: str
    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    scale: float = 1.0  # the program's value is multiplied by this
    rounds: int | None = None  # run in so many rounds only; None: in all


@dataclass(frozen=True)
class Target:
    """What the project asks of a case. Ratios are of speed: above 1, Roost is faster."""

    over: str  # LINUX or IDEAL
    at_least: float | None = None
    added_ns_at_most: float | None = None  # for costs in ns, instead of a ratio
    of: str = ROOST

    def text(self) -> str:
        if self.added_ns_at_most is not None:
            return f"at most {self.added_ns_at_most:g} ns over {NAMES[self.over]}"
        how = "" if self.of == ROOST else f" with {NAMES[self.of]}"
        return f"at least {self.at_least:.3g} of {NAMES[self.over]}{how}"


NAMES = {IDEAL: "the ideal", LINUX: "Linux", ROOST: "Roost", BOUND: "the bound",
         ADAPT: "--blas adapt"}


@dataclass(frozen=True)
class Aspect:
    """A second figure of the same runs, such as a latency beside the throughput: a row of its own."""

    key: str  # in the JSON line, such as p99_ms
    unit: str
    higher_is_better: bool = False
    target: Target | None = None


@dataclass(frozen=True)
class Agreement:
    """All runs of the cases of a group must compute the same: `checksum` of their JSON lines."""

    group: str
    tolerance: float  # largest relative difference from the group's first run under Linux


@dataclass(frozen=True)
class Case:
    """One row of the table, and one for each further aspect."""

    name: str
    unit: str
    variants: tuple[Variant, ...]
    higher_is_better: bool = True
    target: Target | None = None
    quick: bool = False  # part of the two-minute run
    aspects: tuple[Aspect, ...] = ()
    agreement: Agreement | None = None


@dataclass(frozen=True)
class Sample:
    """One run: a value, or why there is none."""

    value: float | None
    seconds: float
    timed_out: bool = False
    failure: str | None = None
    others: dict[str, float] = field(default_factory=dict)  # all other figures of the JSON line


@dataclass
class Result:
    """All samples of a case, by variant name."""

    case: Case
    samples: dict[str, list[Sample]] = field(default_factory=dict)

    def values(self, variant: str) -> list[float]:
        return [s.value for s in self.samples.get(variant, []) if s.value is not None]

    def median(self, variant: str) -> float | None:
        """The median, or None where a run failed or timed out: half a result is none."""
        values = self.values(variant)
        if not values or len(values) < len(self.samples[variant]):
            return None
        return statistics.median(values)

    def aspects(self) -> list[Result]:
        """A result for each aspect of the case, with the figures of the same runs."""
        return [self._aspect(aspect) for aspect in self.case.aspects]

    def _aspect(self, aspect: Aspect) -> Result:
        case = Case(f"{self.case.name} {aspect.key}", aspect.unit, self.case.variants,
                    aspect.higher_is_better, aspect.target)
        return Result(case, {
            variant: [replace(s, value=None if s.value is None else s.others.get(aspect.key))
                      for s in row] for variant, row in self.samples.items()})

    def timed_out(self, variant: str) -> bool:
        return any(s.timed_out for s in self.samples.get(variant, []))

    def failure(self, variant: str) -> str | None:
        return next((s.failure for s in self.samples.get(variant, []) if s.failure), None)

    def ratio(self, variant: str, over: str) -> float | None:
        """How many times as fast `variant` is as `over`: the median of the rounds' ratios. Runs of a
        round follow each other, and the machine has states that last for longer."""
        if not self.median(variant) or not self.median(over):
            return None
        tops, bottoms = self.values(variant), self.values(over)
        if len(tops) != len(bottoms):
            tops, bottoms = [self.median(variant)], [self.median(over)]
        if not all(tops + bottoms):
            return None
        return statistics.median(top / bottom if self.case.higher_is_better else bottom / top
                                 for top, bottom in zip(tops, bottoms))

    def loses(self) -> bool:
        ratio = self.ratio(ROOST, LINUX)
        return ratio is not None and ratio < LOSS

    def within_spread_of_linux(self) -> bool:
        """Whether Roost's median lies between Linux's slowest and fastest run."""
        roost, values = self.median(ROOST), self.values(LINUX)
        return roost is not None and bool(values) and min(values) <= roost <= max(values)

    def misses_target(self) -> bool:
        """Whether the target is measurably not met; False without a target or without values."""
        target = self.case.target
        if target is None:
            return False
        if target.added_ns_at_most is not None:
            roost, other = self.median(ROOST), self.median(target.over)
            return None not in (roost, other) and roost - other > target.added_ns_at_most
        ratio = self.ratio(target.of, target.over)
        return ratio is not None and ratio < target.at_least
