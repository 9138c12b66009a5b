#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Communicators that share switches and links. Each sums vectors and checks every element, all at
the same time. Prints the goodput of each, their sum compared with that of one alone, and Jain's
index of fairness ((sum x)^2 / (n sum x^2)).

  topology/tenants.py --communicators 2 4 8 --rate 50mbit -j
"""
import json
import os
import shutil
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from canary_topo import arguments, experiment, system, together, topology_by_name  # noqa: E402
from canary_topo.jobs import Rank  # noqa: E402
from canary_topo.net import parse_rate  # noqa: E402
from canary_topo.trial import Trial  # noqa: E402


def trials_of(testbed, args, count, work):
    """COUNT communicators, each with a rank on every host, at a port of its own"""
    found = []
    for number in range(count):
        ranks = [Rank(i, host, experiment.FIRST_PORT + number, args.engine)
                 for i, host in enumerate(testbed.net.hosts)]
        options = ["--operations", args.operations, "--elements", args.elements, "--inflight", 2,
                   "--seed", number + 1, "--linger", "10s"]
        found.append(Trial(testbed, os.path.join(work, f"{count}.{number}"), ranks, options,
                           1000 * count + number + 1, args.stall))
    return found


def measure(testbed, args, count, work):
    """Goodputs while all COUNT communicators are at work"""
    trials = trials_of(testbed, args, count, work)
    rates, seconds = together.goodputs(trials, args.operations)
    wrong = together.wrong(trials)
    return {"communicators": count, "right": not wrong, "wrong": wrong,
            "seconds": round(seconds, 3), "goodput_bps": [round(rate) for rate in rates],
            "sum_bps": round(sum(rates)), "jain": round(together.jain(rates), 4)}


def parse(argv):
    parser = arguments.Parser(__doc__)
    number, add = arguments.number, parser.add_argument
    add("--communicators", nargs="+", type=number(int, 1, 62), default=[1, 2, 4, 8],
        help="at a time, one measurement each, at most 62 (1 2 4 8)")
    add("--topology", type=arguments.taken_by(topology_by_name), default="leaf_spine:2,2,2",
        help="as run.py has it (%(default)s)")
    add("--rate", type=arguments.taken_by(parse_rate), default="50mbit", help="of all links (%(default)s)")
    add("--engine", choices=["auto", "kernel", "user"], default="user")
    add("--elements", type=number(int, 1, 1 << 26), default=100000, help="of a vector (%(default)s)")
    add("--operations", type=number(int, 3, 1000000), default=12, help="of each communicator (%(default)s)")
    add("--stall", type=number(float, 0.1, 1000000), default=120,
        help="seconds without progress that are a hang (%(default)s)")
    add("-j", "--json", action="store_true", help="print JSON, a line for each measurement")
    return parser.parse_args(argv)


def main():
    args = parse(sys.argv[1:])
    system.end_by_signals(signal.SIGTERM, signal.SIGHUP)
    system.sweep()
    work = system.work_directory()
    failed = False
    try:
        with experiment.Testbed(topology_by_name(args.topology), rate=parse_rate(args.rate),
                                mode="shaped", logs=work) as testbed:
            for count in args.communicators:
                result = measure(testbed, args, count, work)
                failed |= not result["right"]
                print(json.dumps(result) if args.json else
                      f"{count} communicators: {'right' if result['right'] else 'WRONG'}, "
                      f"{result['sum_bps'] / 1e6:.1f} Mbit/s in all, Jain {result['jain']}, "
                      f"each {[round(rate / 1e6, 1) for rate in result['goodput_bps']]}", flush=True)
                for line in result["wrong"]:
                    print(f"  {line}", file=sys.stderr)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ValueError, RuntimeError, OSError) as error:
        print(f"tenants.py: {error}", file=sys.stderr)
        sys.exit(2)
