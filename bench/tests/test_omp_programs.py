"""What bench/omp_programs says about results that differ and shapes that are slow."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from runner import omp_shapes, omp_sides  # noqa: E402
from runner.model import LINUX, ROOST, Agreement, Case, Result, Sample, Variant  # noqa: E402


def result(name, checksum=None, **values):
    variants = tuple(Variant(side, ()) for side in values)
    others = {side: {"checksum": 1.0} for side in values} | {ROOST: {"checksum": checksum or 1.0}}
    return Result(Case(name, "x/s", variants, agreement=Agreement("group", 1e-9)),
                  {side: [Sample(value, 1, others=others[side])] for side, value in values.items()})


class Programs(unittest.TestCase):
    def test_a_result_off_by_more_than_the_tolerance_is_named(self):
        words = omp_sides.wrong_results([result("a", linux=1, roost=1),
                                         result("b", 1.001, linux=1, roost=1),
                                         result("c", float("nan"), linux=1, roost=1)])
        self.assertEqual([sentence[0] for sentence in words], ["b", "c"])

    def test_a_shape_is_measured_by_the_best_of_its_own_side_and_width(self):
        results = [result("shapes/a/symm/2x1", linux=50, roost=10),
                   result("shapes/a/symm/1x2", linux=5, roost=9),
                   result("shapes/a/symm/4x1", linux=50, roost=3)]
        self.assertEqual(omp_shapes.uneven(results, ROOST), ["shapes/a/symm/1x2 (0.90)"])
        self.assertEqual(omp_shapes.uneven(results, LINUX), ["shapes/a/symm/1x2 (0.10)"])


if __name__ == "__main__":
    unittest.main()
