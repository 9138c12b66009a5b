#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Real engines between network namespaces: sums in networks with other switches, faults, places of
ranks, and packet sizes each. It prints one line of JSON for each sum.

  testbed.py --engine user --networks 10 WORK       rows of rows.py, vectors in WORK/ROW
"""
import argparse
import json
import os
import random
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(1, os.path.join(HERE, "../../topology"))

from canary_topo import experiment, jobs, system, topology_by_name  # noqa: E402
from canary_topo.node import CANARY  # noqa: E402
from rows import MEMBERS, digest, read, rows  # noqa: E402

# Sets that real engines are given, with vectors of full length, and those for other methods
TYPES = ("float32", "bfloat16", "float64")
SETS = ("adversarial", "full", "cancel", "special")
SHORT = ("full",)

PATIENT = ["--linger", "30s", "--dead-after", "60s"]
# (topology, ranks on a host, arguments of Testbed, options of members)
USER = [
    ("star:8", 1, {}, []),
    ("leaf_spine:2,4,2", 1, {"faults": "drop=1%,reorder=2%"}, PATIENT),
    ("leaf_spine:2,2,4", 1, {"switches": "half", "mtu": 600}, []),
    ("leaf_spine:2,4,2", 1, {"switches": "none", "faults": "drop=2%,duplicate=2%"}, PATIENT),
    ("star:4", 2, {"mtu": 3000}, []),
    ("through_router:4", 1, {"faults": "duplicate=10%,reorder=10%"}, PATIENT),
    ("leaf_spine:2,4,2", 1, {"switches": "half"}, ["--algorithm", "ring"]),
    ("star:8", 1, {"switch_options": ["--slots", "16", "--children", "2"]}, ["--window", "32"]),
    ("behind_router:4,4", 1, {"faults": "drop=1%,corrupt=0.2%"}, PATIENT),
    ("star:2", 4, {"switches": "none", "mtu": 9000}, []),
]
# The guest has one slow processor: small networks
KERNEL = [
    ("star:4", 2, {}, PATIENT),
    ("leaf_spine:1,2,2", 2, {"faults": "drop=1%,reorder=2%"}, PATIENT),
    ("leaf_spine:1,2,2", 2, {"switches": "half", "mtu": 600}, PATIENT),
    ("star:4", 2, {"switches": "none", "faults": "drop=2%,duplicate=2%"}, PATIENT),
    ("star:2", 4, {"mtu": 3000}, PATIENT),
    ("through_router:2", 2, {"faults": "duplicate=10%,reorder=10%"}, PATIENT),
    ("star:4", 2, {}, [*PATIENT, "--algorithm", "ring"]),
    ("star:4", 2, {"switch_options": ["--slots", "16", "--children", "2"]}, [*PATIENT, "--window", "32"]),
    ("behind_router:2,2", 2, {"faults": "drop=1%,corrupt=0.2%"}, PATIENT),
    ("star:2", 4, {"switches": "none", "mtu": 9000}, PATIENT),
]


def chosen_rows(quick):
    """Return: the rows that real engines are given"""
    return rows(SETS[1:2] if quick else SETS, () if quick else SHORT, TYPES[:2] if quick else TYPES)


class SumJob(jobs.Job):
    """`canary allreduce` of vectors that are there. ORDER has the member whose vector each rank
    gives."""

    name = "sum"

    def __init__(self, work, row, folder, order, options):
        super().__init__(work, options)
        self.row, self.folder, self.order = row, folder, order
        self.expected = read(folder, "result")
        self.digests = []

    def command(self, rank, comm):
        member = self.order[rank.number]
        how = ["--how", self.row.how] if self.row.how else []
        return [CANARY, "allreduce", *self.member_options(rank, comm), "-j", *how,
                "--type", self.row.type, "--in", os.path.join(self.folder, f"rank{member}"),
                "--out", self.path(rank, "out")]

    def collect(self, rank):
        for line in rank.stderr.splitlines():
            if line.startswith("{"):
                rank.output = json.loads(line)

    def check(self):
        wrong = super().check()
        results = []
        for rank in self.ranks:
            try:
                results.append(read(self.work, f"rank{rank.number}.out"))
                os.unlink(self.path(rank, "out"))
            except FileNotFoundError:
                results.append(b"")
            if results[-1] != self.expected:
                wrong.append(f"rank {rank.number}: not the bits of the reference")
        self.digests = sorted({digest(result) for result in set(results)})
        return wrong


def faults_of(result):
    """Packets that were lost, repeated, late or damaged so far; None: in no network like this"""
    counters = result["faults"]
    return counters and sum(counters.get(name, 0) for name in ("dropped", "duplicated", "reordered", "corrupted"))


def merged_of(result):
    """Packets that switches merged so far; None: there are no switches, or a ring needs none"""
    states = [state for state in result["switches"].values() if state]
    if not states or all(rank["output"].get("algorithm") == "ring" for rank in result["ranks"]):
        return None
    return sum(state["counters"]["merged"] for state in states)


def run_network(number, args, chosen):
    """Run the rows CHOSEN in one network. Yield what is to be said of each."""
    topology, per_host, net, options = (KERNEL if args.engine == "kernel" else USER)[number]
    work = system.work_directory()
    order = list(range(MEMBERS))
    random.Random(number).shuffle(order)
    net = dict(net, mode="shaped" if "faults" in net else "fast", logs=work, seed=number + 1)
    with experiment.Testbed(topology_by_name(topology), **net) as testbed:
        ranks = experiment.place(testbed.net, MEMBERS // per_host, per_host, args.engine)
        random.Random(-number).shuffle(ranks)
        for i, rank in enumerate(ranks):
            rank.number = i
        for row in chosen:
            job = SumJob(work, row, os.path.join(args.work, folder_name(row)), order, options)
            result = experiment.run(testbed, job, ranks, args.patience)
            yield {"row": str(row), "network": f"{topology} {number}", "digests": job.digests,
                   "engines": sorted({rank["engine"] for rank in result["ranks"]}),
                   "method": result["ranks"][0]["output"].get("method"),
                   "faults": faults_of(result), "merged": merged_of(result),
                   "wrong": result["wrong"]}


def folder_name(row):
    """The folder of a row's vectors"""
    return f"{row.type}.{row.values}.{row.count}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["user", "kernel"], default="user")
    parser.add_argument("--networks", type=int, default=len(USER))
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    parser.add_argument("--patience", type=float, default=300, help="seconds for a sum")
    parser.add_argument("work")
    args = parser.parse_args()
    system.end_by_signals(signal.SIGTERM, signal.SIGHUP)
    system.sweep()
    bad = 0
    for number in range(min(args.networks, len(USER))):
        for said in run_network(number, args, chosen_rows(args.quick)):
            print(json.dumps(said), flush=True)
            bad += bool(said["wrong"])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
