"""What traces and figures mean, and that they become pictures. python3 -m unittest."""
import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from roost import plot  # noqa: E402
from roost.results import read_comparison, read_trace  # noqa: E402


def slice_of(core, process, begin_us, end_us):
    return {"ph": "X", "name": f"process {process} thread 1", "pid": 1, "tid": core + 1,
            "ts": begin_us, "dur": end_us - begin_us}


TRACE = {"traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "coop, seed 1"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "core 0"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "core 1"}},
    {"ph": "C", "name": "ready threads", "pid": 1, "ts": 0, "args": {"n": 1}},
    slice_of(0, 0, 0, 2000), slice_of(1, 1, 1000, 1500)]}


def run(policy, seed, time, finished=True):
    return {"policy": policy, "seed": seed, "finished": finished, "trouble": "had not finished",
            "time_ns": time}


JSON = {"scenario": "s", "machine": "m", "runs": [
    run("linux", 1, 200), run("linux", 2, 220), run("linux", 3, 180),
    run("coop", 1, 100), run("coop", 2, 125), run("coop", 3, 80)]}


class Plots(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, content):
        path = self.folder / "in.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def refusal(self, *words):
        error = io.StringIO()
        with contextlib.redirect_stderr(error):
            code = plot.main(list(words))
        self.assertEqual(code, 2)
        self.assertEqual(error.getvalue().count("\n"), 1, error.getvalue())
        return error.getvalue()

    def test_a_trace_tells_which_core_ran_which_process(self):
        [found] = read_trace(self.file(TRACE))
        self.assertEqual((found.title, found.cores, found.end), ("coop, seed 1", 2, 2.0))
        self.assertEqual(found.slices[1], (1, "process 1", 1.0, 1.5))

    def test_shares_are_cut_to_columns(self):
        [found] = read_trace(self.file(TRACE))
        grids = plot.shares(found, 4)
        self.assertEqual(grids["process 0"], [[1.0, 0.0]] * 4)
        self.assertEqual(grids["process 1"], [[0, 0], [0, 0], [0, 1.0], [0, 0]])

    def test_speedups_are_over_the_first_policy(self):
        speedups = read_comparison(self.file(JSON)).speedups()
        self.assertEqual(speedups["linux"][0], 1)
        self.assertEqual(speedups["coop"], (2.0, 1.6, 2.5))

    def test_pictures_are_written_and_repeat(self):
        for verb, content in (("cores", TRACE), ("speedups", JSON)):
            pictures = []
            for name in ("a.svg", "b.svg"):
                out = self.folder / name
                self.assertEqual(plot.main([verb, self.file(content), "-o", str(out)]), 0)
                pictures.append(out.read_text())
            self.assertIn("</svg>", pictures[0])
            self.assertEqual(pictures[0], pictures[1])

    def test_mistakes_get_one_sentence(self):
        out = str(self.folder / "x.svg")
        self.assertIn("is no trace", self.refusal("cores", self.file(JSON), "-o", out))
        self.assertIn("has no runs", self.refusal("speedups", self.file(TRACE), "-o", out))
        self.assertIn("no JSON", self.refusal("speedups", self.file("{"), "-o", out))
        self.assertIn("cannot be read", self.refusal("cores", "/nonexistent", "-o", out))
        self.assertIn("nothing ran", self.refusal("cores", self.file({"traceEvents": []}), "-o", out))
        self.assertIn("not supported",
                      self.refusal("cores", self.file(TRACE), "-o", str(self.folder / "x.doc")))
        self.assertIn("cannot be written",
                      self.refusal("cores", self.file(TRACE), "-o", "/nonexistent/x.svg"))
        self.assertIn("--output", self.refusal("cores", self.file(TRACE)))
        unfinished = {**JSON, "runs": [run("nest", 4, 1, finished=False)]}
        self.assertIn("nest, seed 4", self.refusal("speedups", self.file(unfinished), "-o", out))


if __name__ == "__main__":
    unittest.main()
