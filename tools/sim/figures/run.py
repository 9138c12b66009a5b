#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the figures of the papers with canary-sim: CSV, plots, and a table beside what the papers'
text says, in build/figures. An interrupted run goes on where it was. What is there is not simulated
again."""
import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import matplotlib  # noqa: E402

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from experiments import FIGURES as PAPERS  # noqa: E402
from runner import TOP, Runner  # noqa: E402
from sweeps import FIGURES as SWEEPS  # noqa: E402
from lanes import FIGURES as TYPES  # noqa: E402

FIGURES = PAPERS + TYPES + SWEEPS


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    names = [figure.name for figure in FIGURES]
    parser.add_argument("--only", help=f"with commas: {', '.join(names)}")
    parser.add_argument("--placements", type=int, default=5, help="random ones of each case")
    parser.add_argument("--jobs", type=int, default=2, help="simulations at a time")
    parser.add_argument("--output", default=os.path.join(TOP, "build/figures"))
    parser.add_argument("--simulator", default=os.path.join(TOP, "build/bin/canary-sim"))
    args = parser.parse_args(argv)
    chosen = args.only.split(",") if args.only else names
    for name in chosen:
        if name not in names:
            parser.error(f"--only: no figure '{name}': there are {', '.join(names)}")
    if args.placements < 1 or args.jobs < 1:
        parser.error("--placements, --jobs: at least 1")
    args.only = chosen
    return args


def draw(figure, directory):
    plot, axes = plt.subplots(figsize=(6.4, 4))
    figure.show(axes)
    axes.set_title(f"Figure {figure.name}: {figure.title}", fontsize="small")
    axes.grid(axis="y", alpha=0.3)
    plot.tight_layout()
    for kind in ("png", "svg"):
        plot.savefig(os.path.join(directory, f"figure-{figure.name}.{kind}"), dpi=120)
    plt.close(plot)
    figure.write_csv(directory)


def table(rows):
    lines = [f"{'figure':<11} {'paper':>8} {'ours':>8} {'ratio':>6}  quantity"]
    for row in rows:
        paper, ratio = (("-" if row[key] is None else row[key]) for key in ("paper", "ratio"))
        lines.append(f"{row['figure']:<11} {paper:>8} {row['ours']:>8} {ratio:>6}  "
                     f"{row['quantity']}{' (' + row['note'] + ')' if 'note' in row else ''}")
    return "\n".join(lines)


def main(argv=None):
    args = parse(argv)
    figures = [figure(args.placements) for figure in FIGURES if figure.name in args.only]
    lacking = [figure for figure in figures if figure.lacks]
    for figure in lacking:
        print(f"figures: {figure.name} is left out: {figure.lacks}", file=sys.stderr)
    figures = [figure for figure in figures if not figure.lacks]
    if not figures:
        return 1
    runner = Runner(args.simulator, os.path.join(args.output, "runs"), args.jobs)
    scenarios = [keys for figure in figures for keys in figure.scenarios]
    try:
        results = runner.run_all(scenarios)
    except (RuntimeError, OSError, ValueError) as error:
        print(f"figures: {error}", file=sys.stderr)
        return 1
    rows, at = [], 0
    for figure in figures:
        figure.take([results[at + i] for i in range(len(figure.scenarios))])
        at += len(figure.scenarios)
        draw(figure, args.output)
        rows += figure.rows
    with open(os.path.join(args.output, "summary.json"), "w", encoding="ascii") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
