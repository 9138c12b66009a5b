#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The simulator beside the emulated network: simulates what topology/congestion.py
measured (its runs.jsonl) with the same hosts in the same places, and says how far
the goodputs are apart.

  tools/sim/validate.py build/congestion/runs.jsonl
"""
import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WARMUP = 2      # as `canary perf` there: so many, those that are timed, a check; twice
FRAME = 1442    # of the others' traffic, as links there count it
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}


def rate_of(text):
    number, unit = re.fullmatch(r"(\d+)([kmg]?)bit", text).groups()
    return int(number) * {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}[unit]


def bytes_of(text):
    number, unit = re.fullmatch(r"(\d+)([KM]?)", text).groups()
    return int(number) * UNITS[unit]


def ns_of(text):
    number, unit = re.fullmatch(r"([\d.]+)(ns|us|ms|s)", text).groups()
    return round(float(number) * {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}[unit])


def timeout_of(text):
    low, _, high = text.partition("..")
    return {"timeout": f"{ns_of(low)}ns", "timeout_max": f"{ns_of(high) if high else 0}ns"}


def shape_of(settings, directory):
    """A topology file for what topology/run.py calls NAME:NUMBERS"""
    name, _, numbers = settings["topology"].partition(":")
    numbers = [int(word) for word in numbers.split(",") if word]
    rate = rate_of(settings["rate"])
    if name == "fat_tree":
        lines = ["kind fat_tree", "levels 3", f"radix {numbers[0] if numbers else 4}"]
    elif name == "leaf_spine":
        spines, leaves, hosts = numbers
        lines = ["kind leaf_spine", f"leaves {leaves}", f"spines {spines}", f"hosts {hosts}"]
    else:
        raise ValueError(f"no shape for {settings['topology']}")
    lines += [f"rate {rate}bit", "latency 20us",
              f"queue {settings['queue'] or max(64 * 1514, rate // 8 // 100)}"]
    path = os.path.join(directory, settings["topology"].replace(":", "-") + ".topo")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    return path


def roots(settings):
    """Of how many trees one was drawn: --trees, which old runs do not tell"""
    spines = settings["topology"].partition(":")[2].partition(",")[0]
    return settings.get("trees") or (4 if settings["topology"] == "fat_tree:4" else int(spines))


def scenario(run, settings, directory):
    """What canary-sim is told; None for what it has not"""
    kind, _, detail = run["algorithm"].partition("-")
    if kind not in ("dynamic", "static", "ring") or settings["protocol"] != "udp" or \
            settings["communicators"] != 1 or settings["switches"] != "all" or \
            "goodput" not in run or run.get("label") == "alone" or (run["share"] and not run["congesting"]):
        return None
    rate = rate_of(settings["rate"])
    keys = {"topology": shape_of(settings, directory), "algorithm": kind, "seed": run["seed"],
            "members": run["members"], "bytes": bytes_of(settings["size"]),
            "operations": 2 * (WARMUP + settings["iterations"]) + 1,
            "elements": 352, "headers": 106, "flow": "drop", "burst": max(2 * 1514, rate // 8000),
            "router_port": "flow", "host_delay": "100us", "give_up": "600s",
            "hosts": ",".join(host[1:] for host in run["placement"][:run["members"]]),
            **timeout_of(settings["static_timeout" if kind == "static" else "timeout"])}
    if kind == "ring":
        # What ships has fewer blocks in flight than the simulator's rings: CNR_CWND_RING
        keys["window"] = 1 << (max(64, 8 * run["members"]) - 1).bit_length()
    elif kind == "static":
        # The same ones as there: topology/canary_topo/congestion.py, Algorithm.settings()
        chance = random.Random(f"{run['seed']}.{run['algorithm']}.{run['share']}")
        keys.update(trees=int(detail), first_tree=chance.randrange(roots(settings)) + 1)
    else:
        keys["port_choice"] = detail or "both"
    if run["congesting"]:
        message = rate * settings["traffic"] * settings["period"] / 8
        # Senders' sockets are connected, and routers once took those' hash
        keys.update(traffic="derangement", traffic_rate=f"{settings['traffic'] * 100:g}%",
                    traffic_packet=FRAME, traffic_message=round(message),
                    traffic_port="flow" if {"paths", "program"} & set(settings) else "socket")
    return keys


def simulate(simulator, keys):
    words = [f"{key}={value}" for key, value in keys.items()]
    done = subprocess.run([simulator, "--quiet", *words], capture_output=True, text=True,
                          check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr.strip())
    result = json.loads(done.stdout)
    if not result["right"]:
        raise RuntimeError(f"wrong or unfinished: {' '.join(words)}")
    times = result["operations_ns"]
    half = len(times) // 2
    timed = times[WARMUP:half] + times[half + 1 + WARMUP:]
    return keys["bytes"] * 8 * 1000 / statistics.mean(timed)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", help="runs.jsonl of topology/congestion.py")
    parser.add_argument("--simulator", default=os.path.join(TOP, "build/bin/canary-sim"))
    parser.add_argument("--seeds", type=int, default=5, help="of the other hosts' traffic")
    parser.add_argument("--json", help="also write the table here")
    parser.add_argument("--within", type=float, default=15, help="percent that means may differ")
    args = parser.parse_args(argv)
    cases = {}
    with tempfile.TemporaryDirectory() as directory:
        for path in args.runs:
            with open(path, encoding="utf-8") as file:
                for run in map(json.loads, file):
                    settings = json.loads(run["key"])[0]
                    keys = scenario(run, settings, directory)
                    if keys is None:
                        continue
                    case = (settings["topology"], settings["rate"], settings["engine"],
                            run["algorithm"], run["share"],
                            settings["traffic"] if run["share"] else 0,
                            keys["timeout"] + ".." + keys["timeout_max"])
                    # What the others send whom, and by which ports, is chance there, too.
                    seeds = range(1, args.seeds + 1) if run["congesting"] else [1]
                    cases.setdefault(case, []).append(
                        (run["goodput"] / 1e6, statistics.mean(
                            simulate(args.simulator, {**keys, "seed": seed}) for seed in seeds)))
    rows = []
    print(f"{'network':<18} {'engine':<7} {'algorithm':<10} {'congest':>7} {'traffic':>7} {'runs':>4} "
          f"{'emulated':>8} {'simulated':>9} {'differ':>7}   Mbit/s, means (lowest, highest)")
    for case, pairs in sorted(cases.items()):
        topology, rate, engine, algorithm, share, traffic, timeout = case
        emulated, simulated = (statistics.mean(values) for values in zip(*pairs))
        differ = 100 * (simulated / emulated - 1)
        rows.append({"topology": topology, "rate": rate, "engine": engine, "algorithm": algorithm,
                     "congestion": share, "traffic": traffic, "timeout": timeout, "runs": len(pairs),
                     "emulated": round(emulated, 3),
                     "simulated": round(simulated, 3), "differ_percent": round(differ, 1)})
        print(f"{topology + ', ' + rate:<18} {engine:<7} {algorithm:<10} {share * 100:>6g}% "
              f"{traffic:>7g} {len(pairs):>4} {emulated:>8.3f} {simulated:>9.3f} {differ:>+6.1f}%"
              f"  ({min(p[0] for p in pairs):.2f}, {max(p[0] for p in pairs):.2f}; "
              f"{min(p[1] for p in pairs):.2f}, {max(p[1] for p in pairs):.2f})"
              f"{'' if abs(differ) <= args.within else '   <--'}")
    if args.json:
        with open(args.json, "w", encoding="ascii") as file:
            json.dump(rows, file, indent=1)
            file.write("\n")
    return 0 if rows and all(abs(row["differ_percent"]) <= args.within for row in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, RuntimeError, ValueError, KeyError, AttributeError) as error:
        print(f"validate: {error}", file=sys.stderr)
        sys.exit(2)
