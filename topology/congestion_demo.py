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

CHOICES = "dynamic,dynamic-adaptive,dynamic-block,dynamic-flow,dynamic-flowlet," \
          "dynamic-random,dynamic-two"

TREES = "dynamic,static-1,static-2,static-4"

# {part: {form: options of congestion.py, one list for each scenario}}; what matters most comes first
PARTS = {
    "shares": {
        "small": [["--shares", "0,0.5"]],
        "full": [["--shares", "0,0.5", "--algorithms", f"{TREES},ring"],
                 ["--shares", "0.5", "--algorithms", TREES, "--seeds", "10"],
                 ["--shares", "0", "--algorithms", "openmpi"]],
    },
    "deployment": {
        form: [["--switches", switches, "--shares", "0", "--seeds", seeds, "--algorithms", "dynamic"]
               for switches in ("none", "1", "half", "all")]
        for form, seeds in (("small", "1"), ("full", "3"))
    },
    "choices": {
        form: [["--shares", "0.5", "--algorithms", CHOICES, "--seeds", "3"]]
        for form in ("small", "full")
    },
    "communicators": {
        form: [["--communicators", number, "--shares", "0", "--seeds", "3",
                "--algorithms", algorithms] for number, algorithms in numbers]
        for form, numbers in (("small", [("4", "dynamic,static-1,static-4")]),
                              ("full", [("4", "dynamic,static-1,static-4"), ("2", "dynamic,static-4"),
                                        ("8", "dynamic,static-4")]))
    },
    "most": {
        "small": [],
        "full": [["--shares", "0.95", "--traffic", "0.25", "--algorithms", "dynamic,static-1,static-4"],
                 ["--shares", "0.95", "--algorithms", f"{TREES},ring"]],
    },
    "more-shares": {
        "small": [],
        "full": [["--shares", "0.05,0.25,0.75", "--algorithms", "dynamic", "--seeds", "3"],
                 ["--shares", "0.5", "--algorithms", "openmpi", "--seeds", "2"]],
    },
    "loads": {
        form: [["--shares", "0.5", "--traffic", load, "--seeds", "3",
                "--algorithms", "dynamic,static-1,static-4"] for load in loads]
        for form, loads in (("small", ("0.6",)), ("full", ("0.2", "0.4", "0.6", "0.8")))
    },
}


def label(part, row):
    """What tells a row of PART from others in a picture of several scenarios"""
    last = row["scenario"].rpartition(", ")[2]
    if part == "communicators":
        return f"{last.split()[0]} x {row['algorithm']}"
    if part == "choices":
        return row["algorithm"]
    if part in ("loads", "most"):
        return f"{last.split()[-1] if 'offer' in last else congestion.TRAFFIC}, {row['algorithm']}"
    return "all switches" if last.endswith("engine") else last


def picture(part, rows, scene):
    """Of all scenarios of a part"""
    if part.endswith("shares"):
        rows = list({(row["algorithm"], row["congestion"]): row for row in rows}.values())
        return plots.goodput(rows, scene.out, part, "dynamic trees and others, fat tree of 16 hosts",
                             scene.limit)
    return plots.bars([(label(part, row), row) for row in rows], scene.out, part, part,
                      None if part == "communicators" else scene.limit)


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
    parts = [part for part in parts if PARTS[part][args.form]]
    failed, every = 0, []
    for number, part in enumerate(parts):
        print(f"== part {number + 1} of {len(parts)}: {part}", flush=True)
        rows = []
        for options in PARTS[part][args.form]:
            status, found, scene = congestion.go_through(["--label", part, *options, *more])
            if scene is None:
                return status
            failed |= status
            rows += found
        every += [row for row in rows if part.endswith("shares")]
        if part == "more-shares":
            rows = every
        if len(PARTS[part][args.form]) > 1 and rows:
            for path in picture(part, rows, scene):
                print(f"picture: {os.path.relpath(path)}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
