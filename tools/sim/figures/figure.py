# SPDX-License-Identifier: BSD-2-Clause
"""Common code of the figures: runs with labels, medians, plots, tables."""
import csv
import os
import statistics

PAPER = "topology/shapes/paper.topo"
# The paper's hosts have no window. When half of 1024 hosts congest, no more blocks are in flight.
WINDOW = 512
NAMES = {"dynamic": "dynamic trees", "fixed": "dynamic trees, 1 us fixed (paper)", "static-1": "1 static tree", "static-4": "4 static trees",
         "static-2": "2 static trees", "static-8": "8 static trees", "ring": "ring"}


def algorithm(name):
    """Keys of a scenario that select the algorithm NAME"""
    kind, _, trees = name.partition("-")
    window = {"window": WINDOW}
    if kind == "static":
        return {"algorithm": "static", "trees": int(trees), "timeout": "1ms", **window}
    if kind == "ring":
        # A round trip through the whole ring takes long: all blocks of 4 MiB are in flight.
        return {"algorithm": "ring", "window": 4096}
    if kind == "fixed":
        # The paper's algorithm: one timeout for all, and nothing is learned
        return {"algorithm": "dynamic", "timeout": "1us", "fan_in": "off", **window}
    return {"algorithm": kind, "timeout": "1us", "timeout_max": "16us", **window}


def scenario(name, seed, topology=PAPER, **keys):
    """A scenario with the algorithm NAME"""
    result = {"topology": topology, "bytes": "4MiB", "seed": seed, **algorithm(name)}
    result.update(keys)
    return result


class Figure:
    """One figure of the paper. A subclass names the runs that it needs
    (self.add(LABEL, SCENARIO)), and shows their results."""

    name = ""
    title = ""
    lacks = None    # why it cannot be made on this machine

    def __init__(self, seeds):
        self.seeds = seeds
        self.labels = []
        self.scenarios = []
        self.results = {}
        self.rows = []
        self.define()

    def define(self):
        raise NotImplementedError

    def add(self, label, keys):
        self.labels.append(label)
        self.scenarios.append(keys)

    def add_seeds(self, label, algorithm_name, **keys):
        for seed in range(1, self.seeds + 1):
            self.add(label, scenario(algorithm_name, seed, **keys))

    def take(self, results):
        """Store RESULTS, which are in the order of the scenarios."""
        for label, keys, result in zip(self.labels, self.scenarios, results):
            if not result["right"]:
                raise RuntimeError(f"figure {self.name}: {label}: wrong or unfinished: {keys}")
            self.results.setdefault(label, []).append(result)

    def median(self, label, field="goodput_mbit", scale=1000):
        return statistics.median(r[field] for r in self.results[label]) / scale

    def spread(self, label, field="goodput_mbit", scale=1000):
        values = [r[field] / scale for r in self.results[label]]
        return min(values), max(values)

    def utilisation(self, label):
        """Utilisation of all links, in percent"""
        return statistics.median(r["links"]["utilisation_ppm"] for r in self.results[label]) / 1e4

    def quote(self, quantity, paper, ours, ratio=None, text=None):
        """Add a row to the summary. RATIO is at least 1 where ours is as good or better. PAPER and
        RATIO are None where the paper has no value."""
        if ratio is None and paper is not None:
            ratio = ours / paper
        self.rows.append({"figure": self.name, "quantity": quantity, "paper": paper,
                          "ours": round(ours, 3),
                          "ratio": None if ratio is None else round(ratio, 3),
                          **({"note": text} if text else {})})

    def show(self):
        """Fill self.rows, and draw with self.axes."""
        raise NotImplementedError

    def write_csv(self, directory):
        path = os.path.join(directory, f"figure-{self.name}.csv")
        with open(path, "w", newline="", encoding="ascii") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["figure", "case", "run", "goodput_gbit", "runtime_us",
                          "utilisation_percent", "hops"])
            for label, results in self.results.items():
                for i, r in enumerate(results):
                    out.writerow([self.name, " ".join(str(x) for x in label), i + 1,
                                  r["goodput_mbit"] / 1000, r["ns"] / 1000,
                                  r["links"]["utilisation_ppm"] / 10000, r["hops"]])

    def bars(self, axes, groups, names, value, ylabel):
        """Draw groups of bars. VALUE(group, name) gives (median, low, high)."""
        width = 0.8 / len(names)
        for k, name in enumerate(names):
            values = [value(group, name) for group, _ in groups]
            places = [i + (k - (len(names) - 1) / 2) * width for i in range(len(groups))]
            axes.bar(places, [v[0] for v in values], width * 0.92, label=NAMES.get(name, name),
                     yerr=[[v[0] - v[1] for v in values], [v[2] - v[0] for v in values]],
                     capsize=2)
        axes.set_xticks(range(len(groups)))
        axes.set_xticklabels([text for _, text in groups])
        axes.set_ylabel(ylabel)
        axes.legend(fontsize="small")

    def goodput(self, label):
        return (self.median(label), *self.spread(label))
