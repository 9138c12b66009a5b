#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""All figures about congestion, one part after the other: shares of hosts that congest, what these
offer, ways to choose a port, several communicators, few switches that run the program.

  topology/congestion_demo.py                   the small form, as make demo-congestion
  topology/congestion_demo.py --form full
  topology/congestion_demo.py --parts choices --form full -- --traffic 0.5
  topology/congestion_demo.py --parts guest     AF_CANARY in the guest, as make demo-congestion-guest

Links have the highest of RATES that this machine carries, unless a rate follows --. To find it, the
program measures what the machine forwards, then it tries one run. If rows show later that a rate is
too high, their part is measured again with the next lower one, and so is the rest. A machine that
is too busy gives no results about links, and its rows say so. If no rate gives results, nothing is
measured. The guest has its own rate, as its clock counts instructions.

What follows -- goes to topology/congestion.py, for all parts. After an interruption, the same
command goes on where it was.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import congestion  # noqa: E402
from canary_topo import arguments, plots, results  # noqa: E402

# Mbit/s
RATES = [10, 5, 3, 2, 1]
# Seconds times Mbit/s: a slow run may take so long on links with less than RATES[0]. Vectors are
# half as long there.
PATIENCE = 1200
CHOICES = "dynamic,dynamic-early,dynamic-adaptive,dynamic-block,dynamic-flow"
MORE_CHOICES = f"{CHOICES},dynamic-flowlet,dynamic-random,dynamic-two"
TREES = "dynamic,static-1,static-2,static-4"
LEAF_SPINE = ["--topology", "leaf_spine:4,4,2"]
# The guest: with this rate a quarter of its processor is idle. docs/results/simulator.md explains
# the rest.
GUEST = ["--engine", "kernel", "--rate", "3mbit", "--size", "512K", "--window", "64", "--generator", "plain"]


def of(*words, **options):
    """Words for congestion.py"""
    return [*words, *(str(word) for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value))]


# {part: {form: options of congestion.py, one list for each scenario}}; the most important part
# comes first
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
    # Open MPI. At a third of the rate, too, where the processors are not the limit.
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
    # Static trees whose switches wait longer for the contributions that they were told to expect
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
        form: [of(*GUEST, shares=0.5, algorithms=TREES, seeds=seeds),
               of(*GUEST, shares=0, algorithms=f"{TREES},ring", seeds=1)]
        for form, seeds in (("small", 5), ("full", 10))
    },
    "guest-leaf-spine": {
        "small": [],
        "full": [of(engine="kernel", topology="leaf_spine:2,4,2", trees=2, rate="5mbit", size="512K",
                    shares="0,0.5", algorithms="dynamic,static-1,static-2,ring", seeds=2,
                    iterations=1)],
    },
}
# Parts that share a plot of goodput over the share of hosts that congest
BY_SHARE = ("half", "nobody", "most", "more-shares")


def label(part, row):
    """A label for a row of PART in a plot of several scenarios"""
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
    """Plot goodput over the share of hosts that congest, for scenarios that are equal otherwise."""
    usual = [row for row in rows if row["scenario"] == rows[0]["scenario"]]
    if len({row["congestion"] for row in usual}) < 2:
        return []
    last = {(row["algorithm"], row["congestion"]): row for row in usual}
    return plots.goodput(list(last.values()), scene.out, "shares",
                         "dynamic trees and others, fat tree of 16 hosts", scene.limit)


def picture(part, rows, scene):
    """Plot all scenarios of a part."""
    return plots.bars([(label(part, row), row) for row in rows], scene.out, part, part,
                      None if part in ("communicators", "openmpi") else scene.limit)


def names_rate(options):
    return any(word == "--rate" or word.startswith("--rate=") for word in options)


def value_of(options, name):
    """Value of the option NAME in OPTIONS, or None"""
    return options[options.index(name) + 1] if name in options else None


def is_guests(options):
    """Do they measure in the guest, where this machine does not matter?"""
    return value_of(options, "--engine") == "kernel"


def rates(args, parts):
    """Return: (exit status so far, rates to try, in Mbit/s). The first rate is what the machine
    carries, the others are lower. [None] keeps the rates that the options say."""
    own = [options for part in parts for options in PARTS[part][args.form] if not is_guests(options)]
    if names_rate(args.options) or not own:
        return 0, [None]
    bits, busy = congestion.carried([*own[0], *args.options])
    found = [rate for rate in RATES if rate * 1e6 <= bits] or RATES[-1:]
    print(f"This machine forwards what links of {bits / 1e6:.1f} Mbit/s carry{busy}.", flush=True)
    while found:
        rate, found = found[0], found[1:]
        status, rows, scene = try_out(args, own[0], rate)
        if scene is None:
            return status, []
        why = complaint(status, rows)
        if not why:
            print(f"== links of {rate} Mbit/s are taken", flush=True)
            return 0, [rate, *found]
        print(f"With links of {rate} Mbit/s it gives no results: {why}.", flush=True)
    print("Nothing is measured: this machine has too much else to do, or is too slow. With `-- --rate 1mbit` all "
          "is measured, and rows say that they are none.", flush=True)
    return 1, []


def try_out(args, options, rate):
    """congestion.go_through() of the first run, whose result is kept"""
    return congestion.go_through(congestion.first_of([*options_of(options, rate), *args.options]))


def options_of(options, rate):
    """OPTIONS of a scenario on links of RATE Mbit/s. Options that have a lower rate keep it."""
    if rate is None or is_guests(options) or names_rate(options) and float(value_of(options, "--rate")[:-4]) <= rate:
        return options
    options = [word for i, word in enumerate(options) if "--rate" not in options[max(0, i - 1):i + 1]]
    options = [*options, "--rate", f"{rate}mbit"]
    if rate < RATES[0]:
        size = {None: "512K", "4M": "2M"}.get(value_of(options, "--size"), value_of(options, "--size"))
        options += ["--size", size, "--patience", str(max(120, PATIENCE // rate))]
    return options


def no_results(rows):
    """Rows without a result for which a slower link may help. Open MPI's ranks poll, whatever the
    rate is."""
    return [row for row in rows if row["limit"] == "processor" and not row["algorithm"].startswith("openmpi")]


def complaint(status, rows):
    """None, or a reason to try slower links"""
    lacking = no_results(rows)
    if not lacking:
        return "runs failed" if status else None
    return f"{len(lacking)} of {len(rows)} rows are none, {lacking[0]['algorithm']}: {results.why_not(lacking[0])}"


def measure(args, part, rate):
    """Measure all scenarios of PART. Return: (status, rows, scene); the scene is None if the part
    was given up. With a RATE, stop at rows that are no results."""
    failed, rows, scene = 0, [], None
    for options in PARTS[part][args.form]:
        status, found, scene = congestion.go_through(
            ["--label", part, *options_of(options, rate), *args.options])
        if scene is None:
            return status, rows, None
        failed |= status
        rows += found
        if rate and not is_guests(options) and complaint(status, found):
            break
    return failed, rows, scene


def draw(args, part, rows, every, scene):
    if part in BY_SHARE:
        paths = by_share(every, scene)
    else:
        paths = picture(part, rows, scene) if len(PARTS[part][args.form]) > 1 and rows else []
    for path in paths:
        print(f"picture: {os.path.relpath(path)}")


def demonstrate(args, parts):
    """Do all parts, on links of one rate as long as that gives results. Return: the exit status"""
    failed, left = rates(args, parts)
    every, number = [], 0
    while left and number < len(parts):
        part = parts[number]
        print(f"== part {number + 1} of {len(parts)}: {part}", flush=True)
        status, rows, scene = measure(args, part, left[0])
        if scene is None:
            return status
        why = complaint(status, rows)
        if why:
            print(f"No results: {why}.", flush=True)
            status = 1
        if why and left[0] and not is_guests(PARTS[part][args.form][0]):
            left = left[1:]
            failed = 0 if left else 1
            print(f"== again, and the rest, on links of {left[0]} Mbit/s" if left else
                  "== no more: there is no lower rate", flush=True)
            continue
        failed |= status
        every += rows if part in BY_SHARE else []
        draw(args, part, rows, every, scene)
        number += 1
    return failed


def main():
    parser = arguments.Parser(__doc__, "After --: further options of congestion.py.")
    parser.add_argument("--form", choices=["small", "full"], default="small",
                        help="35 minutes on two idle processors, or two hours (%(default)s)")
    parser.add_argument("--parts", help=f"with commas, of {', '.join(PARTS)} (all; without the guest in the small form)")
    args = parser.parse_with_options(sys.argv[1:])
    usual = [part for part in PARTS if args.form == "full" or part != "guest"]
    parts = args.parts.split(",") if args.parts else usual
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
