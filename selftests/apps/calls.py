#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The tables that Canary prints at the end of a program, as JSON: calls.py FILE

Several programs may have written to FILE: their calls are added up. Output: {"calls", "canary",
"by": {function: {way: calls}}}. A way is "canary", or why a call did not go through it."""
import json
import re
import sys

# "canary: rank 0     calls          allreduce  iallreduce      reduce     barrier"
HEAD = re.compile(r"canary: rank 0 +calls +(.*)")
# "canary:   short       below the threshold (min_bytes)   0          12           0           0"
ROW = re.compile(r"canary:   ([a-z-]+) .*?((?: +\d+)+)$")
# "canary: rank 0: all_gather  gloo        2      16  not in the network"
TORCH = re.compile(r"canary: rank 0: (\S+) +(canary|gloo) +(\d+) +\d+ *(.*)")


def read(lines):
    """Yield (function, way, calls)."""
    names = None
    for line in lines:
        line = line.rstrip()
        head, row, torch = HEAD.match(line), ROW.match(line), TORCH.match(line)
        if head:
            names = head.group(1).split()
        elif row and names:
            for name, calls in zip(names, row.group(2).split()):
                yield name, row.group(1), int(calls)
        elif torch:
            name, way, calls, why = torch.groups()
            yield name, way if way == "canary" else why or way, int(calls)
        elif line.startswith("canary: rank "):
            names = None    # the table of another rank


def main():
    """Print it."""
    by = {}
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        for name, way, calls in read(file):
            if calls:
                ways = by.setdefault(name, {})
                ways[way] = ways.get(way, 0) + calls
    print(json.dumps({"calls": sum(sum(ways.values()) for ways in by.values()),
                      "canary": sum(ways.get("canary", 0) for ways in by.values()), "by": by}))


if __name__ == "__main__":
    main()
