"""What the bench's own arithmetic and process handling must hold. python3 -m unittest."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from runner import composition, process, render  # noqa: E402
from runner.model import (  # noqa: E402
    IDEAL, LINUX, ROOST, Aspect, Case, Result, Sample, Target, Variant)


def result(target=None, higher_is_better=True, **values):
    case = Case("a/case", "x/s", (), higher_is_better, target)
    return Result(case, {name: [Sample(v, 1.0) for v in row] for name, row in values.items()})


def python(code):
    return Variant("v", (sys.executable, "-c", code))


class Comparison(unittest.TestCase):
    def test_ratio_is_of_speed_whether_high_or_low_values_are_better(self):
        rates = result(linux=[10, 20, 30], roost=[30, 40, 50])
        costs = result(higher_is_better=False, linux=[10, 20, 30], roost=[30, 40, 50])
        self.assertEqual(rates.ratio(ROOST, LINUX), 2)
        self.assertEqual(costs.ratio(ROOST, LINUX), 0.5)

    def test_ratio_is_the_median_of_the_rounds(self):
        """Where the machine becomes ten times as fast after the first."""
        r = result(linux=[1, 10, 10], roost=[2, 10, 20])
        self.assertEqual(r.ratio(ROOST, LINUX), 2)

    def test_a_case_with_one_failed_run_has_no_median(self):
        r = result(linux=[1, 2])
        r.samples[LINUX].append(Sample(None, 1.0, failure="exit code 1"))
        self.assertIsNone(r.median(LINUX))

    def test_loss_and_missed_target_are_named(self):
        r = result(Target(IDEAL, at_least=0.95), ideal=[100], linux=[60], roost=[50])
        words = render.closing_words([r])
        self.assertIn("Roost loses to Linux in a/case (0.83)", words)
        self.assertIn("at least 0.95 of the ideal: a/case (0.50)", words)

    def test_slower_within_the_spread_of_linux_is_said_apart(self):
        words = render.closing_words([result(linux=[80, 100, 120], roost=[90])])
        self.assertIn("within its spread: a/case (0.90)", words)
        self.assertNotIn("loses", words)

    def test_added_cost_is_a_difference(self):
        target = Target(LINUX, added_ns_at_most=10)
        near = result(target, higher_is_better=False, linux=[2], roost=[11])
        far = result(target, higher_is_better=False, linux=[2], roost=[13])
        self.assertFalse(near.misses_target())
        self.assertTrue(far.misses_target())

    def test_timed_out_run_shows_the_limit(self):
        r = result(linux=[5])
        r.samples[ROOST] = [Sample(None, 8, timed_out=True)]
        self.assertIn(">8 s", render.rows([r], 8)[0])
        self.assertIn("did not end in time: a/case", render.closing_words([r]))


class Aspects(unittest.TestCase):
    def test_an_aspect_is_a_result_of_the_same_runs(self):
        latency = Aspect("p99_ms", "ms", target=Target(IDEAL, at_least=0.8))
        r = Result(Case("a/case", "x/s", (), aspects=(latency,)), {
            name: [Sample(1, 1, others={"p99_ms": value})]
            for name, value in ((IDEAL, 10), (LINUX, 30), (ROOST, 20))})
        (p99,) = r.aspects()
        self.assertEqual(p99.case.name, "a/case p99_ms")
        self.assertEqual(p99.ratio(ROOST, LINUX), 1.5)
        self.assertTrue(p99.misses_target())

    def test_the_table_has_a_column_for_each_variant_and_roost_last(self):
        rows = [Result(Case("a", "x/s", (python(""), Variant(ROOST, ())))),
                Result(Case("b", "x/s", (Variant(ROOST, ()), Variant("w", ()))))]
        head, body = render.variants_table(rows, 8)
        self.assertEqual(head[2:5], ("v", "w", "Roost"))
        self.assertEqual(len(body[0]), len(head))


class Composition(unittest.TestCase):
    @staticmethod
    def run_of(rounds, **medians):
        variants = {name: {"median": median, "samples": [median], "timed_out": median is None}
                    for name, median in medians.items()}
        return {"rounds": rounds, "cases": [{"case": "matmul/tbb/2x2", "variants": variants},
                                            {"case": "convoy/16", "variants": variants}]}

    def test_a_side_has_a_line_and_a_shape_a_column(self):
        lines = composition.table([self.run_of(3, ideal=100.0, linux=None, roost=95.0)])
        self.assertEqual(lines[2:], [
            "| matmul | oneTBB | OpenBLAS pthread | 100 | Linux | no end |",
            "| | | | | Roost | 95.0 (0.95) |"])

    def test_of_a_side_measured_twice_the_run_with_more_rounds_counts(self):
        lines = composition.table([self.run_of(5, ideal=100.0, roost=90.0),
                                   self.run_of(3, ideal=100.0, linux=50.0, roost=10.0)])
        self.assertEqual([line.split("|")[-2].strip() for line in lines[2:]], ["50.0", "90.0 (0.90)"])


class Running(unittest.TestCase):
    def test_value_comes_from_the_last_line_and_is_scaled(self):
        variant = Variant("v", (sys.executable, "-c", "print('x'); print('{\"value\": 3}')"),
                          scale=2)
        self.assertEqual(process.run(variant, 60).value, 6)

    def test_other_figures_are_kept_beside_the_value(self):
        sample = process.run(python("print('{\"value\": 3, \"p99_ms\": 2.5, \"unit\": \"x\"}')"), 60)
        self.assertEqual(sample.others, {"p99_ms": 2.5})

    def test_time_limit_ends_the_grandchildren_too(self):
        # The grandchild holds the pipe and writes to it if it lives; the read returns once
        # no process holds the pipe any more.
        grandchild = "import time; time.sleep(4); print('alive', flush=True)"
        child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {grandchild!r}])"
        read_end, write_end = os.pipe()
        to_pipe = f"/proc/{os.getpid()}/fd/{write_end}"
        sample = process.run(Variant("v", ("/bin/sh", "-c", 'exec "$0" -c "$1" > "$2"',
                                           sys.executable, child, to_pipe)), 1)
        os.close(write_end)
        self.assertTrue(sample.timed_out)
        with os.fdopen(read_end) as pipe:
            self.assertEqual(pipe.read(), "")

    def test_failure_quotes_the_program(self):
        sample = process.run(python("import sys; sys.exit('no such thing')"), 60)
        self.assertEqual(sample.failure, "exit code 1: no such thing")

    def test_missing_program_is_a_failure_not_an_exception(self):
        self.assertIn("No such file", process.run(Variant("v", ("/nowhere",)), 60).failure)

    def test_runtime_settings_of_the_user_do_not_reach_the_programs(self):
        os.environ["OMP_NUM_THREADS"] = "7"
        self.addCleanup(os.environ.pop, "OMP_NUM_THREADS")
        kept = process.clean_environment({"OMP_WAIT_POLICY": "passive"})
        self.assertNotIn("OMP_NUM_THREADS", kept)
        self.assertEqual(kept["OMP_WAIT_POLICY"], "passive")


class Options(unittest.TestCase):
    def refusal(self, *options):
        run = subprocess.run([sys.executable, str(BENCH / "demo.py"), *options],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 2)
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        return run.stderr

    def test_bad_options_give_one_sentence(self):
        self.assertIn("--quik", self.refusal("--quik"))
        self.assertIn("'none' is not a whole number", self.refusal("--rounds", "none"))
        self.assertIn("no case matches", self.refusal("--list", "--only", "nonsense"))
        self.assertIn("'nonsense'", self.refusal("--list", "--only", "convoy", "--only", "nonsense"))
        self.assertIn("cannot write /nowhere/x", self.refusal("--json", "/nowhere/x"))


if __name__ == "__main__":
    unittest.main()
