#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Simulates the congestion of topology/congestion.py in larger fat trees than two processors can
emulate, with half of the hosts and the same links, queues, timeouts and traffic. It shows how the
advantage of dynamic trees over the best number of static ones depends on the size.

  tools/sim/scale.py --radix 4 6 8 --traffic 0.45 0.6
"""
import argparse
import json
import os
import random
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from validate import TOP, rate_of, scenario, simulate  # noqa: E402

PAYLOAD = 352 * 4 / (352 * 4 + 106)     # share of a link that carries elements
SETTINGS = {"rate": "10mbit", "queue": None, "protocol": "udp", "period": 1, "size": "1M",
            "iterations": 2, "timeout": "1.21ms..48.4ms", "communicators": 1, "switches": "all",
            "program": ""}


def placement(hosts, seed):
    order = [f"h{i + 1}" for i in range(hosts)]
    random.Random(seed).shuffle(order)
    return order


def goodput(args, radix, traffic, algorithm, seed, directory):
    """Return: goodput as a share of the limit"""
    hosts = radix ** 3 // 4
    trees = int(algorithm.partition("-")[2] or 0)
    settings = {**SETTINGS, "topology": f"fat_tree:{radix}", "traffic": traffic,
                "static_timeout": args.static_timeout, "trees": radix ** 2 // 4}
    run = {"algorithm": algorithm, "share": 0.5, "seed": seed, "members": hosts // 2,
           "congesting": hosts // 2, "placement": placement(hosts, seed), "goodput": None}
    if trees > settings["trees"]:
        return None
    keys = scenario(run, settings, directory)
    return simulate(args.simulator, keys) * 1e6 / (rate_of(SETTINGS["rate"]) * PAYLOAD)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"scale: {message}\n")


def judge(args):
    """Numbers that do not fit are refused before anything is simulated."""
    for radix in args.radix:
        if radix < 4 or radix % 2 or radix > 32:
            raise ValueError(f"--radix {radix}: not an even number from 4 to 32")
    for traffic in args.traffic:
        if not 1e-6 <= traffic <= 1:
            raise ValueError(f"--traffic {traffic}: not a share of a link, above 0 and up to 1")
    for trees in args.trees:
        if not 1 <= trees <= 32:
            raise ValueError(f"--trees {trees}: not 1 to 32")
    if min(args.trees) > min(args.radix) ** 2 // 4:
        raise ValueError(f"--trees: a fat tree of radix {min(args.radix)} has only "
                         f"{min(args.radix) ** 2 // 4} cores")
    if args.placements < 1:
        raise ValueError(f"--placements {args.placements}: at least one")
    if args.json:
        new = not os.path.exists(args.json)
        with open(args.json, "a", encoding="ascii"):
            pass
        if new:     # remove the folder if a run fails
            os.remove(os.path.realpath(args.json))


def main(argv=None):
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulator", default=os.path.join(TOP, "build/bin/canary-sim"))
    parser.add_argument("--radix", type=int, nargs="+", default=[4, 6, 8])
    parser.add_argument("--traffic", type=float, nargs="+", default=[0.45])
    parser.add_argument("--trees", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--static-timeout", default=SETTINGS["timeout"])
    parser.add_argument("--placements", type=int, default=5)
    parser.add_argument("--json", help="also write the table here")
    args = parser.parse_args(argv)
    judge(args)
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        for radix in args.radix:
            for traffic in args.traffic:
                row = {"radix": radix, "hosts": radix ** 3 // 4, "traffic": traffic}
                for algorithm in ["dynamic", *(f"static-{n}" for n in args.trees)]:
                    found = [goodput(args, radix, traffic, algorithm, seed, directory)
                             for seed in range(1, args.placements + 1)]
                    row[algorithm] = None if None in found else round(statistics.median(found), 3)
                best = max(value for name, value in row.items()
                           if name.startswith("static") and value)
                row["ratio"] = round(row["dynamic"] / best, 2)
                rows.append(row)
                print(" ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    if args.json:
        with open(args.json, "w", encoding="ascii") as file:
            json.dump(rows, file, indent=1)
            file.write("\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        print(f"scale: {error}", file=sys.stderr)
        sys.exit(2)
