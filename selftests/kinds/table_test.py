#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Does table.py find what is not right? Each case has one thing that is not as it has to be."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.environ.get("CANARY_TREE", os.path.join(HERE, "..", ".."))
sys.path.insert(0, HERE)

import table  # noqa: E402

GOOD = {"type": "int8", "operator": "sum", "engine": "core", "way": "switch", "right": True,
        "shapes": 5, "cases": 50, "promised": "combine", "noise": 8, "aggregates": 90, "ring": 0,
        "merged": 180, "passed": 0}
PASSES = {**GOOD, "way": "passes", "promised": "pass", "aggregates": 0, "merged": 0, "passed": 99}
RING = {**GOOD, "way": "ring", "aggregates": 0, "merged": 0, "ring": 50}
ROW = {"switches": "combine", "aggregates": 40, "ring": 0}
NET = {"type": "int8", "operator": "sum", "engine": "user", "way": "switch", "failed": False,
       "ranks": 3, "error": "", "perf": {"check": 5, "out_of_bounds": 0, "results": [ROW] * 4},
       "before": {"counters": {"merged": 10, "bypass-operator": 3}},
       "after": {"counters": {"merged": 300, "bypass-operator": 3}}}

# What, the cell, the way it is shown as, part of the problem or None
CASES = [
    ("a switch adds", GOOD, "switch", None),
    ("a switch lets pass", PASSES, "passes", None),
    ("a kind that switches do not combine", {**PASSES, "way": "switch"}, "passes", None),
    ("a ring", RING, "ring", None),
    ("between namespaces", NET, "switch", None),
    ("a wrong result", {**GOOD, "right": False}, "switch", "wrong results"),
    ("the switch does not add what it should", {**PASSES, "promised": "combine", "way": "switch"},
     "passes", "promised: switch, seen: passes"),
    ("the switch adds what it should not", {**GOOD, "promised": "pass"}, "switch",
     "promised: passes, seen: switch"),
    ("some packets are added, some pass", {**GOOD, "passed": 4}, "switch", "switch, in part"),
    ("no more aggregates than of sums of canary perf", {**GOOD, "aggregates": 8}, "switch",
     "seen: nothing"),
    ("aggregates, but the switch added nothing", {**GOOD, "merged": 0}, "switch", "in part"),
    ("no switch saw a packet", {**PASSES, "passed": 0}, "passes", "seen: nothing"),
    ("a tree in place of a ring", {**GOOD, "way": "ring"}, "switch", "promised: ring"),
    ("a ring and trees", {**RING, "aggregates": 1}, "ring", "ring and trees"),
    ("a build that combines all the same", {**GOOD, "way": "passes"}, "switch", "build without"),
    ("ranks disagree", {**GOOD, "promised": "both"}, "switch", "'both'"),
    ("three shapes", {**GOOD, "shapes": 3}, "switch", "3 shapes"),
    ("nothing was compared", {**GOOD, "cases": 0}, "switch", "0 of them compared"),
    ("a rank failed", {**NET, "failed": True, "error": "no\nroute"}, "switch", "no route"),
    ("no results", {**NET, "failed": True, "perf": None}, "switch", "wrong results"),
    ("a wrong element", {**NET, "perf": {**NET["perf"], "out_of_bounds": 1}}, "switch", "wrong"),
]


def main():
    """Return: the exit status"""
    name = os.path.basename(__file__)
    # All tests here say so, whether they need it or not.
    if not os.path.exists(os.path.join(TREE, "PROTOCOL.md")):
        print("ok 1 everything # SKIP needs the tree of Canary: set CANARY_TREE\n1..1")
        return 4
    if name not in os.environ.get("CANARY_ONLY", name).split():
        print("ok 1 everything # SKIP not one of CANARY_ONLY\n1..1")
        return 4
    bad = 0
    for number, (what, cell, way, text) in enumerate(CASES, 1):
        got = table.judge([cell])[0]
        good = got["right"] == (text is None) and (text or "") in got.get("problem", "") and \
            got["way"] == way
        bad += not good
        print(f"{'ok' if good else 'not ok'} {number} {what}" + ("" if good else f": {got}"))
    lacking = list(table.missing(table.judge([GOOD, RING]), ["core"]))
    good = lacking == ["sum of int8, core, passes: was not run"]
    bad += not good
    print(f"{'ok' if good else 'not ok'} {len(CASES) + 1} a cell that is missing")
    print(f"1..{len(CASES) + 1}")
    print(f"# kinds/table: {len(CASES) + 1 - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
