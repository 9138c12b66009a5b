#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks that both readers of topology/shapes see the same network. canary-sim lists its links with
--links, port by port. Mininet's reader is asked for its own list."""
import glob
import importlib.util
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPEC = importlib.util.spec_from_file_location(
    "shape", os.path.join(TOP, "topology/canary_topo/shape.py"))
shape = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(shape)


def simulator_links(program, path):
    done = subprocess.run([program, "--quiet", "--check", "--links", "/dev/stdout",
                           f"topology={path}", "members=2"], capture_output=True, text=True, check=True)
    lines = [line.split(",")[:2] for line in done.stdout.splitlines()[1:]]
    # Each cable has two directions. The first one is as described.
    return [tuple(line) for line in lines[::2]]


def main():
    program, bad = sys.argv[1], 0
    paths = sys.argv[2:] or sorted(glob.glob(os.path.join(TOP, "topology/shapes/*.topo")))
    for path in paths:
        ours, theirs = shape.shape_links(shape.read_shape(path)), simulator_links(program, path)
        if ours != theirs:
            differ = next((pair for pair in zip(ours, theirs) if pair[0] != pair[1]),
                          (len(ours), len(theirs)))
            print(f"{path}: {differ}")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
