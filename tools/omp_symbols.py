#!/usr/bin/env python3
"""Compares what libroost_omp.so exports with what libgomp and libomp do, and prints what is missing.

  tools/omp_symbols.py LIBROOST_OMP [LIBGOMP [LIBOMP]]

Names that only say so loudly (src/omp/stubs.cc, weak symbols) are listed apart. The version nodes are
compared with those of roost/omp beside the library. Exit status 1 if a name or a node is missing.
"""
import glob
import re
import subprocess
import sys
from pathlib import Path

# Internals, plug-ins and OpenACC: not for programs.
NOT_OURS = re.compile(r"^(GOMP_PLUGIN_|GOACC_|acc_|ompd_|ompt_|___?kmp_|kmp_[a-f]_debug|kmp_diag"
                      r"|kmp_max_mem_alloc|kmp_mutex_impl_info|kmp_threadprivate_insert)|_\d\.\d|^VERSION")
OURS = re.compile(r"^(GOMP_|omp_|ompc_|kmp_|kmpc_|__kmpc_)")


def exported(path):
    """The names a library defines, and which of them are weak."""
    out = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True,
                         text=True).stdout
    names = {}
    for line in out.splitlines():
        kind, name = line.split()[-2:]
        names[name.split("@")[0]] = kind in "wWvV"
    return names


def version_nodes(path):
    """The versions a library defines."""
    out = subprocess.run(["readelf", "-VW", path], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"Flags: (?:none|WEAK)  Index: \d+  Cnt: \d+  Name: (\S+)", out))


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    ours = exported(sys.argv[1])
    others = sys.argv[2:] or ["/usr/lib/x86_64-linux-gnu/libgomp.so.1",
                              *sorted(glob.glob("/usr/lib/llvm-*/lib/libomp.so.5"))]
    named = Path(sys.argv[1]).parent / "roost" / "omp"
    missing = False
    for path in others:
        wanted = sorted(name for name in exported(path)
                        if OURS.match(name) and not NOT_OURS.search(name))
        absent = [name for name in wanted if name not in ours]
        loud = [name for name in wanted if ours.get(name)]
        missing |= bool(absent)
        print(f"{path}: {len(wanted)} names, {len(absent)} missing, {len(loud)} say that they are not known")
        nodes = version_nodes(path) - version_nodes(named / Path(path).name)
        missing |= bool(nodes)
        for node in sorted(nodes):
            print(f"  missing  version {node}")
        for name in absent:
            print(f"  missing  {name}")
        for name in loud:
            print(f"  loud     {name}")
    sys.exit(missing)


if __name__ == "__main__":
    main()
