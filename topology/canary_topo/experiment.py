# SPDX-License-Identifier: BSD-2-Clause
"""Experiments: a testbed, faults on its links, a job on its hosts, and all their counters."""
import json
import os
import random
import subprocess
import time

from . import system
from .jobs import Rank
from .net import CanaryNet
from .node import CANARY

FIRST_PORT = 22600


def choose_switches(text, names):
    """Return: names of switches for all, none, half (every other one), a number (the first ones),
    or names with commas"""
    if text == "all":
        return list(names)
    if text == "none":
        return []
    if text == "half":
        return list(names)[::2]
    if text.isdigit():
        if int(text) > len(names):
            raise ValueError(f"--switches: '{text}' is not a number from 0 to {len(names)}")
        return list(names)[:int(text)]
    chosen = text.split(",")
    for name in chosen:
        if name not in names:
            raise ValueError(f"--switches: no switch '{name}': there are {', '.join(names)}")
    return chosen


def choose_engines(text, hosts):
    """Return: the engine of each host for auto, kernel, user, or kernel:N (the first N hosts; user
    on the others)"""
    name, _, number = text.partition(":")
    if name not in ("auto", "kernel", "user") or (number and not number.isdigit()):
        raise ValueError(f"--engine: '{text}' is none of auto, kernel, user, kernel:N, user:N")
    if not number:
        return [name] * hosts
    other = {"kernel": "user", "user": "kernel"}.get(name, "user")
    return [name if i < int(number) else other for i in range(hosts)]


def fault_options(text):
    """Return: options of `canary fault add` for a text such as drop=1%,delay=5ms"""
    options = []
    for item in text.split(","):
        name, equals, value = item.partition("=")
        if not equals or name not in ("drop", "duplicate", "reorder", "delay", "corrupt",
                                      "burst", "hold", "seed"):
            raise ValueError(f"--faults: '{item}' is nothing such as drop=1% or delay=5ms~2ms")
        options += [f"--{name}", value]
    return options


class Testbed:
    """A running network, for a `with` statement"""

    def __init__(self, topo, switches="all", faults=None, seed=1, admission=False, **net):
        names = [name for name in topo.switches()
                 if topo.nodeInfo(name)["cls"].__name__ == "XdpSwitch"]
        self.programs = choose_switches(switches, names)
        self.faults = fault_options(faults) if faults else None
        self.seed = seed
        # whether switches are told whose packets they may act upon
        self.admission = admission
        self.net = CanaryNet(topo, program=self.programs, **net)

    def __enter__(self):
        try:
            self.net.start()
            if self.faults:
                self._add_faults()
        except BaseException:
            self.net.stop()
            raise
        return self

    def __exit__(self, *_):
        self.net.stop()

    def _add_faults(self):
        for number, (node, device) in enumerate(self.net.ports()):
            seeded = [] if "--seed" in self.faults else ["--seed", self.seed * 1000 + number]
            command = [CANARY, "fault", "add", device, "--only-canary", *self.faults, *seeded]
            with system.namespace(node.pid):
                done = system.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{node.name}: {done.stderr.strip()}")

    def fault_counters(self):
        """Counters of the injectors, summed over all links; None without faults"""
        if not self.faults:
            return None
        total = {}
        for node, device in self.net.ports():
            with system.namespace(node.pid):
                done = system.run([CANARY, "fault", "show", device, "-j"],
                                  capture_output=True, text=True, check=True)
            for injector in json.loads(done.stdout):
                for name, value in injector["counters"].items():
                    total[name] = total.get(name, 0) + value
        return total

    def switch_states(self):
        """Return: {switch: state} from `canary switch show`; None where no program runs"""
        return {switch.name: switch.show() for switch in self.net.switches}


def choose_hosts(hosts, most):
    """How many of MOST hosts have ranks: HOSTS, or all of them"""
    if hosts is not None and not 1 <= hosts <= most:
        raise ValueError(f"--hosts: '{hosts}' is not a number from 1 to {most}")
    return most if hosts is None else hosts


def place(net, hosts=None, per_host=1, engine="auto", shuffle=None):
    """Ranks on the first HOSTS hosts, PER_HOST on each, in the order of hosts, or in an order that
    follows from the number SHUFFLE"""
    chosen = net.hosts[:choose_hosts(hosts, len(net.hosts))]
    engines = choose_engines(engine, len(chosen))
    places = [(host, FIRST_PORT + j, engines[i])
              for i, host in enumerate(chosen) for j in range(per_host)]
    order = list(range(len(places)))
    if shuffle is not None:
        random.Random(shuffle).shuffle(order)
    return [Rank(number, *places[at], place=at) for number, at in enumerate(order)]


def _run_ranks(job, ranks, comm, patience):
    """Start all ranks and wait for them. Those that take too long are ended."""
    begin = time.monotonic()
    for rank in ranks:
        with open(job.path(rank, "stdout"), "wb") as out, open(job.path(rank, "stderr"), "wb") as err:
            rank.process = rank.host.start_process(job.command(rank, comm), stdout=out,
                                                   stderr=err, cwd=job.work)
    late = False
    for rank in ranks:
        try:
            rank.process.wait(max(0.1, begin + patience - time.monotonic()))
        except subprocess.TimeoutExpired:
            late = True
            system.stop(rank.process, 2)
        rank.seconds = time.monotonic() - begin
        rank.status = rank.process.returncode
        with open(job.path(rank, "stderr"), encoding="utf-8", errors="replace") as file:
            rank.stderr = file.read()
        job.collect(rank)
    return late


def difference(before, after):
    """AFTER minus BEFORE, for each number"""
    return {name: {key: value - before[name][key] for key, value in counts.items()}
            for name, counts in after.items()}


def counter(output, name):
    """A counter of a rank, wherever its program wrote it"""
    return (output.get("stats") or {}).get(name, 0)


def run(testbed, job, ranks, patience=120, comm=None):
    """Run JOB on RANKS. Return: everything that is known about it"""
    comm = comm or random.randrange(1, 1 << 31)
    os.makedirs(job.work, exist_ok=True)
    job.prepare(ranks)
    if testbed.admission:
        testbed.net.admit(comm, {rank.host.name for rank in ranks})
    before = testbed.net.link_bytes()
    begin = time.monotonic()
    late = _run_ranks(job, ranks, comm, patience)
    seconds = time.monotonic() - begin
    links = difference(before, testbed.net.link_bytes())
    wrong = job.check()
    if late:
        wrong.insert(0, f"not done after {patience} s")
    led = sum(counter(rank.output, "blocks_led") for rank in ranks)
    came = sum(counter(rank.output, "contributions_in") for rank in ranks)
    return {
        "job": job.name,
        "members": len(ranks),
        "right": not wrong,
        "wrong": wrong,
        "seconds": round(seconds, 3),
        "blocks": led,
        "contributions_per_block": round(came / led, 4) if led else None,
        "link_packets": sum(link["tx_packets"] for link in links.values()),
        "link_bytes": sum(link["tx_bytes"] for link in links.values()),
        "links": links,
        "switches": testbed.switch_states(),
        "faults": testbed.fault_counters(),
        "ranks": [{"rank": rank.number, "place": rank.place, "host": rank.host.name, "member": rank.member,
                   "engine": rank.output.get("engine", rank.engine), "status": rank.status,
                   "seconds": round(rank.seconds, 3), "output": rank.output}
                  for rank in ranks],
    }
