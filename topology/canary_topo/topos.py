# SPDX-License-Identifier: BSD-2-Clause
"""Topologies. Names of switches begin with s, of plain routers with r, of hosts with h. Hosts are
numbered in the order in which they get ranks."""
import inspect

from mininet.topo import Topo

from .node import CanaryHost, PlainRouter, XdpSwitch
from .shape import read_shape, shape_links, shape_spread


class CanaryTopo(Topo):
    """A topology whose nodes have the classes of this package."""

    def switch(self, name, **params):
        return self.addSwitch(name, cls=XdpSwitch, **params)

    def router(self, name):
        return self.addSwitch(name, cls=PlainRouter)

    def host(self, name, **params):
        return self.addHost(name, cls=CanaryHost, **params)


class Star(CanaryTopo):
    """Hosts around one switch."""

    def build(self, hosts=4):
        switch = self.switch("s1")
        for number in range(1, hosts + 1):
            self.addLink(switch, self.host(f"h{number}"))


class LeafSpine(CanaryTopo):
    """Every leaf has a link to every spine. Hosts are at leaves."""

    def build(self, spines=2, leaves=4, hosts=2):
        names = [self.switch(f"sspine{i + 1}") for i in range(spines)]
        for i in range(leaves):
            leaf = self.switch(f"sleaf{i + 1}")
            for spine in names:
                self.addLink(leaf, spine)
            for j in range(hosts):
                self.addLink(leaf, self.host(f"h{i * hosts + j + 1}"))


class FatTree(CanaryTopo):
    """The k-ary fat tree: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 core switches,
    k^3/4 hosts."""

    def build(self, k=4):
        if k < 2 or k % 2:
            raise ValueError(f"fat_tree: k is even and at least 2, not {k}")
        half = k // 2
        cores = [self.switch(f"score{i + 1}") for i in range(half * half)]
        number = 0
        for pod in range(1, k + 1):
            # Edge switches have chosen already. The same choice again would leave cores idle.
            upper = [self.switch(f"sagg{pod}x{i + 1}", spread=half) for i in range(half)]
            for i, agg in enumerate(upper):
                for j in range(half):
                    self.addLink(agg, cores[i * half + j])
            for i in range(half):
                edge = self.switch(f"sedge{pod}x{i + 1}")
                for agg in upper:
                    self.addLink(edge, agg)
                for _ in range(half):
                    number += 1
                    self.addLink(edge, self.host(f"h{number}"))


class ThroughRouter(CanaryTopo):
    """A plain router between two Canary switches."""

    def build(self, hosts=2):
        router = self.router("r1")
        for i in range(2):
            switch = self.switch(f"s{i + 1}")
            self.addLink(switch, router)
            for j in range(hosts):
                self.addLink(switch, self.host(f"h{i * hosts + j + 1}"))


class BehindRouter(CanaryTopo):
    """Four hosts behind a plain router on one port of the switch: four children on one port. The
    other hosts have ports of their own."""

    def build(self, behind=4, beside=2):
        switch, router = self.switch("s1"), self.router("r1")
        self.addLink(switch, router)
        for i in range(behind):
            self.addLink(router, self.host(f"h{i + 1}"))
        for i in range(beside):
            self.addLink(switch, self.host(f"h{behind + i + 1}"))


class FromShape(CanaryTopo):
    """A topology that a file in topology/shapes describes."""

    def build(self, path=None):
        shape, made = read_shape(path), set()
        for pair in shape_links(shape):
            for name in pair:
                if name in made:
                    continue
                made.add(name)
                if name.startswith("h"):
                    self.host(name)
                else:
                    spread = shape_spread(shape, name)
                    self.switch(name, **({"spread": spread} if spread else {}))
            self.addLink(*pair)


TOPOLOGIES = {
    "star": (Star, 1),
    "leaf_spine": (LeafSpine, 3),
    "fat_tree": (FatTree, 1),
    "through_router": (ThroughRouter, 1),
    "behind_router": (BehindRouter, 2),
}


def topology_by_name(text):
    """Return: the topology for leaf_spine:2,4,2 and so on. Numbers may be left out. file:PATH is a
    shape."""
    name, _, numbers = text.partition(":")
    if name == "file":
        return FromShape(path=numbers)
    if name not in TOPOLOGIES:
        raise ValueError(f"no topology '{name}': there are {', '.join(sorted(TOPOLOGIES))}")
    cls, most = TOPOLOGIES[name]
    try:
        values = [int(number) for number in numbers.split(",")] if numbers else []
    except ValueError:
        raise ValueError(f"{name}: '{numbers}' are no numbers") from None
    if len(values) > most or any(value < 1 for value in values):
        raise ValueError(f"{name}: at most {most} numbers from 1 on, not '{numbers}'")
    return cls(*values)


def whole_name(text):
    """The full name of a topology, with the numbers that were left out"""
    name, _, numbers = text.partition(":")
    if name == "file":
        return text
    values = numbers.split(",") if numbers else []
    usual = list(inspect.signature(TOPOLOGIES[name][0].build).parameters.values())[1:]
    return f"{name}:{','.join([*values, *(str(number.default) for number in usual[len(values):])])}"


# For `mn --custom`
topos = {name: cls for name, (cls, _) in TOPOLOGIES.items()}
