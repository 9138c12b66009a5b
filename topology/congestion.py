#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Congestion: dynamic trees against static trees, the ring and Open MPI on an
emulated network whose other hosts send each other random uniform traffic.

  topology/congestion.py                        a small matrix, as make demo-congestion
  topology/congestion.py --shares 0,0.25,0.5,0.75 --seeds 5 --size 4M
  topology/congestion.py --topology leaf_spine:4,8,5 --shares 0.95
  topology/congestion.py --algorithms dynamic,dynamic-adaptive,dynamic-block,dynamic-flow,dynamic-flowlet
  topology/congestion.py --engine kernel        AF_CANARY, in the guest that counts instructions

Each run is kept as a line of runs.jsonl in the output directory; the same
command goes on where it was interrupted. At the end: congestion.json (a list of
{scenario, algorithm, congestion, goodput_median, goodput_spread, unit, runs}),
congestion.csv and pictures.
"""
import argparse
import csv
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from canary_topo import congestion, experiment, plots, system, topology_by_name  # noqa: E402
from canary_topo.net import parse_rate  # noqa: E402
from canary_topo.node import TOP  # noqa: E402

GUEST = os.path.join(TOP, "selftests/vm/run.sh")
TRAFFIC = 0.45      # of a link's rate, by each host that congests
ALGORITHMS = "dynamic,static-1,static-2,static-4,ring,openmpi"


def say(text=""):
    print(text, flush=True)


def numbers(text, kind, low, high, what):
    try:
        values = [kind(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(f"{what}: '{text}' are no numbers") from None
    if not all(low <= value <= high for value in values):
        raise ValueError(f"{what}: {low} to {high}, not '{text}'")
    return values


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--topology", default="fat_tree:4", help="as topology/run.py has them")
    add("--trees", type=int, default=4, help="static trees that there can be: roots to draw from")
    add("--rate", default="10mbit", help="of all links")
    add("--queue", type=int, help="bytes that may wait at each end of a link")
    add("--algorithms", default=ALGORITHMS, help="dynamic, dynamic-CHOICE, static-T, ring, openmpi, "
                                                 "openmpi-ALGORITHM")
    add("--shares", default="0,0.5", help="of the hosts that congest; the others sum")
    add("--traffic", type=float, default=TRAFFIC, help="what each of these offers, of a link's rate")
    add("--protocol", choices=["udp", "tcp"], default="udp", help="of that traffic")
    add("--period", type=float, default=3, help="seconds after which these hosts change their peers")
    add("--seeds", type=int, default=5, help="random placements")
    add("--size", default="1M", help="of the vector, bytes")
    add("--iterations", type=int, default=1)
    add("--timeout", help="of the switches (adapts between 1 and 40 frames' time on a link)")
    add("--static-timeout", help="the same with static trees, where switches are told whom to wait for "
                                 "(as --timeout)")
    add("--communicators", type=int, default=1, help="that sum at the same time, on hosts of their own")
    add("--switches", default="all", help="which run the program: all, none, half, a number, or names")
    add("--engine", choices=["user", "kernel"], default="user")
    add("--patience", type=float, default=120, help="seconds until a run is given up")
    add("--out", default=os.path.join(TOP, "build/congestion"))
    add("--label", default="", help="of the pictures")
    add("--json", default=os.path.join(TOP, "build/congestion.json"))
    add("--again", action="store_true", help="forget the runs of earlier")
    add("--any-rate", action="store_true", help="even if this machine cannot carry it")
    add("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    frames = 1e3 * congestion.FRAME_BITS / (parse_rate(args.rate) or 1e9)
    args.timeout = args.timeout or f"{frames:.3g}ms..{min(1000, 40 * frames):.3g}ms"
    args.static_timeout = args.static_timeout or args.timeout
    args.share_list = numbers(args.shares, float, 0, 0.99, "--shares")
    args.algorithm_list = [congestion.Algorithm(name) for name in args.algorithms.split(",")]
    if args.communicators < 1:
        raise ValueError("--communicators: at least 1")
    if args.seeds < 1 or args.iterations < 1 or not 0 < args.traffic <= 1:
        raise ValueError("--seeds and --iterations: at least 1; --traffic: above 0, at most 1")
    return args


def scenario(args):
    """The name under which results are kept together."""
    more = f", {args.communicators} communicators" if args.communicators > 1 else ""
    more += f", others offer {args.traffic:g}" if args.traffic != TRAFFIC else ""
    number = args.switches if args.switches.isdigit() else args.switches.count(",") + 1
    more += {"all": "", "none": ", no switch", "half": ", half of the switches"}.get(
        args.switches, f", {number} of the switches")
    return f"{args.topology.replace(':', '-k' if args.topology.startswith('fat') else '-').replace('_', '-')}" \
           f", {args.engine} engine{more}"


def settings(args):
    """All that makes runs comparable."""
    return {name: getattr(args, name) for name in
            ("topology", "rate", "queue", "traffic", "protocol", "period", "size", "iterations",
             "timeout", "static_timeout", "engine", "communicators", "switches")}


class Runs:
    """The file of finished runs."""

    def __init__(self, directory, forget):
        os.makedirs(directory, exist_ok=True)
        self.path = os.path.join(directory, "runs.jsonl")
        self.runs = []
        if forget and os.path.exists(self.path):
            os.unlink(self.path)
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                for line in file:
                    try:
                        self.runs.append(json.loads(line))
                    except ValueError:
                        pass    # the end of an interrupted run

    def find(self, key):
        """The last one"""
        return next((run for run in reversed(self.runs) if run["key"] == key), None)

    def alike(self, keys):
        """The last one of each placement, also of placements that KEYS are not about."""
        cases = {json.dumps(json.loads(key)[:3]) for key in keys}
        last = {run["key"]: run for run in self.runs
                if json.dumps(json.loads(run["key"])[:3]) in cases}
        return list(last.values())

    def add(self, run):
        self.runs.append(run)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(run) + "\n")


def refuse_impossible(args, rate):
    """Measures what this machine forwards; RuntimeError if the links could carry more."""
    with experiment.Testbed(topology_by_name(args.topology), switches="none") as testbed:
        possible = congestion.packet_hops_possible(testbed)
        needed = max(congestion.packet_hops_needed(testbed.net, rate, share, args.traffic)
                     for share in args.share_list)
    possible *= congestion.SHARE_FOR_FORWARDING
    say(f"This machine forwards {possible:.0f} packets a second from port to port besides the rest; "
        f"these links can ask for {needed:.0f}.")
    if needed > possible and not args.any_rate:
        raise RuntimeError(f"--rate {args.rate}: at most {rate * possible / needed / 1e6:.1f}mbit, or the "
                           "processor would be measured and not the links (--any-rate: all the same)")


def go(args, runs, scene, todo):
    """Does what is left to do."""
    with experiment.Testbed(topology_by_name(args.topology), rate=scene.rate, queue=args.queue,
                            timeout=args.timeout, mode="shaped",
                            switches=args.switches) as testbed:
        begin = time.monotonic()
        for number, (key, algorithm, share, seed) in enumerate(todo):
            timeline = algorithm.name == "dynamic" and seed == 1 and share > 0
            try:
                run = congestion.measure(testbed, scene, algorithm, share, seed, timeline)
            except RuntimeError as error:
                run = {"algorithm": algorithm.name, "share": share, "seed": seed,
                       "failed": str(error)}
            run.update(key=key, scenario=scenario(args))
            runs.add(run)
            result = f"{run['goodput'] / 1e6:.2f} Mbit/s, {run['of_limit']:.2f} of the limit" \
                if "goodput" in run else f"FAILED: {run['failed'][:200]}"
            left = (time.monotonic() - begin) / (number + 1) * (len(todo) - number - 1)
            say(f"[{number + 1}/{len(todo)}, {left / 60:.0f} min left] {algorithm.name:10} "
                f"{100 * share:3.0f} % congest, placement {seed}: {result}")


def with_defaults(args, runs):
    """RUNS, and those of Open MPI as it comes, which were part of others."""
    found = list(runs)
    for run in runs:
        seconds = run.get("seconds_by_algorithm", {}).get("default")
        if seconds:
            found.append({**run, "algorithm": "openmpi-default",
                          "goodput": 8 * congestion.scene_bytes(args.size) / seconds})
    return found


def row_of(args, runs, limit):
    """What RUNS of one algorithm and share come to; None if all failed."""
    good = [run for run in runs if "goodput" in run]
    if not good:
        return None
    goodput = [run["goodput"] / 1e6 for run in good]

    def median(value):
        values = [found for found in map(value, good) if found is not None]
        return round(statistics.median(values), 4) if values else None

    return {"scenario": scenario(args), "algorithm": good[0]["algorithm"],
            "congestion": good[0]["share"], "goodput_median": round(statistics.median(goodput), 4),
            "goodput_spread": [round(min(goodput), 4), round(max(goodput), 4)], "unit": "Mbit/s",
            "runs": len(good), "failed": len(runs) - len(good),
            "of_limit": round(1e6 * statistics.median(goodput) / limit, 4),
            "congesting": good[0]["congesting"], "members": good[0]["members"],
            "jain": median(lambda run: run.get("jain")),
            "contributions_per_block": median(lambda run: run.get("contributions_per_block")),
            "cpu_idle": median(lambda run: run["machine"]["idle"]),
            "late_ms": median(lambda run: run["machine"]["late_ms"][1])}


def summary(args, runs, limit):
    """A row for each algorithm and share, over all placements."""
    runs = with_defaults(args, runs)
    rows = [row_of(args, [run for run in runs if (run["algorithm"], run["share"]) == (name, share)],
                   limit)
            for name in dict.fromkeys(run["algorithm"] for run in runs)
            for share in sorted({run["share"] for run in runs})]
    return [row for row in rows if row]


def pictures(args, runs, rows, scene):
    name = "-".join(filter(None, [args.label, *re.split("[^a-z0-9]+", scenario(args))]))
    title = f"{scenario(args)}, {args.size} bytes, {args.rate} links, others offer {args.traffic:g} of it"
    paths = []
    if len({row["congestion"] for row in rows}) > 1:
        paths = plots.goodput(rows, args.out, f"goodput-{name}", title, scene.limit)
    elif len(rows) > 1:
        paths = plots.bars([(row["algorithm"], row) for row in rows], args.out, f"goodput-{name}",
                           f"{title}\n{100 * rows[0]['congestion']:.0f} % of the hosts congest",
                           scene.limit * args.communicators)
    for share in sorted({run["share"] for run in runs}):
        some = [run for run in runs if run["share"] == share and run.get("utilisation")]
        if some:
            paths += plots.utilisation(some, args.out, f"links-{name}-{100 * share:.0f}",
                                       f"{100 * share:.0f} % of the hosts congest")
    for run in runs:
        if run.get("timeline"):
            paths += plots.timeline(run, args.out,
                                    f"timeline-{name}-{100 * run['share']:.0f}")
    return paths


def write(args, rows):
    """Other rows in the file stay."""
    try:
        with open(args.json, encoding="utf-8") as file:
            old = json.load(file)
    except (FileNotFoundError, ValueError):
        old = []
    def key(row):
        return row["scenario"], row["algorithm"], row["congestion"]

    mine = set(map(key, rows))
    rows = [row for row in old if key(row) not in mine] + rows
    os.makedirs(os.path.dirname(os.path.abspath(args.json)), exist_ok=True)
    with open(args.json, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")
    with open(os.path.join(args.out, "congestion.csv"), "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, fieldnames=list(dict.fromkeys(key for row in rows for key in row)))
        table.writeheader()
        table.writerows(rows)


def tell(rows):
    say()
    for row in rows:
        low, high = row["goodput_spread"]
        text = f"{row['algorithm']:12} {100 * row['congestion']:3.0f} % congest: median " \
               f"{row['goodput_median']:8.3f} {row['unit']} ({low:.3f} to {high:.3f}, {row['runs']} runs"
        if row["failed"]:
            text += f", {row['failed']} failed"
        text += ")"
        if row["contributions_per_block"]:
            text += f", {row['contributions_per_block']:.1f} packets a block at its leader"
        if (row["jain"] or 1) < 1:
            text += f", Jain index {row['jain']:.3f}"
        say(text)


def in_guest(args, argv):
    say("AF_CANARY needs canary.ko: this runs in a guest with Debian's kernel, whose clock counts")
    say("instructions, so that links and not this machine's load are measured.")
    os.makedirs(args.out, exist_ok=True)
    words = [GUEST, "--icount", "--mem", "3G", "--timeout", "86000", "--out", args.out, "--",
             "/usr/bin/python3", os.path.abspath(__file__), *argv, "--inside", "--out", args.out,
             "--json", os.path.join(args.out, "guest.json"), "--patience", "1000000", "--any-rate"]
    status = subprocess.run(words, check=False).returncode
    if status not in (0, 1):
        raise RuntimeError(f"the guest ended with status {status}; what it measured is kept")


def left_to_do(args, runs):
    """(keys of all runs, those that are not there yet)"""
    todo, keys = [], []
    for algorithm in args.algorithm_list:
        why_not = algorithm.why_not()
        if why_not:
            say(f"{algorithm.name} is left out: {why_not}")
            continue
        for share in args.share_list:
            for seed in range(1, args.seeds + 1):
                key = json.dumps([settings(args), algorithm.name, share, seed])
                keys.append(key)
                if "goodput" not in (runs.find(key) or {}):
                    todo.append((key, algorithm, share, seed))
    # Interleaved: what else the machine does hits all alike
    todo.sort(key=lambda item: (item[3], item[2]))
    return keys, todo


def run_all(args, argv):
    """Measures what is missing; all runs that were asked for."""
    rate = parse_rate(args.rate)
    if not rate:
        raise ValueError("--rate: links without a rate are never congested")
    scene = congestion.Scene(args.topology, rate, args.trees, args.timeout, args.static_timeout,
                             args.size, args.iterations, args.engine, args.traffic,
                             args.protocol, args.patience, args.queue, args.communicators,
                             args.period)
    runs = Runs(args.out, args.again)
    keys, todo = left_to_do(args, runs)
    if len(todo) < len(keys):
        say(f"{len(keys) - len(todo)} of {len(keys)} runs are there already (--again: all anew)")
    if todo and args.engine == "kernel" and not args.inside \
            and not os.path.exists("/sys/module/canary"):
        in_guest(args, [word for word in argv if word != "--again"])
        runs = Runs(args.out, False)
    elif todo:
        ended = system.sweep()
        if ended:
            say(f"Ended what an earlier run left: {', '.join(ended)}")
        if args.inside:
            from demo import MODULE, load_module  # pylint: disable=import-outside-toplevel
            load_module(MODULE)
        else:
            refuse_impossible(args, rate)
        go(args, runs, scene, todo)
    return scene, runs.alike(keys)


def go_through(argv):
    """(exit status, rows, scene) of one scenario; no scene if it is none."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        args = parse(argv)
        scene, mine = run_all(args, argv)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"congestion.py: {error}", file=sys.stderr)
        return 2, [], None
    except KeyboardInterrupt:
        print("congestion.py: interrupted; the same command goes on here", file=sys.stderr)
        return 130, [], None
    scene.out = args.out
    rows = summary(args, mine, scene.limit)
    write(args, rows)
    tell(rows)
    if not args.inside and rows:
        for path in pictures(args, mine, rows, scene):
            say(f"picture: {os.path.relpath(path)}")
    say(f"written to {os.path.relpath(args.json)}")
    return 1 if any("failed" in run for run in mine) else 0, rows, scene


if __name__ == "__main__":
    sys.exit(go_through(sys.argv[1:])[0])
