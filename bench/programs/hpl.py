#!/usr/bin/env python3
"""Runs HPL once in a folder of its own and prints its rate as one JSON line.

hpl.py N ROWS COLUMNS -- MPIEXEC... XHPL    a system of order N on a grid of ROWS x COLUMNS processes

`checksum` is the scaled residual; one that HPL refuses (16 and more) is an error.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# What stands in the lines after the four of the head, beside the order and the grid: the values of
# HPL's own HPL.dat, with blocks of 128.
INPUT = """HPL
by bench/programs/hpl.py
HPL.out
8
1
{order} Ns
1
128 NBs
0 PMAP
1
{rows} Ps
{columns} Qs
16.0 threshold
1
2 PFACTs
1
4 NBMINs
1
2 NDIVs
1
1 RFACTs
1
1 BCASTs
1
1 DEPTHs
2 SWAP
64 swapping threshold
0 L1
0 U
1 equilibration
8 alignment
"""
RESULT = re.compile(r"^W\w+\s+\d+\s+\d+\s+\d+\s+\d+\s+(\S+)\s+(\S+)$", re.M)  # seconds, GFLOP/s
RESIDUAL = re.compile(r"^\|\|Ax-b\|\|_oo/\(eps.*=\s+(\S+) \.+ PASSED$", re.M)


def main():
    if len(sys.argv) < 6 or sys.argv[4] != "--":
        sys.exit("hpl.py: usage: hpl.py N ROWS COLUMNS -- MPIEXEC... XHPL")
    order, rows, columns = sys.argv[1:4]
    with tempfile.TemporaryDirectory(prefix="roost-bench-") as folder:
        Path(folder, "hpccinf.txt").write_text(
            INPUT.format(order=order, rows=rows, columns=columns))
        run = subprocess.run(sys.argv[5:], cwd=folder, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=False)
        written = Path(folder, "hpccoutf.txt")
        text = written.read_text() if written.is_file() else ""
    result, residual = RESULT.search(text), RESIDUAL.search(text)
    if run.returncode != 0 or not result or not residual:
        sys.exit(f"hpl.py: exit code {run.returncode}: {(run.stderr or text)[-500:]}")
    print(json.dumps({"program": "hpl", "order": int(order), "grid": f"{rows}x{columns}",
                      "seconds": float(result[1]), "value": float(result[2]), "unit": "GFLOP/s",
                      "checksum": float(residual[1])}))


if __name__ == "__main__":
    main()
