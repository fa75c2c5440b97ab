"""Draws what roost sim found.

python3 -m roost.plot cores TRACE -o FILE         which cores ran which process, over time
python3 -m roost.plot speedups JSON... -o FILE    bars: how many times as fast as the first policy
"""
import argparse
import sys
from pathlib import Path

from roost.results import InputError, read_comparison, read_trace

COLUMNS = 600  # of a picture of cores: finer times do not show


def shares(run, columns):
    """By process: a list of columns, each the cores' shares of that time that it had, by core."""
    width = run.end / columns
    grids = {process: [[0.0] * run.cores for _ in range(columns)] for process in run.processes()}
    for core, process, begin, end in run.slices:
        first, last = int(begin / width), min(int(end / width), columns - 1)
        for column in range(first, last + 1):
            inside = min(end, (column + 1) * width) - max(begin, column * width)
            grids[process][column][core] += max(0.0, inside) / width
    return grids


def draw_cores(pyplot, runs):
    """A column of pictures a run: cores over time by process (as NEST Fig. 2), and below how many
    cores each process had (as NuPoCo Fig. 13)."""
    figure, axes = pyplot.subplots(2, len(runs), squeeze=False, sharex=True, layout="constrained",
                                   figsize=(1 + 4 * len(runs), 5), height_ratios=(2, 1))
    end = max(run.end for run in runs)
    names = sorted({process for run in runs for process in run.processes()})
    colors = {name: pyplot.get_cmap("tab10")(i % 10) for i, name in enumerate(names)}
    for (cores, counts), run in zip(axes.T, runs):
        grids = shares(run, COLUMNS)
        picture = [[(1.0, 1.0, 1.0, 0.0)] * COLUMNS for _ in range(run.cores)]
        for column in range(COLUMNS):
            for core in range(run.cores):
                share, process = max((grid[column][core], name) for name, grid in grids.items())
                if share > 0:
                    picture[core][column] = (*colors[process][:3], 0.3 + 0.7 * min(1.0, share))
        cores.imshow(picture, aspect="auto", interpolation="nearest", origin="lower",
                     extent=(0, run.end, -0.5, run.cores - 0.5))
        times = [(column + 0.5) * run.end / COLUMNS for column in range(COLUMNS)]
        counts.stackplot(times, *([sum(column) for column in grid] for grid in grids.values()),
                         colors=[colors[name] for name in grids], labels=list(grids))
        cores.set(title=run.title, ylabel="core")
        counts.set(xlabel="time, ms", ylabel="cores in use", xlim=(0, end), ylim=(0, None))
    if len(names) > 1:
        axes[1][0].legend(fontsize="small", loc="lower left")
    return figure


def draw_speedups(pyplot, comparisons):
    """Groups of bars, one a scenario; the whiskers reach from the slowest to the fastest run."""
    policies = list(dict.fromkeys(policy for it in comparisons for policy in it.times))
    figure, axes = pyplot.subplots(layout="constrained",
                                   figsize=(2 + 0.4 * len(policies) * len(comparisons), 3.5))
    width = 0.8 / len(policies)
    for place, policy in enumerate(policies):
        found = [(i, it.speedups()[policy]) for i, it in enumerate(comparisons) if policy in it.times]
        at = [i + (place - (len(policies) - 1) / 2) * width for i, _ in found]
        middles = [middle for _, (middle, *_) in found]
        whiskers = [[middle - low for _, (middle, low, _) in found],
                    [high - middle for _, (middle, _, high) in found]]
        axes.bar(at, middles, width, yerr=whiskers, capsize=2, label=policy)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(ylabel=f"speed-up over {policies[0]}",
             xticks=range(len(comparisons)), xticklabels=[it.name for it in comparisons])
    axes.legend(fontsize="small")
    return figure


def load_pyplot():
    try:
        import matplotlib
    except ImportError as error:
        raise InputError("matplotlib is missing; install python3-matplotlib") from error
    matplotlib.use("agg")
    # The same picture is the same file, and a small one.
    matplotlib.rcParams.update({"svg.hashsalt": "roost", "svg.fonttype": "none"})
    from matplotlib import pyplot
    return pyplot


def save(figure, path):
    try:
        figure.savefig(path, **({"metadata": {"Date": None}} if Path(path).suffix == ".svg" else {}))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise InputError(message)


def main(words):
    parser = Parser(prog="roost.plot", description=__doc__,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", metavar="cores or speedups", required=True,
                                  parser_class=Parser)
    cores = verbs.add_parser("cores")
    cores.add_argument("trace")
    speedups = verbs.add_parser("speedups")
    speedups.add_argument("json", nargs="+")
    for verb in (cores, speedups):
        verb.add_argument("-o", "--output", required=True)
    try:
        options = parser.parse_args(words)
        if options.verb == "cores":
            runs = read_trace(options.trace)
            if not any(run.slices for run in runs):
                raise InputError(f"{options.trace}: nothing ran in it")
            save(draw_cores(load_pyplot(), runs), options.output)
        else:
            found = [read_comparison(path) for path in options.json]
            save(draw_speedups(load_pyplot(), found), options.output)
    except InputError as error:
        print(f"roost.plot: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
