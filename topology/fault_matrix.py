#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""All fault experiments, on several topologies, with several numbers of members and sizes. They are
repeated with other seeds until so many blocks were verified. A failure is a wrong sum, a hang, an
error where there should be none, or an error that names the wrong ranks. Its seed is printed.

  topology/fault_matrix.py --blocks 1000000 --state build/fault-matrix
  topology/fault_matrix.py --tap --topology star:4 --sizes 3000

With --state, trials that are done are not done again, so an interrupted matrix goes on. Each trial
prints one line."""
import json
import os
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from canary_topo import arguments, experiment, experiments, system, topology_by_name  # noqa: E402
from canary_topo.faults import ALL, FAULTS  # noqa: E402

# topology: ranks on each host
TOPOLOGIES = ["star:2", "star:5", "leaf_spine:2,2,2", "leaf_spine:2,4,2", "star:3*3"]
SIZES = [1, 5000, 120000]


def topology_and_ranks(text):
    """Return: (topology, ranks on each host) for a text such as star:3*2"""
    topology, star, ranks = text.partition("*")
    if star and not (ranks.isdigit() and 1 <= int(ranks) <= 64):
        raise ValueError(f"'{text}': '{ranks}' is not a number of ranks from 1 to 64")
    return topology_by_name(topology), int(ranks or 1)


class Matrix:
    """Goes through all trials and keeps their results."""

    def __init__(self, args):
        self.args = args
        self.results = []
        self.blocks = 0
        self.state = None
        self.begin = time.monotonic()
        self.work = system.work_directory()
        if args.state:
            os.makedirs(args.state, exist_ok=True)
            self.state = os.path.join(args.state, "results.jsonl")
            if os.path.exists(self.state):
                with open(self.state, encoding="utf-8") as file:
                    for line in file:
                        self.add(json.loads(line))

    def add(self, result):
        self.results.append(result)
        self.blocks += result["blocks"]

    @property
    def failures(self):
        return [result for result in self.results if not result["right"]]

    def done(self, cell):
        return any(result["cell"] == cell for result in self.results)

    def enough(self):
        if self.args.minutes and time.monotonic() - self.begin > 60 * self.args.minutes:
            return True
        return self.args.blocks and self.blocks >= self.args.blocks

    def record(self, cell, result):
        result["cell"] = cell
        if "dump" in result and self.args.state:
            kept = os.path.join(self.args.state, f"hang-{len(self.results)}.txt")
            shutil.copy(result["dump"], kept)
            result["dump"] = kept
        self.add(result)
        if self.state:
            with open(self.state, "a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
        if self.args.tap:
            print(f"{'' if result['right'] else 'not '}ok {len(self.results)} {cell}", flush=True)
            for line in result["wrong"]:
                print(f"# {line}", flush=True)
            if "dump" in result:
                with open(result["dump"], encoding="utf-8") as file:
                    print("".join(f"# {line}" for line in file), flush=True)
            return
        seconds = time.monotonic() - self.begin
        share = f" of {self.args.blocks}" if self.args.blocks else ""
        print(f"[{seconds:6.0f} s, {self.blocks}{share} blocks, {len(self.failures)} failed] {cell}: "
              f"{'right' if result['right'] else 'WRONG'}, {result['redone']} redone, "
              f"{result.get('lost_seconds', 0):+.2f} s", flush=True)
        for line in result["wrong"]:
            print(f"    {line}", flush=True)

    def cells(self, testbed, topology, per_host, seed):
        """Do all trials on one testbed."""
        for size in self.args.sizes:
            base = {}
            for fault in map(FAULTS.get, self.args.faults):
                members = (len(testbed.net.hosts) - fault.spare) * per_host
                if not fault.possible(testbed, members):
                    continue
                # A fault in the middle of an operation needs a long operation.
                if fault.long and size != max(self.args.sizes):
                    continue
                cell = f"{fault.name} {topology} size {size} seed {seed} engine {self.args.engine}"
                if self.done(cell):
                    continue
                elements = max(size, self.args.long) if fault.long else size
                setting = experiments.Setting(
                    self.args.engine, None, per_host, self.args.operations, elements, seed,
                    self.args.options, self.args.stall, self.work)
                alike = (elements, fault.spare)
                if alike not in base:
                    base[alike] = experiments.baseline_of(testbed, fault, setting)
                    self.record(f"none {topology} size {elements} seed {seed} engine "
                                f"{self.args.engine} for {fault.name}", base[alike])
                result = experiments.run_trial(testbed, fault, setting, base[alike])
                self.record(cell, result)
                if self.enough():
                    return

    def run(self):
        seed = self.args.seed
        while True:
            for text in self.args.topology:
                topo, per_host = topology_and_ranks(text)
                with experiment.Testbed(topo, mode="shaped", logs=self.work) as testbed:
                    self.cells(testbed, text, per_host, seed)
                if self.enough():
                    return
                self.between()
            seed += 1
            if not self.args.blocks and not self.args.minutes:
                return

    def between(self):
        """Called between two testbeds; subclasses may override it."""

    def summary(self):
        hangs = sum(any(line.startswith("hang") for line in result["wrong"])
                    for result in self.results)
        return {
            "trials": len(self.results), "failed": len(self.failures), "hangs": hangs,
            "wrong_elements": sum(result["wrong_elements"] for result in self.results),
            "blocks": self.blocks,
            "operations": sum(result["operations"] for result in self.results),
            "redone": sum(result["redone"] for result in self.results),
            "errors_named": sum(len(result["errors"]) for result in self.results),
            "engine": self.args.engine,
        }


def common(parser):
    """Add the options that soak.py has, too."""
    number, add = arguments.number, parser.add_argument
    add("--topology", nargs="+", type=arguments.taken_by(topology_and_ranks), default=TOPOLOGIES,
        help="as run.py has them; star:3*2 is two ranks a host")
    add("--sizes", nargs="+", type=number(int, 1, 1 << 26), default=SIZES, help="elements of a vector")
    add("--faults", nargs="+", choices=list(FAULTS), metavar="FAULT", default=[fault.name for fault in ALL],
        help="as topology/fault.py list has them (all)")
    add("--operations", type=number(int, max(fault.least for fault in ALL), 1000000), default=3,
        help="that a rank does in a round")
    add("--long", type=number(int, 1, 1 << 26), default=400000,
        help="least elements for what happens in the middle")
    add("--seed", type=number(int, 1, 1000000), default=1, help="the first")
    add("--stall", type=number(float, 0.1, 1000000), default=60, help="seconds without progress that are a hang")
    add("--state", help="directory that keeps results: an interrupted matrix goes on")


def parse(argv):
    parser = arguments.Parser(__doc__, "After --: further options of the worker.")
    number, add = arguments.number, parser.add_argument
    common(parser)
    add("--blocks", type=number(int, 0, 10 ** 12), default=0,
        help="go on with other seeds until so many were verified (0: once)")
    add("--minutes", type=number(float, 0, 1000000), default=0, help="go on with other seeds for so long")
    add("--engine", default="auto")
    add("--tap", action="store_true", help="print TAP")
    return parser.parse_with_options(argv)


def main(argv=None):
    args = parse(sys.argv[1:] if argv is None else argv)
    system.end_by_signals(signal.SIGTERM, signal.SIGHUP)
    system.sweep()
    matrix = Matrix(args)
    if args.tap:
        print("TAP version 13")
    try:
        matrix.run()
    finally:
        if not matrix.failures:
            shutil.rmtree(matrix.work, ignore_errors=True)
    summary = matrix.summary()
    if args.tap:
        print(f"1..{len(matrix.results)}")
        print(f"# {json.dumps(summary)}")
        print(f"# faults/matrix: {summary['trials'] - summary['failed']} passed, "
              f"{summary['failed']} failed, 0 skipped")
    else:
        print(json.dumps(summary))
        for result in matrix.failures:
            print(f"failed: {result['cell']}: {'; '.join(result['wrong'])}")
    if args.state:
        with open(os.path.join(args.state, "summary.json"), "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=1)
            file.write("\n")
    return 1 if matrix.failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ValueError, RuntimeError, OSError) as error:
        print(f"fault_matrix.py: {error}", file=sys.stderr)
        sys.exit(2)
