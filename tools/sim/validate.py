#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares the simulator with the emulated network. It simulates what topology/congestion.py
measured (its runs.jsonl), with the same hosts in the same places, and says how far the goodputs
are apart. It lists the runs that the simulator cannot do, and leaves them out.

  tools/sim/validate.py build/congestion/runs.jsonl
"""
import argparse
import collections
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import zlib

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WARMUP = 2      # `canary perf` there runs these, then timed ones, then a check, all twice
FRAME = 1442    # of background traffic, as links there count it
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}
NUMBERS = {"fat_tree": 1, "leaf_spine": 3, "star": 1}      # how many numbers a topology has
# Settings, beside algorithm and traffic, that runs have in common whose mean is taken
COMPARED = ["topology", "rate", "size", "engine", "queue", "window"]
OF_TRAFFIC = ["traffic", "period", "generator"]


class Unlike(ValueError):
    """A run that cannot be simulated, and why"""


def rate_of(text):
    number, unit = re.fullmatch(r"([\d.]+)([kmg]?)(?:bit)?", text.lower()).groups()
    return round(float(number) * {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}[unit])


def bytes_of(text):
    number, unit = re.fullmatch(r"(\d+)([KM]?)", text.upper()).groups()
    return int(number) * UNITS[unit]


def ns_of(text):
    number, unit = re.fullmatch(r"([\d.]+)(ns|us|ms|s)", text).groups()
    return round(float(number) * {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}[unit])


def timeout_of(text):
    low, _, high = text.partition("..")
    return {"timeout": f"{ns_of(low)}ns", "timeout_max": f"{ns_of(high) if high else 0}ns"}


def dimensions(topology):
    """Return: (name, numbers) of what topology/run.py calls NAME:NUMBERS"""
    name, _, numbers = topology.partition(":")
    if name not in NUMBERS:
        raise Unlike(f"the simulator is told of {', '.join(sorted(NUMBERS))} here")
    numbers = [int(word) for word in numbers.split(",") if word]
    if len(numbers) != NUMBERS[name]:
        raise Unlike("the topology lacks numbers, as congestion.py once wrote it")
    return name, numbers


def shape_of(settings, directory):
    """Write a topology file."""
    name, numbers = dimensions(settings["topology"])
    rate = rate_of(settings["rate"])
    if name == "leaf_spine":
        lines = ["leaves {1}", "spines {0}", "hosts {2}"]
    else:
        lines = ["levels 3", "radix {0}"] if name == "fat_tree" else ["hosts {0}"]
    lines = [f"kind {name}", *(line.format(*numbers) for line in lines), f"rate {rate}bit",
             "latency 20us", f"queue {settings['queue'] or max(64 * 1514, rate // 8 // 100)}"]
    text = "\n".join(lines) + "\n"
    path = os.path.join(directory, f"{zlib.crc32(text.encode()):x}.topo")
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def roots(settings):
    """Return: the number of trees of which one was drawn (--trees), which old runs do not tell"""
    name, numbers = dimensions(settings["topology"])
    return settings.get("trees") or (numbers[0] ** 2 // 4 if name == "fat_tree" else numbers[0])


def why_not(run, settings):
    """Return: what the simulator cannot do of this run, or None"""
    if run["algorithm"].partition("-")[0] not in ("dynamic", "static", "ring"):
        return "no such algorithm in the simulator"
    if settings["protocol"] != "udp":
        return f"no {settings['protocol'].upper()} in the simulator"
    if settings["communicators"] != 1:
        return "one communicator is compared"
    if settings["switches"] != "all":
        return "all switches have the program in what is compared"
    if "goodput" not in run:
        return "it failed"
    if not run["goodput"]:
        return "it was given up"
    if run.get("label") == "alone" or (run["share"] and not run["congesting"]):
        return "members alone: the others did nothing"
    return None


def scenario(run, settings, directory):
    """Return: the scenario for canary-sim. Raises Unlike"""
    kind, _, detail = run["algorithm"].partition("-")
    reason = why_not(run, settings)
    if reason:
        raise Unlike(reason)
    rate = rate_of(settings["rate"])
    keys = {"topology": shape_of(settings, directory), "algorithm": kind, "seed": run["seed"],
            "members": run["members"], "bytes": bytes_of(settings["size"]),
            "operations": 2 * (WARMUP + settings["iterations"]) + 1,
            "elements": 352, "headers": 106, "flow": "drop", "burst": max(2 * 1514, rate // 8000),
            "router_port": "flow", "host_delay": "100us", "give_up": "600s",
            "hosts": ",".join(host[1:] for host in run["placement"][:run["members"]]),
            **timeout_of(settings["static_timeout" if kind == "static" else "timeout"])}
    if settings.get("window"):
        keys["window"] = settings["window"]
    if kind == "ring":
        # CNR_CWND_RING limits the blocks in flight of a real host more than the simulator's rings
        # do.
        most = 1 << (max(64, 8 * run["members"]) - 1).bit_length()
        keys["window"] = min(most, settings.get("window") or most)
    elif kind == "static":
        # The same random choice as there: topology/canary_topo/congestion.py, Algorithm.settings()
        chance = random.Random(f"{run['seed']}.{run['algorithm']}.{run['share']}")
        keys.update(trees=int(detail), first_tree=chance.randrange(roots(settings)) + 1)
    else:
        keys["choice"] = detail or "both"
    if run["congesting"]:
        message = rate * settings["traffic"] * settings["period"] / 8
        # The senders' sockets are connected, and routers once used the hash of the socket.
        keys.update(traffic="derangement", traffic_rate=f"{settings['traffic'] * 100:g}%",
                    traffic_packet=FRAME, traffic_message=round(message),
                    traffic_port="flow" if {"paths", "program"} & set(settings) else "socket")
    return keys


def run_simulator(simulator, keys, *options):
    words = [f"{key}={value}" for key, value in keys.items()]
    return subprocess.run([simulator, "--quiet", *options, *words], capture_output=True, text=True,
                          check=False)


def simulate(simulator, keys):
    done = run_simulator(simulator, keys)
    if not done.stdout:
        raise RuntimeError(done.stderr.strip())
    result = json.loads(done.stdout)
    if not result["right"]:
        raise RuntimeError(f"{' '.join(done.args)}: wrong or unfinished")
    times = result["operations_ns"]
    half = len(times) // 2
    timed = times[WARMUP:half] + times[half + 1 + WARMUP:]
    return keys["bytes"] * 8 * 1000 / statistics.mean(timed)


def runs_of(path):
    """Return: the last run of each key, which is also what congestion.py uses"""
    found = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                run = json.loads(line)
            except ValueError:
                continue    # the last line of an interrupted run
            try:
                found[run["key"]] = run, json.loads(run["key"])[0]
            except (KeyError, TypeError, ValueError):
                raise ValueError(f"{path}, line {number}: no run of topology/congestion.py") from None
    return found.values()


def collect(args, directory):
    """Return: {case: [(measured goodput, scenario)]}. Prints what is left out."""
    cases, without = {}, collections.Counter()
    for path in args.runs:
        for run, settings in runs_of(path):
            try:
                keys = scenario(run, settings, directory)
                checked = run_simulator(args.simulator, keys, "--check")
                if checked.returncode:
                    raise Unlike(re.sub("^(canary-sim: )?(argument [0-9]+: )?", "",
                                        checked.stderr.strip()))
            except KeyError as error:
                raise ValueError(f"{path}: a run of {run.get('algorithm')} lacks {error}") from None
            except Unlike as error:
                without[f"{settings['topology']}, {run['algorithm']}", str(error)] += 1
                continue
            alike = {name: settings.get(name) or "" for name in COMPARED}
            alike.update({name: settings.get(name, "") if run["share"] else 0 for name in OF_TRAFFIC})
            case = tuple({**alike, "algorithm": run["algorithm"], "congestion": run["share"],
                          "timeout": keys["timeout"] + ".." + keys["timeout_max"]}.items())
            cases.setdefault(case, []).append((run["goodput"] / 1e6, keys))
    for (what, reason), number in without.items():
        print(f"validate: {what}: left out, {number} run{'s' * (number > 1)}: {reason}", file=sys.stderr)
    if not cases:
        raise ValueError("no run is left to compare")
    return cases


def simulated_pairs(args, pairs):
    """Return: [(measured, simulated)]"""
    # To whom the others send, and by which ports, is random there, too.
    return [(measured, statistics.mean(
        simulate(args.simulator, {**keys, "seed": seed})
        for seed in (range(1, args.seeds + 1) if "traffic" in keys else [1])))
        for measured, keys in pairs]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", help="runs.jsonl of topology/congestion.py")
    parser.add_argument("--simulator", default=os.path.join(TOP, "build/bin/canary-sim"))
    parser.add_argument("--seeds", type=int, default=5, help="of the other hosts' traffic")
    parser.add_argument("--json", help="also write the table here")
    parser.add_argument("--within", type=float, default=15, help="percent that means may differ")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as directory:
        cases = {case: simulated_pairs(args, pairs)
                 for case, pairs in sorted(collect(args, directory).items(), key=str)}
    rows = []
    print(f"{'network':<24} {'engine':<7} {'algorithm':<10} {'congest':>7} {'traffic':>7} {'runs':>4} "
          f"{'emulated':>8} {'simulated':>9} {'differ':>7}   Mbit/s, means (lowest, highest)")
    for case, pairs in cases.items():
        row = dict(case)
        emulated, simulated = (statistics.mean(values) for values in zip(*pairs))
        differ = 100 * (simulated / emulated - 1)
        rows.append({**row, "runs": len(pairs), "emulated": round(emulated, 3),
                     "simulated": round(simulated, 3), "differ_percent": round(differ, 1)})
        network = f"{row['topology']}, {row['rate']}, {row['size']}"
        print(f"{network:<24} {row['engine']:<7} "
              f"{row['algorithm']:<10} {row['congestion'] * 100:>6g}% {row['traffic']:>7g} "
              f"{len(pairs):>4} {emulated:>8.3f} {simulated:>9.3f} {differ:>+6.1f}%"
              f"  ({min(p[0] for p in pairs):.2f}, {max(p[0] for p in pairs):.2f}; "
              f"{min(p[1] for p in pairs):.2f}, {max(p[1] for p in pairs):.2f})"
              f"{'' if abs(differ) <= args.within else '   <--'}")
    if args.json:
        with open(args.json, "w", encoding="ascii") as file:
            json.dump(rows, file, indent=1)
            file.write("\n")
    return 0 if all(abs(row["differ_percent"]) <= args.within for row in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, RuntimeError, ValueError, KeyError, AttributeError) as error:
        print(f"validate: {error}", file=sys.stderr)
        sys.exit(2)
