#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""All figures about congestion, one part after the other: shares of hosts that
congest, what they offer, ways to choose a port, several communicators, few
switches that run the program.

  topology/congestion_demo.py                   the small form, as make demo-congestion
  topology/congestion_demo.py --form full
  topology/congestion_demo.py --parts choices --form full -- --traffic 0.5
  topology/congestion_demo.py --parts guest     AF_CANARY in the guest, as make demo-congestion-guest

Links have the highest of RATES that this machine carries, unless a rate follows --: what it forwards
is measured, then one run is tried. Where rows show later that it does not, that part is measured again with the next
lower one, which the rest has, too. What is said of links by a machine that is too busy is no result, and
rows say so; where no rate gives results, nothing is measured. The guest has its own rate: its clock counts
instructions.

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
# With less than the first of them vectors are half as long, and who is slow gets so many seconds Mbit/s
PATIENCE = 1200
CHOICES = "dynamic,dynamic-early,dynamic-adaptive,dynamic-block,dynamic-flow"
MORE_CHOICES = f"{CHOICES},dynamic-flowlet,dynamic-random,dynamic-two"
TREES = "dynamic,static-1,static-2,static-4"
LEAF_SPINE = ["--topology", "leaf_spine:4,4,2"]
# Links with which a quarter of the guest's processor is idle, and what docs/results/simulator.md says
GUEST = ["--engine", "kernel", "--rate", "3mbit", "--size", "512K", "--window", "64", "--generator", "plain"]


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


def value_of(options, name):
    """What the option NAME says among OPTIONS, or None"""
    return options[options.index(name) + 1] if name in options else None


def is_guests(options):
    """Whether what they measure does not depend on this machine"""
    return value_of(options, "--engine") == "kernel"


def rates(args, parts):
    """(exit status so far, the rates to try, in Mbit/s: what the machine carries, and less; None: as all
    options say)"""
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
    """As go_through(), of the first run, which is kept"""
    return congestion.go_through(congestion.first_of([*options_of(options, rate), *args.options]))


def options_of(options, rate):
    """OPTIONS of a scenario on links of RATE Mbit/s; those that have a lower one keep it"""
    if rate is None or is_guests(options) or names_rate(options) and float(value_of(options, "--rate")[:-4]) <= rate:
        return options
    options = [word for i, word in enumerate(options) if "--rate" not in options[max(0, i - 1):i + 1]]
    options = [*options, "--rate", f"{rate}mbit"]
    if rate < RATES[0]:
        size = {None: "512K", "4M": "2M"}.get(value_of(options, "--size"), value_of(options, "--size"))
        options += ["--size", size, "--patience", str(max(120, PATIENCE // rate))]
    return options


def no_results(rows):
    """Of ROWS, those that a slower link may mend: Open MPI's ranks poll, whatever the rate is."""
    return [row for row in rows if row["limit"] == "processor" and not row["algorithm"].startswith("openmpi")]


def complaint(status, rows):
    """None, or what a slower link may mend about ROWS"""
    lacking = no_results(rows)
    if not lacking:
        return "runs failed" if status else None
    return f"{len(lacking)} of {len(rows)} rows are none, {lacking[0]['algorithm']}: {results.why_not(lacking[0])}"


def measure(args, part, rate):
    """(status, rows, scene) of all scenarios of PART; no scene if it was given up. With a RATE, not beyond
    rows that are no results."""
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
    """All parts, on links of one rate as long as they give results; the exit status"""
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
