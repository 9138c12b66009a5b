#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks of the parts of topology/congestion.py, one for each name. If one does not hold, it says
why, and the exit status is 1."""
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "topology"))

from canary_topo import congestion, experiment, jobs, mpi, results, system, topology_by_name  # noqa: E402
from canary_topo.net import shape  # noqa: E402
from canary_topo.plan import Plan  # noqa: E402
from canary_topo.traffic import Traffic, peers  # noqa: E402
import congestion_demo as demo  # noqa: E402

RATE = 20_000_000


def need(condition, text):
    if not condition:
        sys.exit(f"not so: {text}")


def check_peers():
    """Every host sends to one other and receives from one. These change."""
    for number in (2, 3, 8, 40):
        turns = [peers(number, "seed", turn) for turn in range(20)]
        for order in turns:
            need(sorted(order) == list(range(number)), "one receiver for each sender")
            need(all(i != to for i, to in enumerate(order)), "nobody sends to himself")
        need(number == 2 or len({tuple(order) for order in turns}) > 1, "peers change")
    need(peers(8, "1", 3) == peers(8, "1", 3), "all draw the same")


def check_names():
    for name in ("dynamic", "dynamic-two", "static-4", "static-32", "ring", "openmpi", "openmpi-ring"):
        need(congestion.Algorithm(name).name == name, name)
    for name in ("", "static", "static-0", "static-33", "static-x", "openmpi-best", "tree"):
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


def check_options():
    """Options that contradict each other are refused before anything begins."""
    spec = importlib.util.spec_from_file_location("program", os.path.join(TOP, "topology/congestion.py"))
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    for name, whole in (("leaf_spine", "leaf_spine:2,4,2"), ("leaf_spine:3", "leaf_spine:3,4,2"),
                        ("leaf_spine:3,2", "leaf_spine:3,2,2"), ("fat_tree", "fat_tree:4"),
                        ("star", "star:4"), ("leaf_spine:2,2,3", "leaf_spine:2,2,3")):
        found = program.parse(["--topology", name]).topology
        need(found == whole, f"{name} is {found}")
    usual = os.path.join(TOP, "build/congestion.json")
    need(program.parse([]).json == usual, "rows are where they are looked for")
    need(program.parse(["--out", os.path.relpath(program.OUT)]).json == usual, "and so by another name")
    with tempfile.TemporaryDirectory() as top:
        out, file = os.path.join(top, "out"), os.path.join(top, "rows")
        need(program.parse(["--out", out]).json == os.path.join(out, "congestion.json"), "--out keeps rows apart")
        need(program.parse(["--out", out, "--json", file]).json == file, "--json says where")
        need(not os.listdir(top), "nothing is made")
        os.makedirs(os.path.join(out, "congestion.json"))
        try:
            program.parse(["--out", out])
            need(False, "rows are written to a directory")
        except ValueError as error:
            need("Is a directory" in str(error), f"a directory for rows: {error}")


def check_plan():
    """Configured fan-in of switches on static trees, in a leaf-spine of 2 spines, 2 leaves with h1
    h2 h3 and h4 h5 h6. h6 is idle."""
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
        result = experiment.run(testbed, job, experiment.place(testbed.net, engine="user"), 300)
    need(result["right"], f"the sum is right: {result['wrong']}")
    return result


def sent_again(result):
    return sum(experiment.counter(rank["output"], "retransmissions") for rank in result["ranks"])


def diverted(testbed):
    return {name: sum(port["egress"]["diverted"] for port in state["ports"] if port["egress"])
            for name, state in testbed.switch_states().items()}


def check_diverts():
    """A leaf whose way to one spine is slow sends by the other one, if its choice allows that. Sums
    are right with every choice."""
    with experiment.Testbed(topology_by_name("leaf_spine:2,3,1"), rate=RATE,
                            timeout="20ms") as testbed:
        leaf = testbed.net.get("sleaf1")
        with system.namespace(leaf.pid):
            system.batch("tc", [line for line in shape("sleaf1-eth1", RATE // 40, testbed.net.queue)
                                if line.startswith("class")])
        dodging = ("adaptive", "both", "early")
        for choice in ("block", "static", *dodging, "flow", "flowlet", "random", "two"):
            for switch in testbed.net.switches:
                switch.set(choice=choice)
            before = diverted(testbed)
            run(testbed, 60000 if choice in dodging else 10000)
            after = diverted(testbed)
            gained = after["sleaf1"] - before["sleaf1"]
            if choice in dodging:
                need(gained > 0, f"{choice} avoids the slow link")
            if choice in ("block", "static"):
                need(gained == 0, f"{choice} avoids nothing")
        before = diverted(testbed)
        testbed.net.get("sleaf1").set(choice="adaptive")
        again = sent_again(run(testbed, 60000, ["--algorithm", "static:2"]))
        gained = sum(diverted(testbed).values()) - sum(before.values())
        # What is sent again is not pinned, and meets two switches that may choose.
        need(gained <= 2 * again, f"nor may switches if members pin their contributions: {gained} "
                                  f"diverted, {again} sent again")


def direct(testbed):
    """Number of packets that passed the queues of each host"""
    found = {}
    for host in testbed.net.hosts:
        with system.namespace(host.pid):
            said = subprocess.run(["tc", "-j", "-s", "qdisc", "show", "dev", f"{host.name}-eth0"],
                                  capture_output=True, text=True, check=True).stdout
        found[host.name] = next(item["options"]["direct_packets_stat"] for item in json.loads(said)
                                if item["kind"] == "htb")
    return found


def amounts(testbed, hosts, rate, seconds):
    """What HOSTS send, as a share of RATE"""
    before, begin = testbed.net.link_bytes(), time.monotonic()
    time.sleep(seconds)
    links = experiment.difference(before, testbed.net.link_bytes())
    return congestion.offered(links, time.monotonic() - begin, rate, hosts)


def sent(testbed, hosts, rate, right, what, seconds=4):
    """Wait until HOSTS send RIGHT, as the machine may be busy. RuntimeError if they never do."""
    found = []

    def look():
        found.append(amounts(testbed, hosts, rate, seconds))
        return right(found[-1])

    try:
        system.wait_until(look, what)
    except RuntimeError as error:
        raise RuntimeError(f"{error}: {found}") from None


def check_traffic():
    """Traffic flows at its rate, handshakes get past full queues, and it ends."""
    with experiment.Testbed(topology_by_name("star:3"), rate=RATE, switches="none") as testbed:
        congestion.prepare(testbed)
        hosts = testbed.net.hosts
        with Traffic(hosts, RATE, period=1):
            sent(testbed, hosts, RATE, lambda found: min(found) > 0.8, "they send what they are to")
        passed = direct(testbed)
        need(min(passed.values()) > 10, f"handshakes pass the queues: {passed}")
        sent(testbed, hosts, RATE, lambda found: max(found) < 0.01, "it ends", 1)
        with Traffic(hosts, RATE / 2, period=1, generator="plain"):
            sent(testbed, hosts, RATE, lambda found: max(abs(share - 0.5) for share in found) < 0.05,
                 "plain sockets send as much")
        sent(testbed, hosts, RATE, lambda found: max(found) < 0.01, "and end", 1)


def check_again():
    """A sender that fails is started again."""
    with experiment.Testbed(topology_by_name("star:2"), rate=RATE, switches="none") as testbed, \
            tempfile.NamedTemporaryFile("r") as log:
        congestion.prepare(testbed)
        hosts = testbed.net.hosts
        with Traffic(hosts, RATE // 4, period=20, log=log.name) as traffic:
            sender = system.wait_until(lambda: subprocess.run(
                ["pgrep", "-P", str(traffic.processes[0].pid), "-f", "^iperf3 -c"], check=False,
                capture_output=True, text=True, timeout=system.PATIENCE).stdout, "a sender")
            os.kill(int(sender), 9)
            system.wait_until(lambda: "begins anew" in log.read(), "and it was said")
            sent(testbed, hosts[:1], RATE // 4, lambda found: found[0] > 0.5, "it sends again", 2)


def check_offered():
    """A run whose other hosts do not send fails visibly."""
    scene = congestion.Scene("", 1, 4, "1ms", "1ms", "1M", 1, "user", 1, "udp", 1)
    with tempfile.NamedTemporaryFile("w") as log:
        congestion.check_offered(scene, [1.0, 0.7], log.name)
        log.write("iperf3: no way\n")
        log.flush()
        try:
            congestion.check_offered(scene, [0.9, 0.1], log.name)
        except RuntimeError as error:
            need("sent 0.50" in str(error) and "no way" in str(error), f"says why: {error}")
        else:
            sys.exit("half of the traffic was enough")


def sample(at, amount):
    """What a Meter sees in a network of 2 leaves and a spine at that second"""
    ports = {"h1:h1-eth0": amount, "l1:s": 2 * amount, "l1:p": 3 * amount, "s:l1": 4 * amount}
    return at, {port: {"tx_bytes": value, "tx_packets": value // 1000} for port, value in ports.items()}


def check_meter():
    """A Meter looks at the time in which members sum, and at links between routers."""
    meter, host = congestion.Meter(None), type("Host", (), {"name": "h1"})
    sent = [0, 10, 20, 1020, 3020, 5020, 6020, 6030, 6040]
    meter.samples = [sample(at, amount) for at, amount in enumerate(sent)]
    seconds, links = meter.at_work([host])
    need(seconds == 2 and links["h1:h1-eth0"]["tx_bytes"] == 4000, f"without begin and end: {seconds} s")
    plan = Plan([("l1", "s", "s", "l1"), ("l1", "p", "h1", "h1-eth0")], ["l1", "s"], ["h1"])
    found = congestion.utilisation(links, seconds, 8000, plan)
    need(found == [4.0, 8.0], f"links between routers only: {found}")
    need(congestion.offered(links, seconds, 16000, [host]) == [1.0], "what a host sends")


def finished(algorithm, seed, goodput, share=0.5, alone=False, **more):
    key = json.dumps([{"size": "1M"}, algorithm, share, seed, *["alone"] * alone])
    return {"key": key, "algorithm": algorithm, "share": share, "seed": seed, "goodput": 1e6 * goodput,
            "scenario": "here", "congesting": 0 if alone else 2, "members": 6, "hosts": 8,
            "machine": {"idle": 0.5, "late_ms": [1, 2]}, **more}


def check_rows():
    """The summary of runs is right."""
    runs = [finished("dynamic", 1, 4, offered=[1, 0.9]), finished("dynamic", 2, 0, gave_up="late"),
            finished("dynamic", 3, 6), finished("dynamic", 1, 8, alone=True),
            finished("dynamic", 3, 6, alone=True),
            {"key": json.dumps([{}, "dynamic", 0.5, 4]), "algorithm": "dynamic", "share": 0.5, "seed": 4,
             "failed": "not at all"}]
    (row,) = results.summary(runs, 8e6, 1 << 20)
    need(row["goodput_median"] == 4 and row["goodput_spread"] == [0, 6], "who gave up has 0")
    need((row["runs"], row["failed"], row["gave_up"]) == (3, 1, 1), "who failed is told")
    need(row["congestion"] == 0.25 and row["asked"] == 0.5, "the share that it is, not what was asked for")
    need(row["kept_median"] == 0.75 and row["kept_spread"] == [0.5, 1], f"kept, by placement: {row}")
    need(row["offered"] == 0.95 and row["offered_least"] == 0.9, "what others sent")
    need(row["limit"] == "links", "links limit")
    for machine, limit in (({"idle": 0.24, "late_ms": [0, 0]}, "processor"),
                           ({"idle": 0.25, "late_ms": [0, 2.8]}, "links"),
                           # two frames of 352 elements at 8 Mbit/s of payload take 2.816 ms
                           ({"idle": 0.9, "late_ms": [0, 2.82]}, "processor")):
        (row,) = results.summary([finished("ring", 1, 4, machine=machine)], 8e6, 1 << 20)
        need(row["limit"] == limit, f"{machine}: {row['limit']}")
        said = []
        results.tell([row], lambda text="": said.append(text))
        need(("NO RESULT" in said[-1]) == (limit == "processor"), f"said so: {said}")
    mpirun = finished("openmpi", 1, 4, seconds_by_algorithm={"default": 4.0})
    names = [row["algorithm"] for row in results.summary([mpirun], 8e6, 1 << 20)]
    need(names == ["openmpi", "openmpi-default"], "its default, too")
    both = results.summary([mpirun, finished("openmpi-default", 1, 2)], 8e6, 1 << 20)
    need([row["runs"] for row in both] == [1, 1], "not counted twice")


def check_rates():
    """A demonstration takes the rate that the machine carries, and lowers it if rows fail."""
    args = type("Args", (), {"form": "small", "options": []})
    asked, carries = [], {}

    def go(argv):
        """Behave as a machine on which parts carry so many Mbit/s."""
        part = argv[argv.index("--label") + 1] if "--label" in argv else "first"
        rate = [value for word, value in zip(argv, argv[1:]) if word == "--rate"][-1]
        asked.append(f"{part} {rate}")
        limit = "links" if float(rate[:-4]) <= carries[part] else "processor"
        row = {"algorithm": "dynamic", "limit": limit, "cpu_idle": 0.1, "late_ms": 9, "late_ms_most": 2,
               "congestion": 0, "scenario": "here"}
        return carries.get("status", 0), [row, {**row, "algorithm": "openmpi", "limit": "processor"}], object()

    def expect(parts, ends, *want, **can):
        asked.clear()
        carries.clear()
        carries.update(can)
        found = demo.demonstrate(args, parts)
        need(found == ends and asked == list(want), f"{parts}: {asked}, status {found}")

    demo.congestion = type("Congestion", (), {"carried": lambda argv: (5.9e6, ""), "go_through": go,
                                              "first_of": lambda argv: argv})
    demo.draw = lambda *_: None
    expect(["half"], 0, "first 5mbit", "first 3mbit", "half 3mbit", first=3, half=3)
    expect(["half", "most"], 0, "first 5mbit", "half 5mbit", "half 3mbit", "half 2mbit", "most 2mbit",
           first=5, half=2, most=5)
    expect(["half", "most"], 1, *(f"first {rate}mbit" for rate in (5, 3, 2, 1)), first=0, half=0, most=0)
    expect(["half", "most"], 1, "first 5mbit", *(f"half {rate}mbit" for rate in (5, 3, 2, 1)), first=5, half=0, most=0)
    expect(["half"], 1, *(f"first {rate}mbit" for rate in (5, 3, 2, 1)), first=5, half=5, status=1)
    # A part with a lower rate of its own keeps it. The guest's rate does not depend on this
    # machine.
    expect(["openmpi"], 0, "first 5mbit", "openmpi 5mbit", "openmpi 3mbit", first=5, openmpi=5)
    expect(["guest"], 1, "guest 3mbit", "guest 3mbit", guest=2)
    expect(["most", "guest"], 0, "first 5mbit", "first 3mbit", "first 2mbit", "most 2mbit", "guest 3mbit", "guest 3mbit",
           first=2, most=2, guest=3)
    args.options = ["--rate", "10mbit"]
    expect(["half"], 1, "half 10mbit", half=5)
    need(demo.options_of(["--rate", "3mbit", "--seeds", "1"], 5) == ["--rate", "3mbit", "--seeds", "1"], "lower")
    need(demo.options_of(["--rate", "3mbit", "--seeds", "1"], 2) ==
         ["--seeds", "1", "--rate", "2mbit", "--size", "512K", "--patience", "600"], "higher")
    need(demo.options_of(["--size", "4M"], 10) == ["--size", "4M", "--rate", "10mbit"], "the usual size")


def check_again_if_none():
    """What a busy machine measured is measured again, unless it cannot improve or was asked for."""
    idle, busy = {"idle": 0.5, "late_ms": [0, 1]}, {"idle": 0.1, "late_ms": [0, 1]}
    for run, options, want in (
            (None, [], False), ({"failed": "not at all"}, [], False),
            (finished("dynamic", 1, 4, machine=idle), [], True),
            (finished("dynamic", 1, 4, machine=busy), [], False),
            (finished("openmpi-ring", 1, 4, machine=busy), [], True),
            (finished("dynamic", 1, 4, machine=busy), ["--any-rate"], True),
            (finished("dynamic", 1, 4, machine=busy), ["--engine", "kernel"], True)):
        args = demo.congestion.parse(options)
        need(demo.congestion.is_done(args, run, 8e6) == want, f"{options} {run}: done is not {want}")
    words = demo.congestion.first_of(["--shares", "0.5,0", "--algorithms", "ring,dynamic", "--alone", "ring"])
    args = demo.congestion.parse(words)
    need((args.share_list, args.seeds, args.alone_list) == ([0.5], 1, []) and
         [algorithm.name for algorithm in args.algorithm_list] == ["ring"], f"the first run: {words}")


def check_files():
    """Runs and rows are kept, and not mixed with others."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "runs.jsonl")
        with open(path, "w", encoding="ascii") as file:
            file.write('{"key": "one"}\n{"key": "tor')
        runs = results.Runs(directory)
        runs.add({"key": "two"})
        found = [run["key"] for run in results.Runs(directory).runs]
        need(found == ["one", "two"], f"a torn line costs itself only: {found}")
        path, table = os.path.join(directory, "json"), os.path.join(directory, "csv")

        def row(scenario, algorithm, version, runs=1):
            return {"scenario": scenario, "algorithm": algorithm, "asked": 0, "settings": version,
                    "runs": runs}

        results.write([row("a", "x", 1), row("a", "y", 1), row("b", "x", 1)], path, table)
        results.write([row("a", "x", 2)], path, table)
        found = [(r["scenario"], r["algorithm"], r["settings"]) for r in results.read_rows(path)]
        need(found == [("b", "x", 1), ("a", "x", 2)], f"other settings replace: {found}")
        results.write([row("b", "x", 1, 5)], path, table)
        results.write([row("b", "x", 1, 3)], path, table)
        found = [(r["scenario"], r["runs"]) for r in results.read_rows(path)]
        need(found == [("a", 1), ("b", 5)], f"fewer placements replace nothing: {found}")
        with open(path, "w", encoding="ascii") as file:
            file.write("[{")
        try:
            results.write([row("a", "x", 2)], path, table)
        except ValueError:
            return
        sys.exit("a broken file was overwritten")


def check_sweep():
    """What remains of a testbed whose owner is gone is ended, and nothing else."""
    gone = subprocess.Popen(["true"])
    gone.wait(system.PATIENCE)
    left, mine = (subprocess.Popen(["sleep", "100"],
                                   env={**os.environ, system.TESTBED_VARIABLE: f"cny{owner}"})
                  for owner in (gone.pid, os.getpid()))
    try:
        ended = system.sweep()
        need(f"process {left.pid}" in ended and left.wait(system.PATIENCE) == -9, "leftovers end")
        need(f"process {mine.pid}" not in ended and mine.poll() is None, "others stay")
    finally:
        for process in (left, mine):
            process.kill()
            process.wait(system.PATIENCE)


def check_openmpi_daemons():
    """Each daemon has a directory of its own in that of the job. A daemon that ends does not make
    mpirun wait for ever."""
    why_not = mpi.available()
    need(not why_not, why_not)
    with experiment.Testbed(topology_by_name("star:3"), rate=RATE, switches="none") as testbed, \
            tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as broken:
        hosts = testbed.net.hosts
        process = system.start(mpi.command(work, hosts, "ring", ["printenv", "OMPI_FILE_LOCATION"]),
                               hosts[0].pid, stdout=subprocess.PIPE, text=True)
        found = process.communicate(timeout=600)[0].split()
        need(all(os.path.realpath(path).startswith(os.path.realpath(work)) for path in found),
             f"below {work}: {found}")
        need(len({os.path.relpath(path, work).split("/")[0] for path in found}) == 3, f"three of them: {found}")

        # a daemon that went into the background and cannot go on
        with open(os.path.join(broken, "orted"), "w", encoding="ascii") as file:
            file.write('#!/bin/sh\ncase "$*" in *--daemonize*) exit 0 ;; esac\nexit 1\n')
        os.chmod(file.name, 0o755)
        os.environ["PATH"] = f"{broken}:{os.environ['PATH']}"
        try:
            mpi.measure(work, hosts, "ring", 120000, 1, 1, 600)
            need(False, "sums without daemons")
        except mpi.NotDone:
            need(False, "daemons that ended are noticed")
        except RuntimeError as error:
            need("daemon" in str(error), f"why: {error}")


def check_openmpi():
    why_not = mpi.available()
    need(not why_not, why_not)
    with experiment.Testbed(topology_by_name("star:3"), rate=RATE, switches="none") as testbed, \
            tempfile.TemporaryDirectory() as work:
        before = testbed.net.link_bytes()
        seconds = mpi.measure(work, testbed.net.hosts, "ring", 120000, 1, 1, 600)
        links = experiment.difference(before, testbed.net.link_bytes())
        need(seconds > 0, "it took some time")
        # two thirds of the vector in each of the two halves, six times
        need(all(links[f"{host.name}:{host.name}-eth0"]["tx_bytes"] > 900000
                 for host in testbed.net.hosts), "it went over the links")


if __name__ == "__main__":
    globals()[f"check_{sys.argv[1]}"](*sys.argv[2:])
