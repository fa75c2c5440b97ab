"""Runs one module of Python's own test package and records the outcome of every test in it.

    python3 python_record.py OUTCOMES MODULE [SHARD OF]

With SHARD and OF only every OF-th test class of the module runs, starting at class SHARD. Classes
that hang by themselves where the kernel offers a kind of socket that leads nowhere are left out.
Each test adds a line "start" before it and a line with its outcome after it, as JSON, so that a
crash or a hang is put down to the test in which it happened. unittest's own output is no good for
that: tests print in between, and the XML report exists only when all went well.
"""

import faulthandler
import json
import os
import sys
import tempfile
import time
import traceback
import unittest

from test import support


class Recorder(unittest.TestResult):
    def __init__(self, path):
        super().__init__()
        # O_APPEND and one write a line: tests fork, and children inherit the descriptor.
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._started = {}
        self._owner = os.getpid()

    def _write(self, **fields):
        if os.getpid() == self._owner:
            os.write(self._file, (json.dumps(fields) + "\n").encode())

    def _outcome(self, test, outcome, detail=""):
        seconds = time.monotonic() - self._started.get(test.id(), time.monotonic())
        self._write(id=test.id(), outcome=outcome, detail=detail, seconds=round(seconds, 3))

    def _failure(self, test, outcome, error):
        self._outcome(test, outcome, "".join(traceback.format_exception(*error)))

    def startTest(self, test):
        super().startTest(test)
        self._started[test.id()] = time.monotonic()
        self._write(id=test.id(), outcome="start")

    def addSuccess(self, test):
        super().addSuccess(test)
        self._outcome(test, "ok")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._outcome(test, "skipped", reason)

    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        self._outcome(test, "expected failure")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._outcome(test, "unexpected success")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._failure(test, "failed", error)

    def addError(self, test, error):
        super().addError(test, error)
        self._failure(test, "error", error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self._failure(test, "failed", error)


HANG_BY_THEMSELVES = {"ThreadedVSOCKSocketStreamTest"}


def cases(suite):
    """The single tests of a suite, in order."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases(test)
        else:
            yield test


def shard_of(suite, shard, of):
    classes = []
    chosen = unittest.TestSuite()
    for test in cases(suite):
        if type(test).__name__ in HANG_BY_THEMSELVES:
            continue
        if type(test) not in classes:
            classes.append(type(test))
        if classes.index(type(test)) % of == shard:
            chosen.addTest(test)
    return chosen


def main():
    path, module = sys.argv[1:3]
    shard, of = map(int, sys.argv[3:5] or (0, 1))
    faulthandler.enable()
    support.use_resources = []  # as `python3 -m test` without -u: no network, no long tests
    recorder = Recorder(os.path.abspath(path))
    with tempfile.TemporaryDirectory(prefix="roost-python-") as directory:
        os.chdir(directory)
        try:
            suite = unittest.defaultTestLoader.loadTestsFromName("test." + module)
            shard_of(suite, shard, of).run(recorder)
        finally:
            os.chdir("/")
    return 0 if recorder.wasSuccessful() else 2


if __name__ == "__main__":
    sys.exit(main())
