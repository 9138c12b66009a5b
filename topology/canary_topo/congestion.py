# SPDX-License-Identifier: BSD-2-Clause
"""One measurement under congestion: some hosts of a testbed sum vectors by an algorithm, the others
fill the links with random uniform traffic."""
import contextlib
import os
import random
import re
import shutil
import statistics
import threading
import time

from . import experiment, jobs, mpi, system, together
from .arguments import member_option, switch_option
from .node import CANARY, SwitchError
from .traffic import FIRST_PORT, PORTS, Traffic
from .trial import Ended, Hang, Trial

# Share of payload in the 1514 bytes that a link counts for a frame of 352 elements
PAYLOAD_SHARE = 352 * 4 / 1514
FRAME_BITS = 1514 * 8
# The rest of the processor has other work.
SHARE_FOR_FORWARDING = 0.5
# Operations before those that are timed
WARMUP = 2
# If the other hosts send less than this share of what they should, it is another experiment.
OFFERED_AT_LEAST = 0.8


class GaveUp(RuntimeError):
    """It took too long: it is slow, but may be possible."""


class Algorithm:
    """An algorithm by its name: dynamic, dynamic-CHOICE, static-T, ring, openmpi,
    openmpi-ALGORITHM."""

    def __init__(self, name):
        self.name = name
        self.kind, _, self.detail = name.partition("-")
        if self.kind not in ("dynamic", "static", "ring", "openmpi"):
            raise ValueError(f"'{name}' is none of dynamic, dynamic-CHOICE, static-T, ring, openmpi, "
                             "openmpi-ALGORITHM")
        if self.kind == "static":
            self._ask(member_option("algorithm"), f"static:{self.detail}")
        if self.kind == "ring" and self.detail:
            raise ValueError(f"'{name}': there is one ring")
        if self.kind == "dynamic" and self.detail:
            self._ask(switch_option("choice"), self.detail)
        if self.kind == "openmpi" and (self.detail or "default") not in mpi.ALGORITHMS:
            raise ValueError(f"'{name}': there are {', '.join(mpi.ALGORITHMS)}")

    def _ask(self, judge, text):
        try:
            judge(text)
        except ValueError as error:
            raise ValueError(f"'{self.name}': {error}") from None

    def settings(self, scene, chance):
        """Settings of the switches. For static trees the fan-in is configured (told()), else it is
        learned."""
        if self.kind == "static":
            return {"choice": "static", "trees": f"{self.detail}+{chance.randrange(scene.trees)}",
                    "timeout": scene.static_timeout}
        choice = self.detail if self.kind == "dynamic" else ""
        return {"choice": choice or "both", "timeout": scene.timeout, "fan-in": "learn"}

    def told(self, plan, groups):
        """Return: {switch: {"fan-in": setting}} of static trees, for the members of GROUPS"""
        found = {}
        if self.kind != "static":
            return found
        for group in groups:
            for name, leaders in plan.fan_ins([host.name for host in group]).items():
                found.setdefault(name, []).extend(f"{plan.address[leader]}={count}"
                                                  for leader, count in leaders.items())
        return {name: {"fan-in": ",".join(["off", *words])} for name, words in found.items()}

    def why_not(self):
        """Return: None, or why the algorithm cannot be measured here"""
        if self.kind == "openmpi":
            return mpi.available()
        if self.kind == "ring" and not has_algorithms():
            return "this build of the tool has no --algorithm"
        return None


def has_algorithms():
    """Does the tool have an option for the algorithm?"""
    done = system.run([CANARY, "perf", "allreduce", "--help"], capture_output=True, text=True)
    return "--algorithm" in done.stdout


class Scene:
    """What all measurements on one testbed have in common. TREES is the number of different static
    trees."""

    def __init__(self, topology, rate, trees, timeout, static_timeout, size, iterations, engine,
                 traffic, protocol, patience, queue=None, communicators=1, period=3, window=None,
                 generator="iperf3"):
        self.topology = topology
        self.rate = rate
        self.trees = trees
        self.timeout = timeout
        self.static_timeout = static_timeout
        self.size = size
        self.iterations = iterations
        self.engine = engine
        self.traffic = traffic
        self.protocol = protocol
        self.patience = patience
        self.queue = queue
        self.communicators = communicators
        self.period = period
        self.window = window
        self.generator = generator

    @property
    def limit(self):
        """Bits of vector per second on an access link"""
        return self.rate * PAYLOAD_SHARE


def place(hosts, share, seed):
    """Return: (members, others). SHARE of the hosts congest, at least two of them, and at least two
    are left to sum. SEED decides which ones."""
    order = random.Random(f"place.{seed}").sample(hosts, len(hosts))
    others = max(2, round(len(hosts) * share)) if share else 0
    members = max(2, len(hosts) - others)
    return order[:members], order[members:]


def packet_hops_needed(net, rate, share, traffic):
    """Packet hops per second if all hosts send what they should, each packet over five links"""
    hosts = len(net.hosts)
    return (hosts * (1 - share) + hosts * share * traffic) * rate / FRAME_BITS * 5


def packet_hops_possible(testbed, seconds=1.0):
    """Packet hops per second that this machine forwards now, beside its other work. A flood of
    small packets between two hosts of the unshaped TESTBED shows it."""
    one, two = testbed.net.hosts[0], testbed.net.hosts[-1]
    sink = ("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
            f"s.bind(('{two.address}', 5299)); [s.recv(100) for _ in iter(int, 1)]")
    flood = ("import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
             f"end = time.monotonic() + {seconds}\n"
             f"while time.monotonic() < end: s.sendto(b'x' * 64, ('{two.address}', 5299))")
    receiver = two.start_process(["/usr/bin/python3", "-c", sink])
    before = testbed.net.link_bytes()
    begin = time.monotonic()
    one.start_process(["/usr/bin/python3", "-c", flood]).wait(system.PATIENCE)
    took = time.monotonic() - begin
    links = experiment.difference(before, testbed.net.link_bytes())
    system.stop(receiver)
    return sum(link["tx_packets"] for link in links.values()) / took


def processors_idle(seconds=0.5):
    """Share of the processors that is idle now"""
    before = Strain.times()
    time.sleep(seconds)
    idle, total = (after - first for after, first in zip(Strain.times(), before))
    return idle / max(1, total)


class Watch(threading.Thread):
    """Looks at SWITCHES every INTERVAL seconds: what they chose, and how much waits."""

    def __init__(self, switches, interval):
        super().__init__(daemon=True)
        self.switches = switches
        self.interval = interval
        self.ended = threading.Event()
        self.samples = []
        self.errors = []

    def run(self):
        begin = time.monotonic()
        while not self.ended.wait(self.interval):
            at = round(time.monotonic() - begin, 3)
            for switch in self.switches:
                try:
                    state = switch.show()
                except SwitchError as error:
                    self.errors.append(str(error))
                    continue
                self.samples.append({"at": at, "switch": switch.name, "ports": {
                    port["name"]: {key: port["egress"][key]
                                   for key in ("waiting", "room", "chosen", "diverted", "drops")}
                    for port in state["ports"] if port["egress"]}})

    def stop(self):
        self.ended.set()
        self.join(system.PATIENCE)
        return self.samples


class Meter(threading.Thread):
    """Looks every INTERVAL seconds at what each port has sent."""

    def __init__(self, net, interval=0.5):
        super().__init__(daemon=True)
        self.net = net
        self.interval = interval
        self.ended = threading.Event()
        # (seconds, result of CanaryNet.link_bytes())
        self.samples = []

    def look(self):
        self.samples.append((time.monotonic(), self.net.link_bytes()))

    def __enter__(self):
        self.look()
        self.start()
        return self

    def run(self):
        while not self.ended.wait(self.interval):
            self.look()

    def __exit__(self, *_):
        self.ended.set()
        self.join(system.PATIENCE)
        self.look()

    def at_work(self, hosts):
        """Return: (seconds, what each port sent) for the time in which all of HOSTS were summing.
        If that was too short, it is the whole time."""
        def sent(number):
            (_, before), (_, after) = self.samples[number:number + 2]
            return sum(after[port]["tx_bytes"] - before[port]["tx_bytes"]
                       for host in hosts for port in [f"{host.name}:{host.name}-eth0"])

        amounts = [sent(number) for number in range(len(self.samples) - 1)]
        busy = [number for number, amount in enumerate(amounts) if amount > max(amounts) / 10]
        first, last = (busy[0] + 1, busy[-1]) if len(busy) > 3 else (0, len(amounts))
        (begin, before), (end, after) = self.samples[first], self.samples[last]
        return end - begin, experiment.difference(before, after)


def utilisation(links, seconds, rate, plan):
    """Utilisation of each direction of each link between routers, 0 to 1"""
    return sorted(round(8 * links[f"{name}:{port.device}"]["tx_bytes"] / seconds / rate, 4)
                  for name in plan.routers for port in plan.ports[name]
                  if port.peer.node in plan.routers)


def offered(links, seconds, rate, hosts):
    """What each of HOSTS sent, as a share of RATE"""
    return [round(8 * links[f"{host.name}:{host.name}-eth0"]["tx_bytes"] / seconds / rate, 3)
            for host in hosts]


class Strain(threading.Thread):
    """Measures how much of the processors is idle, and how late this machine wakes a sleeper."""

    def __init__(self, interval=0.01):
        super().__init__(daemon=True)
        self.interval = interval
        self.ended = threading.Event()
        self.late = []
        self.before = self.times()

    @staticmethod
    def times():
        """Return: (idle, all) ticks of the processors"""
        with open("/proc/stat", encoding="ascii") as file:
            values = [int(word) for word in file.readline().split()[1:9]]
        return values[3] + values[4], sum(values)

    def __enter__(self):
        self.start()
        return self

    def run(self):
        while not self.ended.is_set():
            due = time.monotonic() + self.interval
            time.sleep(self.interval)
            self.late.append(time.monotonic() - due)

    def __exit__(self, *_):
        self.ended.set()
        self.join(system.PATIENCE)

    def found(self):
        """Return: what was measured, for the result of a run"""
        idle, total = (after - before for after, before in zip(self.times(), self.before))
        late = sorted(self.late) or [0]
        return {"idle": round(idle / max(1, total), 3),
                "late_ms": [round(1e3 * late[int(len(late) * part)], 3) for part in (0.5, 0.99)]}


def egress_drops(net, after, before):
    """Packets that queues of the switches dropped: {"up": N, "down": N, "host": N}. On the way up
    there is a choice of ports, on the way down there is none."""
    drops = {"up": 0, "down": 0, "host": 0}
    for name, state in after.items():
        if not state:
            continue
        old = {port["name"]: port["egress"] for port in before[name]["ports"]}
        peers = {port.device: port.peer.node for port in net.plan.ports[name]}
        for port in state["ports"]:
            if not port["egress"]:
                continue
            peer = peers[port["name"]]
            way = "host" if peer in net.plan.hosts else \
                "up" if net.plan.level(peer) > net.plan.level(name) else "down"
            drops[way] += (port["egress"]["drops"] or 0) - (old[port["name"]]["drops"] or 0)
    return drops


def counted(after, before):
    """Counters of all switches, summed up"""
    total = {}
    for name, state in after.items():
        if not state:
            continue
        for key, value in state["counters"].items():
            total[key] = total.get(key, 0) + value - before[name]["counters"][key]
        for port in state["ports"]:
            if port["egress"]:
                total["egress-drops"] = total.get("egress-drops", 0) + (port["egress"]["drops"] or 0)
        for port in before[name]["ports"]:
            if port["egress"]:
                total["egress-drops"] -= port["egress"]["drops"] or 0
    return {key: value for key, value in total.items() if value}


def way_of(scene, algorithm):
    """Options of the members"""
    window = ["--window", scene.window] if scene.window else []
    if not has_algorithms():
        return window
    return [*window, "--algorithm", "ring" if algorithm.kind == "ring" else "tree"]


def one_communicator(testbed, scene, algorithm, members, work):
    """Return: (bits per second, further results)"""
    ranks = [jobs.Rank(i, host, experiment.FIRST_PORT, scene.engine)
             for i, host in enumerate(members)]
    options = ["-b", scene.size, "-e", scene.size, "-n", scene.iterations, "-w", WARMUP,
               "--timeout", "60s", *way_of(scene, algorithm)]
    result = experiment.run(testbed, jobs.PerfJob(work, options), ranks, scene.patience)
    rows = ranks[0].output.get("results")
    if not result["right"] or not rows:
        late = result["wrong"] and result["wrong"][0].startswith("not done after")
        raise (GaveUp if late else RuntimeError)(f"{algorithm.name}: {'; '.join(result['wrong'])[:400]}")
    seconds = statistics.mean(rows[0][way]["time_us"] for way in ("out_of_place", "in_place")) / 1e6
    totals = {}
    for rank in ranks:
        for key, value in (rank.output.get("stats") or {}).items():
            if key != "drops":
                totals[key] = totals.get(key, 0) + value
    return 8 * scene_bytes(scene.size) / seconds, {
        "contributions_per_block": result["contributions_per_block"], "ranks": totals}


def several_communicators(testbed, scene, algorithm, groups, work):
    """Return: (bits per second of all GROUPS while all of them are at work, further results)"""
    operations = scene.iterations + 6
    options = ["--operations", operations, "--elements", scene_bytes(scene.size) // 4, "--inflight", 1,
               "--linger", "10s", *way_of(scene, algorithm)]
    trials = [Trial(testbed, os.path.join(work, str(number)),
                    [jobs.Rank(i, host, experiment.FIRST_PORT, scene.engine)
                     for i, host in enumerate(members)],
                    [*options, "--seed", number + 1], random.randrange(1, 1 << 31), scene.patience)
              for number, members in enumerate(groups)]
    try:
        rates, seconds = together.goodputs(trials, operations)
    except Hang as error:
        raise GaveUp(f"{algorithm.name}: {error}") from None
    except Ended as error:
        raise RuntimeError(f"{algorithm.name}: {error}") from None
    wrong = together.wrong(trials)
    if wrong:
        raise RuntimeError(f"{algorithm.name}: {'; '.join(wrong)[:400]}")
    return sum(rates), {"goodputs": rates, "jain": together.jain(rates), "window": round(seconds, 3)}


def groups_of(scene, members):
    """Each communicator has hosts of its own."""
    groups = [members[i::scene.communicators] for i in range(scene.communicators)]
    if min(map(len, groups)) < 2:
        raise RuntimeError(f"{len(members)} members are too few for {scene.communicators} communicators")
    return groups


def by_openmpi(scene, algorithm, members, work):
    """Measure Open MPI. Without an algorithm in the name, the best of its algorithms counts."""
    if scene.communicators > 1:
        raise RuntimeError("Open MPI: one communicator only")
    names = [algorithm.detail] if algorithm.detail else ["default", "ring", "rabenseifner"]
    found, failed, late = {}, {}, True
    for name in names:
        try:
            found[name] = mpi.measure(work, members, name, scene_bytes(scene.size),
                                      scene.iterations, WARMUP, scene.patience)
        except RuntimeError as error:
            failed[name] = str(error)
            late &= isinstance(error, mpi.NotDone)
    if not found:
        raise (GaveUp if late else RuntimeError)("; ".join(failed.values()))
    best = min(found, key=found.get)
    return 8 * scene_bytes(scene.size) / found[best], {"best": best, "seconds_by_algorithm": found,
                                                       "failed_algorithms": failed}


def sum_up(testbed, scene, algorithm, groups, work):
    """Return: (bits per second, further results)"""
    try:
        if algorithm.kind == "openmpi":
            # Neighbours in the network are neighbours in Open MPI's ring, as in Canary's.
            order = [host.name for host in testbed.net.hosts]
            members = sorted(groups[0], key=lambda host: order.index(host.name))
            return by_openmpi(scene, algorithm, members, work)
        if len(groups) > 1:
            return several_communicators(testbed, scene, algorithm, groups, work)
        return one_communicator(testbed, scene, algorithm, groups[0], work)
    except GaveUp as error:
        return 0, {"gave_up": str(error)}


def prepare(testbed):
    """Prepare a testbed for background traffic."""
    testbed.net.express(FIRST_PORT, PORTS)


def measure(testbed, scene, algorithm, share, seed, alone=False, timeline=False):
    """Do one run. RuntimeError says why there is no result. ALONE: the hosts that would congest are
    idle."""
    chance = random.Random(f"{seed}.{algorithm.name}.{share}")
    net = testbed.net
    members, others = place(net.hosts, share, seed)
    groups = groups_of(scene, members)
    settings, told = algorithm.settings(scene, chance), algorithm.told(net.plan, groups)
    for switch in net.switches:
        switch.set(**settings, **told.get(switch.name, {}))
    with contextlib.ExitStack() as stack:
        work = system.work_directory()
        stack.callback(shutil.rmtree, work, ignore_errors=True)
        run = {"algorithm": algorithm.name, "share": share, "seed": seed, "members": len(members),
               "hosts": len(net.hosts), "congesting": 0 if alone else len(others),
               "placement": [host.name for host in members]}
        run.update(_measure(testbed, scene, algorithm, groups, [] if alone else others, seed,
                            timeline, work))
        return run


def _measure(testbed, scene, algorithm, groups, others, seed, timeline, work):
    net = testbed.net
    log = os.path.join(work, "traffic.log")
    with Traffic(others, scene.rate * scene.traffic, seed=seed, protocol=scene.protocol,
                 period=scene.period, log=log, generator=scene.generator), Strain() as strain:
        watch = Watch([s for s in net.switches if s.name.startswith(("sedge", "sleaf", "sagg"))], 1)
        if timeline:
            watch.start()
        before, begin = testbed.switch_states(), time.monotonic()
        try:
            with Meter(net) as meter:
                goodput, more = sum_up(testbed, scene, algorithm, groups, work)
        finally:
            if timeline:
                watch.stop()
        took = time.monotonic() - begin
        machine = strain.found()
        after = testbed.switch_states()
    seconds, links = meter.at_work([host for group in groups for host in group])
    if others:
        more["offered"] = offered(links, seconds, scene.rate * scene.traffic, others)
        check_offered(scene, more["offered"], log)
    if timeline:
        more.update(timeline=watch.samples, timeline_errors=watch.errors)
    return {"goodput": goodput, "of_limit": round(goodput / scene.limit, 4), "machine": machine,
            "switches": counted(after, before), "drops": egress_drops(net, after, before),
            "utilisation": utilisation(links, seconds, scene.rate, net.plan),
            "seconds": round(took, 3), "at_work": round(seconds, 3), **more}


def check_offered(scene, shares, log):
    """Raise RuntimeError if the others did not send what they should. TCP sends what it can."""
    mean = statistics.mean(shares)
    if scene.protocol == "udp" and mean < OFFERED_AT_LEAST:
        with open(log, encoding="utf-8", errors="replace") as file:
            said = file.read().strip().splitlines()[-3:]
        raise RuntimeError(f"those who congest sent {mean:.2f} of what they were to, each {shares}: "
                           f"{' | '.join(said)}")


def scene_bytes(text):
    """Bytes of a size such as 4M"""
    match = re.fullmatch(r"(\d{1,10})([KM]?)", str(text).upper())
    if not match or not int(match[1]):
        raise ValueError(f"'{text}' is no size such as 65536, 512K or 4M")
    return int(match[1]) * {"": 1, "K": 1 << 10, "M": 1 << 20}[match[2]]
