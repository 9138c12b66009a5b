#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""One fault experiment: ranks sum vectors and check every element while something goes wrong. It
says what that cost, compared with the same run without the fault.

  topology/fault.py list
  topology/fault.py switch-kill
  topology/fault.py drop --topology star:4 --engine kernel -j
"""
import json
import os
import shutil
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from canary_topo import arguments, experiment, experiments, system, topology_by_name  # noqa: E402
from canary_topo.faults import FAULTS  # noqa: E402
from canary_topo.net import parse_rate  # noqa: E402


def parse(argv):
    parser = arguments.Parser(__doc__, "After --: further options of the worker, such as --window 16.")
    number, add = arguments.number, parser.add_argument
    add("fault", choices=["list", *FAULTS], metavar="FAULT", help="`list` tells which there are")
    add("--engine", default="auto", help="auto, kernel, user, or kernel:N: the first N hosts only")
    add("--topology", default="leaf_spine:2,2,2", help="as run.py has it")
    add("--rate", type=arguments.taken_by(parse_rate), default="none", help="of all links, such as 100mbit")
    add("--hosts", type=number(int, 1, 65535), help="ranks are on so many hosts only")
    add("--per-host", type=number(int, 1, 64), default=1, help="ranks on each, at most 64")
    add("--operations", type=number(int, 1, 1000000), default=3, help="that a rank does in a round (%(default)s)")
    add("--elements", type=number(int, 1, 1 << 26),
        help="of a vector (20000; 400000 where the fault comes in the middle)")
    add("--seed", type=number(int, 0, 1000000), default=1, help="of data and faults")
    add("--switch-option", action="append", default=[], help="further option of `canary switch run`")
    add("--everybody", action="store_true",
        help="forged-*: switches admit everybody (sums may become wrong, and results be read)")
    add("--stall", type=number(float, 0.1, 1000000), default=60, help="seconds without progress that are a hang")
    add("-j", "--json", action="store_true", help="print JSON")
    add("--work", help="directory for the files of it, kept")
    args = parser.parse_with_options(argv)
    least = FAULTS[args.fault].least if args.fault in FAULTS else 1
    if args.operations < least:
        parser.error(f"--operations: {args.fault} needs {least} or more, not {args.operations}")
    return args


def run(args, work):
    fault = FAULTS[args.fault]
    if args.everybody:
        fault.admission = False
    rate, topo = parse_rate(args.rate), topology_by_name(args.topology)
    setting = experiments.Setting(
        args.engine, args.hosts, args.per_host, args.operations,
        args.elements or (400000 if fault.long else 20000), args.seed, args.options,
        args.stall, work, strict=True)
    hosts = experiments.hosts_of(topo.hosts(), fault, setting)
    experiment.choose_engines(args.engine, hosts)
    members = hosts * args.per_host
    with experiment.Testbed(topo, rate=rate, mode="shaped", logs=work,
                            switch_options=args.switch_option) as testbed:
        if not fault.possible(testbed, members):
            raise ValueError(f"{fault.name} is not possible with these hosts, switches and kernel")
        baseline = experiments.baseline_of(testbed, fault, setting)
        result = experiments.run_trial(testbed, fault, setting, baseline)
    if not baseline["right"]:
        result["right"] = False
        result["wrong"] += [f"without the fault: {line}" for line in baseline["wrong"]]
    return result


def main(argv=None):
    args = parse(sys.argv[1:] if argv is None else argv)
    if args.fault == "list":
        for fault in FAULTS.values():
            print(f"{fault.name:<15} {fault.help}")
        return 0
    system.end_by_signals(signal.SIGTERM, signal.SIGHUP)
    work = args.work or system.work_directory()
    keep = bool(args.work)
    try:
        os.makedirs(work, exist_ok=True)
        system.sweep()
        result = run(args, work)
        keep = keep or not result["right"]
    except (ValueError, RuntimeError, OSError) as error:
        print(f"fault.py: {error}", file=sys.stderr)
        return 2
    finally:
        if not keep:
            shutil.rmtree(work, ignore_errors=True)
    if args.json:
        print(json.dumps(result))
    else:
        print(experiments.text(result))
    return 0 if result["right"] else 1


if __name__ == "__main__":
    sys.exit(main())
