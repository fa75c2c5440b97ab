"""The nested cases as one table: a line for each side of each composition, a column for each shape."""

from __future__ import annotations

from . import render

OUTER = {"libgomp": "gcc's OpenMP tasks", "libomp": "clang's OpenMP tasks", "tbb": "oneTBB",
         "threads": "std::thread", "python": "Python's executor"}
INNER = {"": "OpenBLAS pthread", "openblas-pthread": "OpenBLAS pthread",
         "openblas-openmp": "OpenBLAS openmp", "blis-pthread": "BLIS pthread",
         "blis-openmp": "BLIS openmp"}
SIDES = {"linux": "Linux", "roost": "Roost", "bound": "bound"}


def check(measured: dict) -> None:
    """Raises KeyError or TypeError if these are no samples of nested cases."""
    for case in measured["cases"]:
        for samples in case["variants"].values():
            samples["median"], samples["samples"], samples["timed_out"]


def table(measured: list[dict]) -> list[str]:
    """Lines of Markdown; sides that were not measured have none."""
    cells = _cells(measured)
    shapes = sorted({shape for _, _, _, shape in cells}, key=lambda shape: int(shape.split("x")[0]))
    lines = ["| | outer | inner | ideal | |" + "".join(f" {shape} |" for shape in shapes),
             "|---|---|---|---:|---|" + "---:|" * len(shapes)]
    for key in dict.fromkeys(cell[:3] for cell in sorted(cells, key=_order)):
        row = {shape: cells[*key, shape] for shape in shapes if (*key, shape) in cells}
        head = f"{key[0]} | {OUTER[key[1]]} | {INNER[key[2]]} | {_ideal(row)}"
        for side in SIDES:
            if any(side in variants for variants in row.values()):
                body = "".join(f" {_cell(row.get(shape, {}), side)} |" for shape in shapes)
                lines.append(f"| {head} | {SIDES[side]} |{body}")
                head = "| | |"
    return lines


def _cells(measured: list[dict]) -> dict[tuple[str, str, str, str], dict]:
    """Variants by problem, outer runtime, inner library and shape."""
    cells, rounds = {}, {}
    for run in measured:
        for case in run["cases"]:
            problem, _, rest = case["case"].partition("/")
            composed, _, shape = rest.partition("/")
            outer, _, inner = composed.partition("-")
            if outer not in OUTER or inner not in INNER or shape.partition("x")[0] != shape.partition("x")[2]:
                continue
            key = (problem, outer, inner, shape)
            for side, samples in case["variants"].items():
                if run["rounds"] >= rounds.get((key, side), 0):
                    cells.setdefault(key, {})[side] = samples
                    rounds[key, side] = run["rounds"]
    return cells


def _order(key: tuple[str, str, str, str]) -> tuple:
    problem, outer, inner, _ = key
    return (problem != "matmul", list(INNER).index(inner), list(OUTER).index(outer))


def _ideal(row: dict[str, dict]) -> str:
    medians = [variants["ideal"]["median"] for variants in row.values() if variants["ideal"]["median"]]
    low, high = round(min(medians)), round(max(medians))
    return f"{low}" if low == high else f"{low} to {high}"


def _cell(variants: dict, side: str) -> str:
    found = variants.get(side)
    if not found:
        return ""
    if found["timed_out"]:
        return "no end"
    if not found["median"]:
        return "failed"
    text = render.number(found["median"])
    if side == "roost" and (ideal := variants["ideal"]["median"]):
        text += f" ({found['median'] / ideal:.2f})"
    return text
