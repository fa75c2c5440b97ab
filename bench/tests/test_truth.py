"""What bench/repro/truth reads, predicts and counts as right. python3 -m unittest."""

import importlib.machinery
import importlib.util
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

REPRO = Path(__file__).resolve().parents[1] / "repro"
sys.path.insert(0, str(REPRO))
loader = importlib.machinery.SourceFileLoader("truth", str(REPRO / "truth"))
truth = importlib.util.module_from_spec(importlib.util.spec_from_loader("truth", loader))
loader.exec_module(truth)

MACHINE = {"frequency": {"nominal_mhz": 1000}, "topology": {"cores_per_llc": 2},
           "costs_ns": {"yield_switch": 1000}}
TABLE = """
case                  unit        ideal  Linux  Roost  Roost/Linux  Roost/ideal  Roost/bound  Linux min..max
matmul/tbb/8x8        GFLOP/s      80.0   60.0   40.0         0.67         0.50         0.80      48.1..71.6
barrier/16            arrivals/s   800k   >60 s   265k            -         0.32            -    244k..283k
switch/yield          ns              -   2071   2544         0.81            -            -      2049..2076
"""


class Fixed:
    """A simulator that always needs the same time, by policy, in seconds."""

    def __init__(self, **seconds):
        self.seconds = seconds

    def time(self, text, policy, machine):
        tomllib.loads(text)
        return self.seconds[policy] * 1e9


def compared(linux, roost):
    """A case of 100 tasks that was measured at 100 and 200 units a second."""
    model = truth.Model(MACHINE)
    model.of = lambda case, every: (truth.scenario([model.team(1, 1, 1e-3, 100)]), 100, 1)
    case = truth.Case("x", "u/s", None, None, 100, 200)
    return truth.compared([case], model, Fixed(linux=linux, coop=roost), "m")


class Truth(unittest.TestCase):
    def test_the_demos_table_is_read(self):
        with tempfile.NamedTemporaryFile("w", suffix=".md") as file:
            file.write(TABLE)
            file.flush()
            cases = list(truth.from_table(file.name))
        self.assertEqual([case.name for case in cases], ["matmul/tbb/8x8", "barrier/16"])
        self.assertEqual((cases[0].bound, cases[0].measured), (50.0, {"linux": 60.0, "coop": 40.0}))
        self.assertEqual(cases[1].measured, {"linux": None, "coop": 265e3})

    def test_a_tiles_work_is_what_the_bound_leaves_for_it(self):
        case = truth.Case("matmul/tbb/8x8", "GFLOP/s", 80.0, 67.108864, 60.0, 40.0)
        text, count, unit = truth.Model(MACHINE).of(case, [case])
        [program] = tomllib.loads(text)["program"]
        # 2 * 256^3 flop in 1 ms on one core, less 24 switches of 1 us: 976 us, an eighth for each
        # thread in two halves, at 1 GHz.
        self.assertIn("compute 61000", program["script"][0]["steps"])
        self.assertEqual(program["barriers"], {"go": 8, "half": 8, "done": 8})
        self.assertEqual((count, unit), (8 * 128, 2 * 256**3 / 1e9))

    def test_a_cell_within_a_quarter_counts(self):
        self.assertIn("2 of 2 cells", compared(linux=1 / 1.2, roost=0.5 * 1.2))
        self.assertIn("1 of 2 cells", compared(linux=1 / 1.3, roost=0.5))
        self.assertIn("0 of 2 cells", compared(linux=1 / 1.3, roost=0.5 * 1.5))

    def test_the_order_of_linux_and_roost_counts(self):
        self.assertIn("1 of 1 cases", compared(linux=1, roost=0.9))
        self.assertIn("0 of 1 cases", compared(linux=1, roost=1))
        self.assertIn("0 of 1 cases", compared(linux=1, roost=2))


if __name__ == "__main__":
    unittest.main()
