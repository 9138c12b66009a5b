# SPDX-License-Identifier: BSD-2-Clause
"""Beyond the papers: what adaptive timeouts and learned fan-in bring, three levels with 8192 hosts,
switches that do not take part, switches that fail. (Figure 10a has many tenants.)"""
from experiments import CONGESTED
from figure import NAMES, Figure, algorithm

LARGE = "topology/shapes/fat_tree_8192.topo"
TRAFFIC = [(False, "no congestion"), (True, "congestion")]


class Timeouts(Figure):
    name = "timeouts"
    title = "Learned fan-in and adaptive timeouts, 512 hosts, 2 MiB"
    modes = {"neither (paper)": {"fan_in": "off", "timeout_max": "0us"},
             "learned fan-in": {"timeout_max": "0us"},
             "adaptive timeout": {"fan_in": "off"}, "both": {}}
    cases = [((traffic, noise), f"{text},\nnoise {noise}") for traffic, text in TRAFFIC
             for noise in ("0%", "10%")]

    def define(self):
        for (traffic, noise), _ in self.cases:
            for mode, keys in self.modes.items():
                self.add_seeds((traffic, noise, mode), "dynamic", members=512, bytes="2MiB",
                               noise=noise, **keys, **(CONGESTED if traffic else {}))

    def show(self, axes):
        self.bars(axes, self.cases, list(self.modes),
                  lambda case, mode: self.goodput((*case, mode)), "Goodput (Gbit/s)")
        for (traffic, noise), text in self.cases:
            self.quote(f"both over neither, {' '.join(text.split())}", None,
                       self.median((traffic, noise, "both")) /
                       self.median((traffic, noise, "neither (paper)")))


class Deployed(Figure):
    name = "deployed"
    title = "Some of the switches are plain routers, 512 hosts, 256 KiB"
    shares = [0, 10, 25, 50, 75, 100]

    def shares_of(self, traffic):
        """With few switches each leader gets hundreds of packets for each block. Congestion by
        others adds nothing to that, but it costs minutes of simulation."""
        return self.shares[3:] if traffic else self.shares

    def define(self):
        for traffic, _ in TRAFFIC:
            for share in self.shares_of(traffic):
                self.add_seeds((traffic, share), "dynamic", members=512, bytes="256KiB",
                               rto_min="100us", deployed=f"{share}%",
                               **(CONGESTED if traffic else {}))

    def show(self, axes):
        for traffic, text in TRAFFIC:
            shares = self.shares_of(traffic)
            axes.plot(shares, [self.median((traffic, share)) for share in shares],
                      marker="o", label=text)
        axes.set_xlabel("Switches that aggregate (%)")
        axes.set_ylabel("Goodput (Gbit/s)")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize="small")
        for share in self.shares[:-1]:
            self.quote(f"{share} % of the switches: goodput over all", None,
                       self.median((False, share)) / self.median((False, 100)))


class Large(Figure):
    """One placement only, as each run takes 4 GiB."""

    name = "8192"
    title = "Three levels, 8192 hosts, 256 KiB"
    compared = ["static-1", "static-4", "dynamic"]
    cases = [((8192, False), "all hosts"), ((4096, False), "4096,\nno congestion"),
             ((4096, True), "4096,\ncongestion")]

    def define(self):
        for members, traffic in (case for case, _ in self.cases):
            for name in self.compared:
                self.add((members, traffic, name), {
                    "topology": LARGE, "bytes": "256KiB", "seed": 1, "members": members,
                    **algorithm(name), **(CONGESTED if traffic else {})})

    def show(self, axes):
        self.bars(axes, self.cases, self.compared,
                  lambda case, name: self.goodput((*case, name)), "Goodput (Gbit/s)")
        for name in ("static-1", "static-4"):
            self.quote(f"4096 of 8192 hosts, congestion: dynamic over {NAMES[name]}", None,
                       self.median((4096, True, "dynamic")) / self.median((4096, True, name)))


class Failures(Figure):
    name = "failures"
    title = "Spines fail after 20 us, rerouted after 10 us; 512 hosts, 1 MiB"
    counts = [0, 1, 2, 4, 8, 16]

    def define(self):
        for traffic, _ in TRAFFIC:
            for count in self.counts:
                keys = {"fail": [f"sspine{i + 1} 20us" for i in range(count)]} if count else {}
                self.add_seeds((traffic, count), "dynamic", members=512, bytes="1MiB",
                               rto_min="100us", reroute="10us", **keys,
                               **(CONGESTED if traffic else {}))

    def show(self, axes):
        for traffic, text in TRAFFIC:
            axes.plot(self.counts, [self.median((traffic, count), "ns", 1000)
                                    for count in self.counts], marker="o", label=text)
        axes.set_xlabel("Spines that fail, of 32")
        axes.set_ylabel("Runtime (us)")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize="small")
        for count in self.counts[1:]:
            self.quote(f"{count} of 32 spines fail: runtime in us over none", None,
                       self.median((False, count), "ns", 1000) -
                       self.median((False, 0), "ns", 1000))


FIGURES = [Timeouts, Deployed, Large, Failures]
