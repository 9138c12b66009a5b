#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks of topology/congestion.py's parts, one a name; exits with status 1 and says why if one
does not hold."""
import os
import random
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "topology"))

from canary_topo import congestion, experiment, jobs, mpi, system, topology_by_name  # noqa: E402
from canary_topo.net import shape  # noqa: E402
from canary_topo.plan import Plan  # noqa: E402
from canary_topo.traffic import Traffic, peers  # noqa: E402

RATE = 20_000_000


def need(condition, text):
    if not condition:
        sys.exit(f"not so: {text}")


def check_peers():
    """Everybody sends to one other and receives from one; they change."""
    for number in (2, 3, 8, 40):
        turns = [peers(number, "seed", turn) for turn in range(20)]
        for order in turns:
            need(sorted(order) == list(range(number)), "one receiver for each sender")
            need(all(i != to for i, to in enumerate(order)), "nobody sends to himself")
        need(number == 2 or len({tuple(order) for order in turns}) > 1, "peers change")
    need(peers(8, "1", 3) == peers(8, "1", 3), "all draw the same")


def check_names():
    for name in ("dynamic", "dynamic-two", "static-4", "ring", "openmpi", "openmpi-ring"):
        need(congestion.Algorithm(name).name == name, name)
    for name in ("", "static", "static-0", "openmpi-best", "tree"):
        try:
            congestion.Algorithm(name)
        except ValueError:
            continue
        sys.exit(f"'{name}' was taken")
    hosts = list(range(16))
    members, others = congestion.place(hosts, 0.5, 3)
    need(len(members) == 8 and sorted(members + others) == hosts, "half of the hosts congest")
    need(congestion.place(hosts, 0.5, 3) == (members, others), "a placement is its seed's")
    need(len(congestion.place(hosts, 0.95, 1)[0]) == 2, "two are left to sum")
    need(len(congestion.place(hosts, 0.05, 1)[1]) == 2, "nobody congests alone")
    need(congestion.place(hosts, 0, 1)[1] == [], "nobody has to congest")
    need(congestion.Algorithm("static-2").settings(
        congestion.Scene("", 1, 4, "1ms", "9ms", "1M", 1, "user", 1, "udp", 1),
        random.Random(1))["timeout"] == "9ms", "planned trees wait")


def check_plan():
    """Whom switches of planned trees wait for, in a leaf-spine of 2 spines, 2 leaves
    with h1 h2 h3 and h4 h5 h6, h6 idle."""
    links = [(f"l{leaf}", f"l{leaf}s{spine}", f"s{spine}", f"s{spine}l{leaf}")
             for leaf in (1, 2) for spine in (1, 2)]
    links += [(f"l{1 + host // 3}", f"p{host}", f"h{host + 1}", "eth0") for host in range(6)]
    plan = Plan(links, ["l1", "l2", "s1", "s2"], [f"h{i}" for i in range(1, 7)])
    found = plan.fan_ins([f"h{i}" for i in range(1, 6)])
    near, far = {f"h{i}": 2 for i in (1, 2, 3)}, {f"h{i}": 3 for i in (4, 5)}
    need(found["s1"] == found["s2"] == {**near, **far}, f"spines: {found['s1']}")
    need(found["l1"] == {**{name: 4 for name in near}, **far}, f"first leaf: {found['l1']}")
    need(found["l2"] == {**near, **{name: 4 for name in far}}, f"second leaf: {found['l2']}")
    need([plan.level(name) for name in ("h1", "l1", "s1")] == [0, 1, 2], "levels")


def run(testbed, elements, options=()):
    with tempfile.TemporaryDirectory() as work:
        job = jobs.AllreduceJob(work, options, elements=elements)
        result = experiment.run(testbed, job, experiment.place(testbed.net, engine="user"), 60)
    need(result["right"], f"the sum is right: {result['wrong']}")


def diverted(testbed):
    return {name: sum(port["egress"]["diverted"] for port in state["ports"] if port["egress"])
            for name, state in testbed.switch_states().items()}


def check_diverts():
    """A leaf whose way to one spine is slow sends by the other one, if it may;
    sums are right however it chooses."""
    with experiment.Testbed(topology_by_name("leaf_spine:2,3,1"), rate=RATE,
                            timeout="20ms") as testbed:
        leaf = testbed.net.get("sleaf1")
        with system.namespace(leaf.pid):
            system.batch("tc", [line for line in shape("sleaf1-eth1", RATE // 40, testbed.net.queue)
                                if line.startswith("class")])
        for choice in ("block", "static", "adaptive", "both", "flow", "flowlet", "random", "two"):
            for switch in testbed.net.switches:
                switch.set(choice=choice)
            before = diverted(testbed)
            run(testbed, 60000 if choice in ("adaptive", "both") else 10000)
            after = diverted(testbed)
            gained = after["sleaf1"] - before["sleaf1"]
            if choice in ("adaptive", "both"):
                need(gained > 0, f"{choice} avoids the slow link")
            if choice in ("block", "static"):
                need(gained == 0, f"{choice} avoids nothing")
        before = diverted(testbed)
        testbed.net.get("sleaf1").set(choice="adaptive")
        run(testbed, 60000, ["--algorithm", "static:2"])
        need(diverted(testbed) == before, "nor may switches if members pin their contributions")


def check_traffic():
    """It flows, and it ends."""
    with experiment.Testbed(topology_by_name("star:3"), rate=RATE, switches="none") as testbed:
        with Traffic(testbed.net.hosts, RATE // 4, period=1.0):
            before = testbed.net.link_bytes()
            time.sleep(3)
            links = experiment.difference(before, testbed.net.link_bytes())
        for host in testbed.net.hosts:
            sent = links[f"{host.name}:{host.name}-eth0"]["tx_bytes"]
            need(sent > 100_000, f"{host.name} sends, {sent} bytes")


def check_openmpi():
    why_not = mpi.available()
    need(not why_not, why_not)
    with experiment.Testbed(topology_by_name("star:3"), rate=RATE, switches="none") as testbed, \
            tempfile.TemporaryDirectory() as work:
        before = testbed.net.link_bytes()
        seconds = mpi.measure(work, testbed.net.hosts, "ring", 120000, 1, 60)
        links = experiment.difference(before, testbed.net.link_bytes())
        need(seconds > 0, "it took some time")
        # two thirds of the vector in each of the two halves
        need(all(links[f"{host.name}:{host.name}-eth0"]["tx_bytes"] > 150000
                 for host in testbed.net.hosts), "it went over the links")


if __name__ == "__main__":
    globals()[f"check_{sys.argv[1]}"](*sys.argv[2:])
