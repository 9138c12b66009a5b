#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Congestion: compares dynamic trees with static trees, the ring and Open MPI, on an emulated
network whose other hosts send each other random uniform traffic.

  topology/congestion.py                        a small matrix, as make demo-congestion
  topology/congestion.py --shares 0,0.25,0.5,0.75 --seeds 5 --size 4M
  topology/congestion.py --topology leaf_spine:4,8,5 --shares 0.95
  topology/congestion.py --algorithms dynamic,dynamic-adaptive,dynamic-block,dynamic-flow,dynamic-flowlet
  topology/congestion.py --engine kernel        AF_CANARY, in the guest that counts instructions

Each run is kept as a line of runs.jsonl in the output directory, so that the same command goes on
where it was interrupted. At the end it writes congestion.json (a list of {scenario, algorithm,
congestion, goodput_median, goodput_spread, unit, runs, ...}), congestion.csv and pictures there.
"""
import argparse
import glob
import hashlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from canary_topo import (arguments, congestion, experiment, plots, results, system,  # noqa: E402
                         topology_by_name, whole_name)
from canary_topo.net import parse_rate  # noqa: E402
from canary_topo.node import CANARY, TOP  # noqa: E402
from canary_topo.traffic import GENERATORS  # noqa: E402

GUEST = os.path.join(TOP, "selftests/vm/run.sh")
MODULE = os.path.join(TOP, "build/kmod/canary.ko")
TRAFFIC = 0.45      # of a link's rate, by each host that congests
OUT = os.path.join(TOP, "build/congestion")
ALGORITHMS = "dynamic,static-1,static-2,static-4,ring,openmpi"
# If less of the processors is idle before a run, a message says that something else runs.
IDLE = 0.8
# Usual settings. The name of a scenario mentions those that differ.
USUAL = {"rate": "10mbit", "size": "1M", "queue": None, "protocol": "udp", "period": 1, "iterations": 2,
         "window": None, "generator": "iperf3"}


def say(text=""):
    print(text, flush=True)


def window(text):
    """For add_argument(type=): a window"""
    value = arguments.number(int, 1, 1024)(text)
    if value & (value - 1):
        raise argparse.ArgumentTypeError(f"'{text}' is not a power of two")
    return value


def numbers(text, kind, low, high, what):
    try:
        values = [arguments.number_of(word, kind) for word in text.split(",")]
    except ValueError:
        raise ValueError(f"{what}: '{text}' are no numbers") from None
    if not all(low <= value <= high for value in values):
        raise ValueError(f"{what}: {low} to {high}, not '{text}'")
    return values


def parse(argv):
    parser = arguments.Parser(__doc__)
    number, add = arguments.number, parser.add_argument
    timeout = arguments.taken_by(arguments.switch_option("timeout"))
    add("--topology", default="fat_tree:4", help="as topology/run.py has them (%(default)s)")
    add("--trees", type=number(int, 1, 256), default=4, help="static trees that there can be: roots to draw from, 1 to 256 (%(default)s)")
    add("--rate", type=arguments.taken_by(parse_rate), default=USUAL["rate"],
        help="of all links (%(default)s)")
    add("--queue", type=number(int, 1514, 1 << 30), help="bytes that may wait at each end of a link, 1514 or more "
        "(10 ms of its rate, 64 full packets at least)")
    add("--algorithms", default=ALGORITHMS, help="dynamic, dynamic-CHOICE (of `canary switch run`), static-T, ring, "
                                                 "openmpi, openmpi-ALGORITHM (%(default)s)")
    add("--shares", default="0,0.5", help="of the hosts that congest, 0 to 0.99; the others sum (%(default)s)")
    add("--traffic", type=number(float, 0.01, 1), default=TRAFFIC,
        help="what each of these offers, of a link's rate, 0.01 to 1 (%(default)s)")
    add("--protocol", choices=["udp", "tcp"], default="udp", help="of that traffic (%(default)s)")
    add("--generator", choices=GENERATORS, default=USUAL["generator"],
        help="of UDP: iperf3, or plain sockets, which need no processes every period (%(default)s)")
    add("--period", type=number(int, 1, 3600), default=USUAL["period"],
        help="seconds after which these hosts change their peers, 1 to 3600 (%(default)s)")
    add("--seeds", type=number(int, 1, 1000), default=5, help="random placements, 1 to 1000 (%(default)s)")
    add("--alone", default="", help="algorithms of which also the same members are measured while "
                                    "the others do nothing (none)")
    add("--size", default=USUAL["size"], help="of the vector, bytes, with K or M (%(default)s)")
    add("--iterations", type=number(int, 1, 1000000), default=USUAL["iterations"],
        help="operations that are timed, out of place and in place each (%(default)s)")
    add("--window", type=window, help="of members: most blocks in flight, a power of two, 1 to 1024 (256, what ships)")
    add("--timeout", type=timeout, help="of the switches, 10us to 1s or MIN..MAX (adapts between 1 and 40 frames' time on a link)")
    add("--static-timeout", type=timeout,
        help="the same with static trees, where switches are told whom to wait for (as --timeout)")
    add("--communicators", type=number(int, 1, 32768), default=1,
        help="that sum at the same time, on hosts of their own, two or more each (%(default)s)")
    add("--switches", default="all", help="which run the program: all, none, half, a number, or names (%(default)s)")
    add("--engine", choices=["user", "kernel"], default="user",
        help="of the members; kernel: AF_CANARY, in a guest (%(default)s)")
    add("--patience", type=number(float, 0.1, 1000000), default=120,
        help="seconds until a run is given up (%(default)s)")
    add("--out", type=arguments.taken_by(arguments.directory), default=OUT,
        help="directory for runs, tables and pictures, made if its parent is there (build/congestion)")
    add("--label", default="", help="of the pictures, before their names (none)")
    add("--json", type=arguments.taken_by(arguments.writable),
        help="file of the rows; those of other scenarios stay in it (congestion.json in --out; without that build/congestion.json)")
    add("--again", action="store_true", help="forget the runs of earlier")
    add("--any-rate", action="store_true", help="even if this machine cannot carry it; and what it measured so is kept")
    add("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    check(args)
    args.topology = whole_name(args.topology)
    args.json = args.json or usual_rows(args.out)
    frames = 1e3 * congestion.FRAME_BITS / (parse_rate(args.rate) or 1e9)
    args.waits = f", static timeout {args.static_timeout}" if args.static_timeout else ""
    args.timeout = args.timeout or f"{frames:.3g}ms..{min(1000, 40 * frames):.3g}ms"
    args.static_timeout = args.static_timeout or args.timeout
    args.program = program()
    return args


def usual_rows(out):
    """Path of the rows for runs in OUT. ValueError if they cannot be written there"""
    usual = os.path.realpath(out) == os.path.realpath(OUT)
    path = f"{OUT}.json" if usual else os.path.join(out, "congestion.json")
    if os.path.isdir(os.path.dirname(path)):
        try:
            arguments.writable(path)
        except OSError as error:
            raise ValueError(f"--json: '{path}': {error.strerror}") from None
    return path


def check(args):
    """Check ARGS, and add the lists that they name. ValueError says what is wrong."""
    args.share_list = numbers(args.shares, float, 0, 0.99, "--shares")
    try:
        args.algorithm_list = [congestion.Algorithm(name) for name in args.algorithms.split(",")]
    except ValueError as error:
        raise ValueError(f"--algorithms: {error}") from None
    args.alone_list = args.alone.split(",") if args.alone else []
    if set(args.alone_list) - {algorithm.name for algorithm in args.algorithm_list}:
        raise ValueError(f"--alone: '{args.alone}' are not all among --algorithms")
    topo = topology_by_name(args.topology)
    experiment.choose_switches(args.switches, topo.switches())
    members = min(len(congestion.place(topo.hosts(), share, 1)[0]) for share in args.share_list)
    if members < 2:
        raise ValueError(f"--topology: '{args.topology}' has one host: there is nobody to sum with")
    if args.generator == "plain" and args.protocol != "udp":
        raise ValueError(f"--generator: 'plain' sends UDP, not {args.protocol}")
    if args.communicators > members // 2:
        raise ValueError(f"--communicators: '{args.communicators}' is not a number from 1 to "
                         f"{members // 2}: {members} hosts sum, two or more each")
    if congestion.scene_bytes(args.size) % 4:
        raise ValueError("--size: elements have 4 bytes")


def program():
    """A hash of the programs that measure. Runs of other versions are not compared."""
    total = hashlib.sha256()
    here = os.path.dirname(os.path.abspath(__file__))
    for path in sorted([CANARY, *glob.glob(MODULE),
                        os.path.join(here, "congestion.py"), os.path.join(here, "mpi_rank.py"),
                        *glob.glob(os.path.join(here, "canary_topo/*.py"))]):
        if os.path.basename(path) in ("plots.py", "results.py"):
            continue    # these only show results
        with open(path, "rb") as file:
            total.update(file.read())
    return total.hexdigest()[:16]


def scenario(args):
    """Name of a scenario, under which its results are kept"""
    more = f", {args.communicators} communicators" if args.communicators > 1 else ""
    more += f", others offer {args.traffic:g}" if args.traffic != TRAFFIC else ""
    number = args.switches if args.switches.isdigit() else args.switches.count(",") + 1
    more += {"all": "", "none": ", no switch", "half": ", half of the switches"}.get(
        args.switches, f", {number} of the switches")
    more += "".join(f", {name} {getattr(args, name)}" for name, usual in USUAL.items()
                    if getattr(args, name) != usual) + args.waits
    return f"{args.topology.replace(':', '-k' if args.topology.startswith('fat') else '-').replace('_', '-')}" \
           f", {args.engine} engine{more}"


def settings(args):
    """The settings that comparable runs have in common"""
    return {name: getattr(args, name) for name in
            ("topology", "rate", "queue", "traffic", "protocol", "period", "size", "iterations",
             "timeout", "static_timeout", "engine", "communicators", "switches", "trees", "window",
             "generator", "program")}


def forwarding(args, rate):
    """Return: (packets per second that this machine can forward, those that links of RATE can ask
    for, what else it does now, as text)"""
    idle = congestion.processors_idle()
    with experiment.Testbed(topology_by_name(args.topology), switches="none") as testbed:
        possible = congestion.packet_hops_possible(testbed)
        needed = max(congestion.packet_hops_needed(testbed.net, rate, share, args.traffic)
                     for share in args.share_list)
    possible *= congestion.SHARE_FOR_FORWARDING
    busy = f" ({1 - idle:.0%} of its processors are at work for somebody else)" if idle < IDLE else ""
    return possible, needed, busy


def carried(argv):
    """Return: (bits per second on links that this machine can carry in the scenario of ARGV, what
    else it does now)"""
    args = parse(argv)
    rate = parse_rate(args.rate)
    possible, needed, busy = forwarding(args, rate)
    return rate * possible / needed, busy


def refuse_impossible(args, rate):
    """Raise RuntimeError if the links could carry more than this machine."""
    possible, needed, busy = forwarding(args, rate)
    say(f"This machine can forward {possible:.0f} packets a second from port to port now, besides the rest{busy}; "
        f"these links can ask for {needed:.0f}.")
    if needed > possible and not args.any_rate:
        raise RuntimeError(f"--rate {args.rate}: at most {rate * possible / needed / 1e6:.1f}mbit as things are{busy}, or "
                           "the processor would be measured and not the links (--any-rate: all the same)")


def told(run):
    if "goodput" not in run:
        return f"FAILED: {run['failed'][:300]}"
    text = f"{run['goodput'] / 1e6:.2f} Mbit/s, {run['of_limit']:.2f} of the limit"
    return f"{text} ({run['gave_up'][:300]})" if "gave_up" in run else text


def go(args, runs, scene, todo):
    """Do the runs that are missing."""
    with experiment.Testbed(topology_by_name(args.topology), rate=scene.rate, queue=args.queue,
                            timeout=args.timeout, mode="shaped",
                            switches=args.switches) as testbed:
        congestion.prepare(testbed)
        begin = time.monotonic()
        for number, (key, algorithm, share, seed, alone) in enumerate(todo):
            timeline = algorithm.name == "dynamic" and seed == 1 and share > 0 and not alone
            try:
                run = congestion.measure(testbed, scene, algorithm, share, seed, alone, timeline)
            except RuntimeError as error:
                run = {"algorithm": algorithm.name, "share": share, "seed": seed,
                       "failed": str(error)}
            run.update(key=key, scenario=scenario(args),
                       date=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
            runs.add(run)
            left = (time.monotonic() - begin) / (number + 1) * (len(todo) - number - 1)
            say(f"[{number + 1}/{len(todo)}, {left / 60:.0f} min left] {algorithm.name:10} "
                f"{100 * share:3.0f} % congest{' (not yet)' if alone else ''}, placement {seed}: {told(run)}")


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
        some = [run for run in runs if run["share"] == share and run.get("utilisation")
                and not results.is_alone(run)]
        if some:
            paths += plots.utilisation(some, args.out, f"links-{name}-{100 * share:.0f}",
                                       f"{100 * share:.0f} % of the hosts congest")
    for run in runs:
        if run.get("timeline"):
            paths += plots.timeline(run, args.out,
                                    f"timeline-{name}-{100 * run['share']:.0f}")
    return paths


def in_guest(args, argv):
    say("AF_CANARY needs canary.ko: this runs in a guest with Debian's kernel, whose clock counts")
    say("instructions, so that links and not this machine's load are measured.")
    if not os.path.exists(MODULE):
        raise RuntimeError(f"there is no {os.path.relpath(MODULE)}: make module")
    os.makedirs(args.out, exist_ok=True)
    words = [GUEST, "--icount", "--mem", "3G", "--timeout", "86000", "--out", args.out, "--",
             "/usr/bin/python3", os.path.abspath(__file__), *argv, "--inside", "--out", args.out,
             "--json", os.path.join(args.out, "guest.json"), "--patience", "1000000", "--any-rate"]
    status = subprocess.run(words, check=False).returncode
    if status not in (0, 1):
        raise RuntimeError(f"the guest ended with status {status}; what it measured is kept")


def first_of(argv):
    """ARGV, reduced to its first run"""
    args = parse(argv)
    return [*argv, "--algorithms", args.algorithm_list[0].name, "--shares", str(args.share_list[0]), "--seeds", "1",
            "--alone", ""]


def is_done(args, run, limit):
    """Is there a valid result of RUN? What a machine measured that was too busy is none. In the
    guest all machines measure the same."""
    return "goodput" in (run or {}) and \
        (args.any_rate or args.engine == "kernel" or not results.says_nothing(run, limit))


def left_to_do(args, runs, limit):
    """Return: (keys of all runs, runs that are missing)"""
    todo, keys = [], []
    for algorithm in args.algorithm_list:
        why_not = algorithm.why_not()
        if why_not:
            say(f"{algorithm.name} is left out: {why_not}")
            continue
        alone = [False, True] if algorithm.name in args.alone_list else [False]
        for share, seed, alone in itertools.product(args.share_list, range(1, args.seeds + 1), alone):
            if alone and not share:
                continue
            key = json.dumps([settings(args), algorithm.name, share, seed, *["alone"] * alone])
            keys.append(key)
            if not is_done(args, runs.find(key), limit):
                todo.append((key, algorithm, share, seed, alone))
    # Runs are interleaved, so that other work of this machine affects all alike.
    todo.sort(key=lambda item: (item[3], item[2]))
    return keys, todo


def run_all(args, argv):
    """Measure what is missing. Return: all runs that were asked for"""
    rate = parse_rate(args.rate)
    if not rate:
        raise ValueError("--rate: links without a rate are never congested")
    scene = congestion.Scene(args.topology, rate, args.trees, args.timeout, args.static_timeout,
                             args.size, args.iterations, args.engine, args.traffic,
                             args.protocol, args.patience, args.queue, args.communicators,
                             args.period, args.window, args.generator)
    missing = [name for name in ("iperf3", "setpriv") if not shutil.which(name)]
    if missing and any(args.share_list) and args.generator == "iperf3":
        raise RuntimeError(f"{' and '.join(missing)} is missing: nobody would congest anything "
                           "(tools/setup/packages.txt)")
    runs = results.Runs(args.out, args.again)
    keys, todo = left_to_do(args, runs, scene.limit)
    if len(todo) < len(keys):
        left = f"{len(todo)} are left" if todo else "nothing is left to do"
        say(f"Runs: {len(keys) - len(todo)} of {len(keys)} were made before and are kept, {left} (--again: all anew)")
    if todo and args.engine == "kernel" and not args.inside \
            and not os.path.exists("/sys/module/canary"):
        in_guest(args, [word for word in argv if word != "--again"])
        runs = results.Runs(args.out)
        never = [key for key, *_ in todo if not runs.find(key)]
        if never:
            raise RuntimeError(f"the guest ended before {len(never)} of {len(todo)} runs; what it "
                               "measured is kept")
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
    return scene, runs.of(keys)


def go_through(argv):
    """Measure one scenario. Return: (exit status, rows, scene); the scene is None if ARGV describes
    none"""
    system.end_by_signals(signal.SIGTERM, signal.SIGHUP)
    try:
        args = parse(argv)
        results.read_rows(args.json)
        scene, mine = run_all(args, argv)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"congestion.py: {error}", file=sys.stderr)
        return 2, [], None
    except KeyboardInterrupt:
        print("congestion.py: interrupted; the same command goes on here", file=sys.stderr)
        return 130, [], None
    scene.out = args.out
    rows = results.summary(mine, scene.limit, congestion.scene_bytes(args.size))
    results.write(rows, args.json, os.path.join(args.out, "congestion.csv"))
    results.tell(rows, say)
    if not args.inside and rows:
        for path in pictures(args, mine, rows, scene):
            say(f"picture: {os.path.relpath(path)}")
    say(f"written to {os.path.relpath(args.json)}")
    return 1 if any("failed" in run for run in mine) else 0, rows, scene


if __name__ == "__main__":
    sys.exit(go_through(sys.argv[1:])[0])
