#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs a job on the hosts of a testbed, checks every result, and writes the counters of switches,
links, faults and ranks.

  topology/run.py --topology leaf_spine:2,4,2 allreduce --elements 100000
  topology/run.py --topology through_router --faults drop=1% digits -- --epochs 3
  topology/run.py --switches none --rate 100mbit perf -- -b 1M -e 4M
  topology/run.py --per-host 2 command -- sh -c 'echo {rank} of {members}'
"""
import json
import os
import shutil
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from canary_topo import arguments, experiment, jobs, system, topology_by_name  # noqa: E402
from canary_topo.net import parse_rate  # noqa: E402


def parse(argv):
    parser = arguments.Parser(__doc__, "After --: further options of the job, or the command.")
    number, add = arguments.number, parser.add_argument
    add("--topology", default="leaf_spine:2,4,2",
        help="star:N, leaf_spine:SPINES,LEAVES,HOSTS, fat_tree:K, through_router:HOSTS, "
             "behind_router:BEHIND,BESIDE, file:topology/shapes/NAME.topo")
    add("--rate", type=arguments.taken_by(parse_rate), default="none",
        help="of all links, such as 100mbit (none: not shaped)")
    add("--queue", type=number(int, 1514, 1 << 30), help="bytes that may wait at each end of a link")
    add("--mtu", type=number(int, 576, 9000), help="of all links, 576 to 9000")
    add("--mode", choices=["fast", "shaped"],
        help="how switches send (shaped with --rate or --faults, which fast would bypass)")
    add("--switches", default="all", help="which run the program: all, none, half, or names")
    add("--switch-timeout", default="1ms", help="how long a switch waits for more")
    add("--switch-option", action="append", default=[], help="further option of `canary switch run`")
    add("--admission", action="store_true", help="switches only admit the hosts that have ranks, by their links")
    add("--faults", help="on both ends of all links: drop=1%%,duplicate=1%%,reorder=1%%,"
                         "delay=5ms~2ms,corrupt=0.1%%,burst=3,seed=7")
    add("--seed", type=number(int, 0, 1000000), default=1, help="of data and faults")
    add("--hosts", type=number(int, 1, 65535), help="ranks are on so many hosts only")
    add("--per-host", type=number(int, 1, 64), default=1, help="ranks on each host, at most 64")
    add("--shuffle", type=number(int, 0, 1000000),
        help="ranks are on hosts in an order that follows from this number (else in the order of hosts)")
    add("--engine", default="auto", help="auto, kernel, user, or kernel:N: the first N hosts only")
    add("--patience", type=number(float, 0.1, 1000000), default=120, help="seconds until the job is given up")
    add("--json", type=arguments.taken_by(arguments.writable),
        help="file for the result (default: standard output says the main points)")
    add("--work", help="directory for the job's files, kept (default: a temporary one)")
    add("--elements", type=number(int, 0, 1 << 26), default=20000, help="allreduce: of the vector")
    add("job", choices=["allreduce", "perf", "digits", "command"])
    return parser.parse_with_options(argv)


def make_job(args, work):
    if args.job == "allreduce":
        return jobs.AllreduceJob(work, args.options, args.elements, args.seed)
    if args.job == "perf":
        return jobs.PerfJob(work, args.options)
    if args.job == "digits":
        return jobs.DigitsJob(work, training=args.options)
    if not args.options:
        raise ValueError("command: which?")
    return jobs.CommandJob(work, words=args.options)


def experiment_of(args, work):
    topo = topology_by_name(args.topology)
    rate = parse_rate(args.rate)
    experiment.choose_engines(args.engine, experiment.choose_hosts(args.hosts, len(topo.hosts())))
    job = make_job(args, work)
    with experiment.Testbed(topo, switches=args.switches, faults=args.faults, seed=args.seed,
                            admission=args.admission, rate=rate, queue=args.queue, mtu=args.mtu,
                            mode=args.mode or ("shaped" if rate or args.faults else "fast"),
                            timeout=args.switch_timeout, switch_options=args.switch_option,
                            logs=work) as testbed:
        ranks = experiment.place(testbed.net, args.hosts, args.per_host, args.engine, args.shuffle)
        result = experiment.run(testbed, job, ranks, args.patience)
    result["arguments"] = {name: value for name, value in vars(args).items() if value is not None}
    return result


def tell(result):
    print(f"{result['job']}: {result['members']} ranks, {result['seconds']} s: "
          f"{'right' if result['right'] else 'WRONG'}")
    for line in result["wrong"]:
        print(f"  {line}")
    print(f"  contributions per block {result['contributions_per_block']}, "
          f"links carried {result['link_packets']} packets, {result['link_bytes']} bytes")
    if result["faults"]:
        print(f"  faults: {', '.join(f'{k} {v}' for k, v in result['faults'].items() if v)}")


def main(argv=None):
    args = parse(sys.argv[1:] if argv is None else argv)
    system.end_by_signals(signal.SIGTERM, signal.SIGHUP)
    work = args.work or system.work_directory()
    try:
        os.makedirs(work, exist_ok=True)
        system.sweep()
        result = experiment_of(args, work)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    finally:
        if not args.work:
            shutil.rmtree(work, ignore_errors=True)
    tell(result)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    return 0 if result["right"] else 1


if __name__ == "__main__":
    sys.exit(main())
