# SPDX-License-Identifier: BSD-2-Clause
"""Plots of what topology/congestion.py measured, each as PNG and SVG."""
import os
import statistics


def _pyplot():
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("Agg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    return pyplot


def _save(pyplot, figure, directory, name):
    paths = []
    for kind in ("png", "svg"):
        paths.append(os.path.join(directory, f"{name}.{kind}"))
        figure.savefig(paths[-1], dpi=120)
    pyplot.close(figure)
    return paths


def _is_none(row):
    """Does the row say more about the processor than about links?"""
    return row["limit"] == "processor"


def goodput(rows, directory, name, title, limit):
    """Medians over the share of hosts that congest, with the spread of runs"""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(7, 4.2), constrained_layout=True)
    for algorithm in sorted({row["algorithm"] for row in rows}):
        mine = sorted((row for row in rows if row["algorithm"] == algorithm),
                      key=lambda row: row["congestion"])
        axes.errorbar([100 * row["congestion"] for row in mine],
                      [row["goodput_median"] for row in mine],
                      yerr=[[row["goodput_median"] - row["goodput_spread"][0] for row in mine],
                            [row["goodput_spread"][1] - row["goodput_median"] for row in mine]],
                      marker="o", capsize=3, label=algorithm + (" (no result)" if any(map(_is_none, mine)) else ""),
                      fillstyle="none" if any(map(_is_none, mine)) else "full")
    axes.axhline(limit / 1e6, color="grey", linestyle=":", label="payload limit of an access link")
    axes.set(xlabel="hosts that congest, %", ylabel="goodput, Mbit/s", title=title, ylim=(0, None))
    axes.legend(fontsize=8)
    return _save(pyplot, figure, directory, name)


def bars(labelled, directory, name, title, limit):
    """Medians side by side, with the spread of runs. LABELLED is a list of (label, row)."""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(max(4, 1 + 0.9 * len(labelled)), 3.6),
                                   constrained_layout=True)
    rows = [row for _, row in labelled]
    middle = [row["goodput_median"] for row in rows]
    axes.bar(range(len(rows)), middle,
             yerr=[[value - row["goodput_spread"][0] for value, row in zip(middle, rows)],
                   [row["goodput_spread"][1] - value for value, row in zip(middle, rows)]],
             capsize=3, color=["lightgrey" if _is_none(row) else "C0" for row in rows])
    names = [label + ("\n(no result)" if _is_none(row) else "") for label, row in labelled]
    axes.set_xticks(range(len(rows)), names, rotation=30, ha="right",
                    fontsize=8)
    if limit:
        axes.axhline(limit / 1e6, color="grey", linestyle=":")
    axes.set(ylabel="goodput, Mbit/s", title=title, ylim=(0, None))
    return _save(pyplot, figure, directory, name)


def utilisation(runs, directory, name, title):
    """Utilisation of the links between switches: a histogram for each algorithm"""
    pyplot = _pyplot()
    algorithms = sorted({run["algorithm"] for run in runs})
    figure, axes = pyplot.subplots(1, len(algorithms), sharey=True, squeeze=False,
                                   figsize=(2.6 * len(algorithms), 3), constrained_layout=True)
    for axis, algorithm in zip(axes[0], algorithms):
        values = [min(1, value) for run in runs if run["algorithm"] == algorithm
                  for value in run["utilisation"]]
        axis.hist(values, bins=20, range=(0, 1), weights=[1 / len(values)] * len(values))
        axis.set(title=f"{algorithm}, mean {100 * statistics.mean(values):.0f} %",
                 xlabel="utilisation")
        axis.title.set_fontsize(9)
    axes[0][0].set_ylabel("share of links")
    figure.suptitle(title, fontsize=10)
    return _save(pyplot, figure, directory, name)


def timeline(run, directory, name):
    """What each leaf chose during a sum: packets of each sample by port, and how full the queues
    were"""
    pyplot = _pyplot()
    switches = sorted({sample["switch"] for sample in run["timeline"]})
    figure, axes = pyplot.subplots(len(switches), 1, sharex=True, squeeze=False,
                                   figsize=(8, 1.3 * len(switches) + 1), constrained_layout=True)
    for axis, switch in zip(axes[:, 0], switches):
        samples = [sample for sample in run["timeline"] if sample["switch"] == switch]
        ports = [port for port in samples[0]["ports"]
                 if samples[-1]["ports"][port]["chosen"] > samples[0]["ports"][port]["chosen"]]
        for number, port in enumerate(ports):
            times = [sample["at"] for sample in samples[1:]]
            axis.plot(times, [b["ports"][port]["chosen"] - a["ports"][port]["chosen"]
                              for a, b in zip(samples, samples[1:])],
                      color=f"C{number}", label=port)
            full = axis.twinx() if not hasattr(axis, "full") else axis.full
            axis.full = full
            full.plot(times, [100 * s["ports"][port]["waiting"] / s["ports"][port]["room"]
                              for s in samples[1:]], color=f"C{number}", linestyle=":", linewidth=1)
            full.set_ylim(0, 100)
        axis.set_ylabel(switch, fontsize=7)
        if ports:
            axis.legend(fontsize=6, loc="upper left")
    axes[-1][0].set_xlabel("s; lines: packets chosen a sample, dots: queue, % full")
    return _save(pyplot, figure, directory, name)
