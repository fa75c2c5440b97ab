"""Results as a table for the terminal or Markdown, as closing words, and as JSON."""

from __future__ import annotations

from .model import ADAPT, BOUND, IDEAL, LINUX, ROOST, Result

HEAD = ("case", "unit", "ideal", "Linux", "Roost", "adapt", "Roost/Linux", "Roost/ideal",
        "Roost/bound", "adapt/ideal", "Linux min..max", "Roost min..max")

SHORT_NAMES = {LINUX: "Linux", ROOST: "Roost", ADAPT: "Roost --blas adapt"}


def rows(results: list[Result], limit_seconds: float) -> list[tuple[str, ...]]:
    return [_row(result, limit_seconds) for result in results]


def _row(result: Result, limit: float) -> tuple[str, ...]:
    medians = (cell(result, v, limit) for v in (IDEAL, LINUX, ROOST, ADAPT))
    return (result.case.name, result.case.unit, *medians,
            ratio(result.ratio(ROOST, LINUX)), ratio(result.ratio(ROOST, IDEAL)),
            ratio(result.ratio(ROOST, BOUND)), ratio(result.ratio(ADAPT, IDEAL)), _spread(result, LINUX), _spread(result, ROOST))


def rival_table(results: list[Result], limit: float) -> tuple[tuple[str, ...], list]:
    """Head and rows of a table with a column for each variant."""
    names = [variant.name for variant in results[0].case.variants]
    titles = tuple(SHORT_NAMES.get(name, name) for name in names)
    body = [(r.case.name, *(cell(r, name, limit) for name in names)) for r in results]
    return ("case", *titles), body


def variants_table(results: list[Result], limit: float) -> tuple[tuple[str, ...], list]:
    """Head and rows of a table with a column for each variant of any case, ratios and spreads."""
    names = list(dict.fromkeys(v.name for r in results for v in r.case.variants if v.name != ROOST))
    names.append(ROOST)
    head = ("case", "unit", *(SHORT_NAMES.get(name, name) for name in names), "Roost/Linux",
            "Roost/ideal", "Linux min..max", "Roost min..max")
    body = [(r.case.name, r.case.unit, *(cell(r, name, limit) for name in names),
             ratio(r.ratio(ROOST, LINUX)), ratio(r.ratio(ROOST, IDEAL)), _spread(r, LINUX),
             _spread(r, ROOST)) for r in results]
    return head, body


def cell(result: Result, variant: str, limit: float) -> str:
    if result.timed_out(variant):
        return f">{limit:g} s"
    if result.failure(variant):
        return "failed"
    median = result.median(variant)
    return "-" if median is None else number(median)


def number(value: float) -> str:
    """Three significant digits or one more, in a few characters."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= 10 * size:
            return f"{value / size:.{1 if value < 100 * size else 0}f}{letter}"
    if value >= 1000:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _spread(result: Result, variant: str) -> str:
    values = result.values(variant)
    return f"{number(min(values))}..{number(max(values))}" if values else "-"


def text(head: tuple[str, ...], body: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]

    def line(row: tuple[str, ...]) -> str:
        cells = [cell.ljust(w) if i == 0 else cell.rjust(w)
                 for i, (cell, w) in enumerate(zip(row, widths))]
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), "  ".join("-" * w for w in widths), *map(line, body)])


def markdown(head: tuple[str, ...], body: list[tuple[str, ...]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


LEGEND = """\
Medians; ratios are of speed, above 1.00 Roost is faster. ideal: the same work under Linux without
oversubscription. adapt: roost run --blas adapt, which gives BLAS calls side by side fewer threads
than the program asks for (sums may differ in their last bits). bound: what OpenBLAS reaches at this inner width with one outer thread on one
core, times the cores; finer cutting costs it time that no scheduler gives back. switch/*: Linux is
a raw futex ping-pong of two threads on one core, whatever Roost uses."""


def closing_words(results: list[Result]) -> str:
    """Names the cases that failed, that Roost loses to Linux, and that miss their target."""
    sentences = []
    for result in results:
        for variant in result.samples:
            if result.failure(variant):
                sentences.append(f"{result.case.name} ({variant}) failed: "
                                 f"{result.failure(variant)}.")
    slow = [r.case.name for r in results if r.timed_out(ROOST) or r.timed_out(ADAPT)]
    if slow:
        sentences.append(f"Under Roost these did not end in time: {', '.join(slow)}.")
    for within, words in ((False, "Roost loses to Linux in"),
                          (True, "Slower than Linux, but within its spread:")):
        lost = [f"{r.case.name} ({r.ratio(ROOST, LINUX):.2f})"
                for r in results if r.loses() and r.within_spread_of_linux() == within]
        if lost:
            sentences.append(f"{words} {', '.join(lost)}.")
    sentences += _missed_targets(results)
    if not sentences:
        measured = [r for r in results if r.ratio(ROOST, LINUX) is not None]
        return (f"Roost loses no case to Linux and meets every target ({len(measured)} cases)."
                if measured else "Nothing was compared.")
    return " ".join(sentences)


def _missed_targets(results: list[Result]) -> list[str]:
    """A sentence for each target that some cases miss."""
    by_target: dict[str, list[str]] = {}
    for r in results:
        if r.case.target and (r.misses_target() or r.timed_out(r.case.target.of)):
            over = r.case.target.over
            reached = r.ratio(r.case.target.of, over)
            if r.case.target.added_ns_at_most is not None:
                shown = f"{r.median(ROOST) - r.median(over):.1f} ns"
            else:
                shown = "too slow" if reached is None else f"{reached:.2f}"
            by_target.setdefault(r.case.target.text(), []).append(f"{r.case.name} ({shown})")
    return [f"Short of the target of {target}: {', '.join(names)}."
            for target, names in by_target.items()]


def as_json(results: list[Result]) -> list[dict]:
    return [_case_as_json(result) for result in results]


def _case_as_json(result: Result) -> dict:
    variants = {}
    for variant in result.case.variants:
        values = result.values(variant.name)
        variants[variant.name] = {
            "command": list(variant.argv),
            "environment": variant.env,
            "median": result.median(variant.name),
            "min": min(values, default=None),
            "max": max(values, default=None),
            "samples": values,
            "timed_out": result.timed_out(variant.name),
            "failure": result.failure(variant.name),
        }
    return {
        "case": result.case.name,
        "unit": result.case.unit,
        "higher_is_better": result.case.higher_is_better,
        "variants": variants,
        "roost_over_linux": result.ratio(ROOST, LINUX),
        "roost_over_ideal": result.ratio(ROOST, IDEAL),
        "roost_over_bound": result.ratio(ROOST, BOUND),
        "adapt_over_ideal": result.ratio(ADAPT, IDEAL),
        "target": result.case.target.text() if result.case.target else None,
        "misses_target": result.misses_target(),
        "loses_to_linux": result.loses(),
        "within_spread_of_linux": result.within_spread_of_linux(),
    }
