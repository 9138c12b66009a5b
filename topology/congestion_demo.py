#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""All figures about congestion, one part after the other: shares of hosts that
congest, what they offer, ways to choose a port, several communicators, few
switches that run the program.

  topology/congestion_demo.py                   the small form, as make demo-congestion
  topology/congestion_demo.py --form full
  topology/congestion_demo.py --parts choices --form full -- --traffic 0.5

What follows -- goes to topology/congestion.py, for all parts. Interrupted, the
same command goes on where it was.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import congestion  # noqa: E402
from canary_topo import plots  # noqa: E402

CHOICES = "dynamic,dynamic-block,dynamic-flow,dynamic-flowlet,dynamic-random,dynamic-two"

# {part: {form: options of congestion.py, one list for each scenario}}
PARTS = {
    "shares": {
        "small": [["--shares", "0,0.5"]],
        "full": [["--shares", "0,0.05,0.25,0.5,0.75,0.95"]],
    },
    "loads": {
        form: [["--shares", "0.5", "--traffic", load, "--seeds", seeds,
                "--algorithms", "dynamic,static-1,static-4"] for load in loads]
        for form, loads, seeds in (("small", ("0.4", "0.6"), "3"),
                                   ("full", ("0.2", "0.4", "0.6", "0.8"), "5"))
    },
    "choices": {
        "small": [["--shares", "0.5", "--algorithms", CHOICES, "--seeds", "3"]],
        "full": [["--shares", "0.5", "--algorithms", CHOICES]],
    },
    "communicators": {
        form: [["--communicators", str(number), "--shares", "0", "--seeds", seeds,
                "--algorithms", "dynamic,static-1,static-4"] for number in numbers]
        for form, numbers, seeds in (("small", (4,), "3"), ("full", (2, 4, 8), "5"))
    },
    "deployment": {
        form: [["--switches", switches, "--shares", "0", "--seeds", seeds, "--algorithms", "dynamic"]
               for switches in ("none", "1", "half", "all")]
        for form, seeds in (("small", "1"), ("full", "5"))
    },
}


def label(part, row):
    """What tells a row of PART from others in a picture of several scenarios"""
    last = row["scenario"].rpartition(", ")[2]
    if part == "communicators":
        return f"{last.split()[0]} x {row['algorithm']}"
    if part == "loads":
        return f"{last.split()[-1] if 'offer' in last else congestion.TRAFFIC}, {row['algorithm']}"
    return "all switches" if last.endswith("engine") else last


def main():
    argv, more = sys.argv[1:], []
    if "--" in argv:
        argv, more = argv[:argv.index("--")], argv[argv.index("--") + 1:]
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--form", choices=["small", "full"], default="small")
    parser.add_argument("--parts", default=",".join(PARTS), help="%(default)s")
    args = parser.parse_args(argv)
    parts = args.parts.split(",")
    if set(parts) - set(PARTS):
        parser.error(f"--parts: there are {', '.join(PARTS)}")
    failed = 0
    for number, part in enumerate(parts):
        print(f"== part {number + 1} of {len(parts)}: {part}", flush=True)
        rows = []
        for options in PARTS[part][args.form]:
            status, found, scene = congestion.go_through(["--label", part, *options, *more])
            if scene is None:
                return status
            failed |= status
            rows += found
        if len(PARTS[part][args.form]) > 1 and rows:
            for path in plots.bars([(label(part, row), row) for row in rows], scene.out, part, part,
                                   None if part == "communicators" else scene.limit):
                print(f"picture: {os.path.relpath(path)}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
