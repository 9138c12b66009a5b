#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""All figures about congestion, one part after the other: shares of hosts that
congest, what they offer, ways to choose a port, several communicators, few
switches that run the program.

  topology/congestion_demo.py                   the small form, as make demo-congestion
  topology/congestion_demo.py --form full
  topology/congestion_demo.py --parts choices --form full -- --traffic 0.5

Links have the highest of RATES that this machine carries, unless a rate follows --; where rows show
that it does not, the next lower one is taken and all is measured again. What is said of links by a machine
that is too busy is no result, and rows say so.

What follows -- goes to topology/congestion.py, for all parts. Interrupted, the
same command goes on where it was.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import congestion  # noqa: E402
from canary_topo import arguments, plots, results  # noqa: E402

# Mbit/s
RATES = [10, 5, 3, 2, 1]
CHOICES = "dynamic,dynamic-early,dynamic-adaptive,dynamic-block,dynamic-flow"
MORE_CHOICES = f"{CHOICES},dynamic-flowlet,dynamic-random,dynamic-two"
TREES = "dynamic,static-1,static-2,static-4"
LEAF_SPINE = ["--topology", "leaf_spine:4,4,2"]


def of(*words, **options):
    """Words of congestion.py"""
    return [*words, *(str(word) for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value))]


# {part: {form: options of congestion.py, one list for each scenario}}; what matters most comes first
PARTS = {
    "half": {
        "small": [of(shares=0.5, algorithms=TREES, alone="dynamic")],
        "full": [of(shares=0.5, algorithms=TREES, alone=TREES, seeds=10), of(shares=0.5, algorithms="ring")],
    },
    "nobody": {
        "small": [of(shares=0, algorithms=TREES, seeds=3), of(shares=0, algorithms="ring", seeds=1),
                  of(shares=0, algorithms="dynamic,static-4", size="4M", seeds=3, iterations=1),
                  of(shares=0, algorithms="ring", size="4M", seeds=1, iterations=1)],
        "full": [of(shares=0, algorithms=f"{TREES},ring"),
                 of(shares=0, algorithms=f"{TREES},ring", size="4M", seeds=3, iterations=1)],
    },
    # The outside peer: at a third of the rate as well, where the processors are not what limits it
    "openmpi": {
        form: [of(shares=0, algorithms="openmpi", seeds=seeds),
               of(shares=0, algorithms="dynamic,ring,openmpi", rate="3mbit", size="256K", seeds=seeds)]
        for form, seeds in (("small", 1), ("full", 3))
    },
    "leaf-spine": {
        form: [of(*LEAF_SPINE, shares="0,0.5", algorithms=TREES, alone="dynamic", seeds=seeds),
               of(*LEAF_SPINE, shares=0, algorithms="ring,openmpi", seeds=others)]
        for form, seeds, others in (("small", 2, 1), ("full", 5, 3))
    },
    "most": {
        "small": [of(shares=0.95, algorithms="dynamic,static-4", alone="dynamic", seeds=3)],
        "full": [of(shares=0.95, algorithms=TREES, alone="dynamic"),
                 of(shares=0.95, algorithms=TREES, alone="dynamic", traffic=0.25)],
    },
    "choices": {
        "small": [of(shares=0.5, algorithms=CHOICES, seeds=3)],
        "full": [of(shares=0.5, algorithms=MORE_CHOICES, seeds=5)],
    },
    "communicators": {
        form: [of(communicators=number, shares=0, seeds=seeds, algorithms="dynamic,static-1,static-4")
               for number in (2, 4, 8)]
        for form, seeds in (("small", 1), ("full", 3))
    },
    "deployment": {
        form: [of(switches=switches, shares=0, seeds=seeds, algorithms="dynamic")
               for switches in ("none", "1", "half", "all")]
        for form, seeds in (("small", 1), ("full", 3))
    },
    "loads": {
        "small": [],
        "full": [of(shares=0.5, traffic=load, seeds=5, algorithms=TREES)
                 for load in (0.45, 0.6, 0.8, 0.25)],
    },
    # Planned trees whose switches wait longer for those whom they were told
    "waiting": {
        "small": [],
        "full": [of(shares=0.5, algorithms="static-2,static-4", static_timeout=timeout)
                 for timeout in ("400ms", "1.21ms..200ms")],
    },
    "more-shares": {
        "small": [],
        "full": [of(shares="0.05,0.25,0.75", algorithms="dynamic", seeds=3),
                 of(shares="0,0.5", algorithms="openmpi", seeds=2)],
    },
    "guest": {
        "small": [],
        "full": [of(engine="kernel", topology="leaf_spine:2,4,2", trees=2, rate="5mbit", size="512K",
                    shares="0,0.5", algorithms="dynamic,static-1,static-2,ring", seeds=2,
                    iterations=1)],
    },
}
# What a picture of goodput over shares is made of
BY_SHARE = ("half", "nobody", "most", "more-shares")


def label(part, row):
    """What tells a row of PART from others in a picture of several scenarios"""
    settings = row["settings"]
    if part == "communicators":
        return f"{settings['communicators']} x {row['algorithm']}"
    if part == "loads":
        return f"{settings['traffic']}, {row['algorithm']}"
    if part == "waiting":
        return f"{settings['static_timeout']}, {row['algorithm']}"
    if part == "deployment":
        return f"{settings['switches']} of the switches"
    if part == "openmpi":
        return f"{settings['rate']}, {settings['size']}, {row['algorithm']}"
    if part == "leaf-spine":
        return f"{100 * row['congestion']:.0f} %, {row['algorithm']}"
    return row["algorithm"]


def by_share(rows, scene):
    """Goodput over the share of hosts that congest, where all else is the same."""
    usual = [row for row in rows if row["scenario"] == rows[0]["scenario"]]
    if len({row["congestion"] for row in usual}) < 2:
        return []
    last = {(row["algorithm"], row["congestion"]): row for row in usual}
    return plots.goodput(list(last.values()), scene.out, "shares",
                         "dynamic trees and others, fat tree of 16 hosts", scene.limit)


def picture(part, rows, scene):
    """Of all scenarios of a part"""
    return plots.bars([(label(part, row), row) for row in rows], scene.out, part, part,
                      None if part in ("communicators", "openmpi") else scene.limit)


def names_rate(options):
    return any(word == "--rate" or word.startswith("--rate=") for word in options)


def rates(args, parts):
    """The rates to try, in Mbit/s: what the machine carries, and less; None: as all options say"""
    if names_rate(args.options):
        return [None]
    if not parts:
        return []
    bits, busy = congestion.carried([*PARTS[parts[0]][args.form][0], *args.options])
    found = [rate for rate in RATES if rate * 1e6 <= bits] or RATES[-1:]
    print(f"This machine carries links of {bits / 1e6:.1f} Mbit/s{busy}: {found[0]} Mbit/s are taken.", flush=True)
    return found


def options_of(options, rate):
    """OPTIONS of a scenario on links of RATE Mbit/s; those that have a lower one keep it"""
    if rate is None or names_rate(options) and float(options[options.index("--rate") + 1][:-4]) <= rate:
        return options
    options = [word for i, word in enumerate(options) if "--rate" not in options[max(0, i - 1):i + 1]]
    return [*options, "--rate", f"{rate}mbit"]


def no_results(rows):
    """Of ROWS, those that a slower link may mend: Open MPI's ranks poll, whatever the rate is."""
    return [row for row in rows if row["limit"] == "processor" and not row["algorithm"].startswith("openmpi")]


def measure(args, part, rate):
    """(status, rows, scene) of all scenarios of PART; no scene if it was given up"""
    failed, rows, scene = 0, [], None
    for options in PARTS[part][args.form]:
        status, found, scene = congestion.go_through(
            ["--label", part, *options_of(options, rate), *args.options])
        if scene is None:
            return status, rows, None
        failed |= status
        rows += found
    return failed, rows, scene


def draw(args, part, rows, every, scene):
    if part in BY_SHARE:
        paths = by_share(every, scene)
    else:
        paths = picture(part, rows, scene) if len(PARTS[part][args.form]) > 1 and rows else []
    for path in paths:
        print(f"picture: {os.path.relpath(path)}")


def demonstrate(args, parts):
    """All parts on links of one rate; the exit status"""
    left = rates(args, parts)
    failed = 0
    while left:
        rate, left = left[0], left[1:]
        failed, every, lower = 0, [], False
        for number, part in enumerate(parts):
            print(f"== part {number + 1} of {len(parts)}: {part}", flush=True)
            status, rows, scene = measure(args, part, rate)
            if scene is None:
                return status
            failed |= status
            every += rows if part in BY_SHARE else []
            draw(args, part, rows, every, scene)
            lacking = no_results(rows)
            if lacking:
                print(f"{len(lacking)} of {len(rows)} rows are no results, {lacking[0]['algorithm']}: "
                      f"{results.why_not(lacking[0])}.", flush=True)
                failed = 1
                lower = bool(left)
            if lower:
                print(f"== all again on links of {left[0]} Mbit/s", flush=True)
                break
        if not lower:
            break
    return failed


def main():
    parser = arguments.Parser(__doc__, "After --: further options of congestion.py.")
    parser.add_argument("--form", choices=["small", "full"], default="small",
                        help="35 minutes on two idle processors, or two hours (%(default)s)")
    parser.add_argument("--parts", default=",".join(PARTS), help="with commas (all: %(default)s)")
    args = parser.parse_with_options(sys.argv[1:])
    parts = args.parts.split(",")
    if set(parts) - set(PARTS):
        parser.error(f"--parts: there are {', '.join(PARTS)}")
    parts = [part for part in parts if PARTS[part][args.form]]
    try:
        return demonstrate(args, parts)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"congestion_demo.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
