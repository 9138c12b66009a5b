#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Do near.py and calls.py find what they have to?"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.environ.get("CANARY_TREE") or os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

import calls  # noqa: E402
import near  # noqa: E402

# What, tolerance, two texts, are they the same?
NEAR = [
    ("the same", 0, "a 1.5", "a 1.5", True),
    ("another writing of a number", 0, "1.5 2", "1.50 2e0", True),
    ("within the tolerance", 1e-6, "1000.0001", "1000", True),
    ("beyond the tolerance", 1e-6, "1000.01", "1000", False),
    ("small numbers are compared with 1", 1e-6, "1e-9", "-1e-9", True),
    ("another word", 1, "a 1", "b 1", False),
    ("a word in place of a number", 1, "1", "x", False),
    ("a number more", 1, "1 1", "1", False),
    ("a line more", 1, "1\n1", "1", False),
    ("nothing at all", 1, "", "", False),
    ("no number", 1, "nan", "nan", False),
    ("infinity", 1, "inf", "1", False),
]

MPI = """canary: rank 0     calls                                 allreduce  iallreduce      reduce
canary:   canary      carried out by canary                       80          81           0
canary:   off         off for this function                        0           0           2
canary:   4 communicators formed, 0 not; 25600000 bytes
"""
TORCH = """canary: rank 0: call        by      calls   bytes  why not through Canary
canary: rank 0: all_gather  gloo        2      16  not in the network
canary: rank 0: all_reduce  canary      5  121252
"""
ONE = [("allreduce", "canary", 80), ("iallreduce", "canary", 81), ("reduce", "off", 2)]
# What, what was printed, what it means
CALLS = [
    ("a table of MPI", MPI, ONE),
    ("two programs", MPI + "something\n" + MPI, ONE + ONE),
    ("the table of another rank", MPI + MPI.replace("rank 0", "rank 1"), ONE),
    ("a table of PyTorch", TORCH,
     [("all_gather", "not in the network", 2), ("all_reduce", "canary", 5)]),
    ("no table", "canary: something else\n", []),
]


def skipped():
    """Return: why kselftest does not want it to run; None: it does"""
    name = os.path.basename(__file__)
    # All tests here say so, whether they need it or not.
    if not os.path.exists(os.path.join(TREE, "PROTOCOL.md")):
        return "needs the tree of Canary: set CANARY_TREE"
    if name not in os.environ.get("CANARY_ONLY", name).split():
        return "not one of CANARY_ONLY"
    return None


def main():
    """Return: the exit status"""
    if skipped():
        print(f"TAP version 13\nok 1 everything # SKIP {skipped()}\n1..1")
        return 4
    results = [(what, not list(near.differences(tolerance, one.splitlines(), other.splitlines())),
                same) for what, tolerance, one, other, same in NEAR]
    results += [(what, [row for row in calls.read(text.splitlines()) if row[2]], meant)
                for what, text, meant in CALLS]
    bad = 0
    print("TAP version 13")
    for number, (what, got, right) in enumerate(results, 1):
        bad += got != right
        print(f"ok {number} {what}" if got == right else f"not ok {number} {what}: {got}")
    print(f"1..{len(results)}\n# apps/judge: {len(results) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
