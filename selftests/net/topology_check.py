#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks of topology/canary_topo, one for each name. If one does not hold, it says why, and the
exit status is 1."""
import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "topology"))

from canary_topo import CanaryNet, arguments, congestion, experiment, net, node  # noqa: E402
from canary_topo import system, topology_by_name  # noqa: E402
from canary_topo.plan import Plan  # noqa: E402
from canary_topo.traffic import Traffic  # noqa: E402


def need(condition, text):
    if not condition:
        sys.exit(f"not so: {text}")


def plan_of(text):
    topo = topology_by_name(text)
    links = [(a, f"{a}-{i}", b, f"{b}-{i}") for i, (a, b) in enumerate(topo.links(sort=True))]
    return Plan(links, topo.switches(), topo.hosts())


def routes(plan, name, target):
    return [line for line in plan.commands(name)
            if line.startswith(f"route replace {plan.address[target]}/32 ")]


def check_plan():
    plan = plan_of("fat_tree:4")
    need(len(plan.routers) == 20 and len(plan.hosts) == 16, "20 switches and 16 hosts")
    addresses = list(plan.address.values())
    need(len(set(addresses)) == len(addresses), "addresses are unique")
    macs = [port.mac for ports in plan.ports.values() for port in ports]
    need(len(set(macs)) == len(macs), "MAC addresses are unique")
    (far,) = routes(plan, "sedge1x1", "h16")
    need(far.count("nexthop") == 2, "an edge switch has two ways into another pod")
    (core,) = routes(plan, "score1", "h16")
    need(core.count("nexthop") == 1, "a core switch has one way down")
    need(routes(plan, "sedge1x1", "h1") == [], "hosts on a link need no route")
    for name in plan.routers:
        for target in plan.routers:
            need(name == target or len(routes(plan, name, target)) == 1, f"{name} knows {target}")
    need(plan_of("behind_router").distances("h1")["s1"] == 2, "h1 is behind the router")


def check_names():
    for text in ("ring", "star:0", "star:x", "star:1,2", "fat_tree:3", "fat_tree:-2"):
        try:
            topology_by_name(text)
        except ValueError:
            continue
        sys.exit(f"'{text}' was taken")
    for text in ("", "0mbit", "fast", "-1mbit", "10mb"):
        try:
            net.parse_rate(text)
        except ValueError:
            continue
        sys.exit(f"rate '{text}' was taken")
    need(net.parse_rate("1.5gbit") == 1500000000, "1.5gbit")
    need(experiment.choose_engines("kernel:2", 3) == ["kernel", "kernel", "user"], "kernel:2")
    need(experiment.choose_switches("half", ["a", "b", "c"]) == ["a", "c"], "half")


def refusal(judge, *text):
    """JUDGE's complaint about TEXT; None if it accepts TEXT"""
    try:
        judge(*text)
    except (ValueError, OSError, RuntimeError, argparse.ArgumentTypeError) as error:
        return str(error)
    return None


def check_arguments():
    for kind, taken, refused in (
            (int, ["5", "05", "+5"], ["1_0", " 5 ", "5 ", "\u0665", "", "5.0", "0x5", "99"]),
            (float, ["5", "5.", ".5", "5e-1", "5E0"], ["1_0.0", " 5", "\u0665", "", ".", "nan", "inf", "99"])):
        judge = arguments.number(kind, 0, 20)
        for text in taken:
            need(refusal(judge, text) is None, f"{kind.__name__} '{text}' was refused")
        for text in refused:
            need(refusal(judge, text), f"{kind.__name__} '{text}' was taken")


def check_writable():
    """What is there stays, and nothing new is made."""
    with tempfile.TemporaryDirectory() as top:
        def path(name):
            return os.path.join(top, name)

        os.mkfifo(path("fifo"))     # nobody reads it
        os.symlink(path("target"), path("link"))
        os.symlink(path("loop"), path("loop"))
        with open(path("file"), "w", encoding="ascii") as file:
            file.write("kept")
        before = sorted(os.listdir(top))
        for name in ("fifo", "link", "file", "new"):
            said = refusal(arguments.writable, path(name))
            need(said is None, f"{name}: {said}")
        for name in ("", "file/new", "file/a/new", "loop", "a/new"):
            need(refusal(arguments.writable, path(name)), f"'{name}' was taken")
        need(refusal(arguments.writable, "new") is None, "a file here")
        for name in ("", "new", "new/"):
            said = refusal(arguments.directory, path(name))
            need(said is None, f"directory {name}: {said}")
        for name in ("file", "file/new", "fifo", "a/new", "loop"):
            need(refusal(arguments.directory, path(name)), f"directory '{name}' was taken")
        need(sorted(os.listdir(top)) == before, f"{before} became {os.listdir(top)}")
        with open(path("file"), encoding="ascii") as file:
            need(file.read() == "kept", "the file was written to")


def check_asked():
    """The switch program checks its options, if there is one."""
    judge = arguments.switch_option("timeout")
    need(refusal(judge, "1ms") is None, "1ms was refused")
    need("is no duration" in refusal(judge, "5"), "5")
    with tempfile.TemporaryDirectory() as top:
        path = os.path.join(top, "canary")
        with open(path, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\necho something else >&2\nexit 3\n")
        os.chmod(path, 0o755)
        for arguments.CANARY, expected in ((path, "something else"), (top, "cannot be run (make)"),
                                           (path + "x", "cannot be run (make)")):
            for what in (judge, lambda _: congestion.Algorithm("dynamic-block")):
                said = refusal(what, "1ms")
                need(said and said.endswith(expected), f"{arguments.CANARY}: {said}")


def ping(host, address):
    """ended() returns its exit status."""
    return host.start_process(["ping", "-q", "-c", "1", "-W", "30", address],
                              stdout=subprocess.DEVNULL)


def ended(process):
    return process.wait(system.PATIENCE)


def check_reach():
    testbed = CanaryNet(topology_by_name("leaf_spine:2,4,2"), program=[])
    try:
        testbed.start()
        nodes = testbed.hosts + testbed.switches
        pings = [(a.name, b.name, ping(a, b.address)) for a in testbed.hosts for b in nodes]
        lost = [f"{a} to {b}" for a, b, process in pings if ended(process)]
        need(not lost, f"all is reachable, but not {', '.join(lost)}")
        source = testbed.switches[0]
        with system.namespace(source.pid):
            path = subprocess.run(["ip", "-j", "route", "get", testbed.hosts[-1].address],
                                  capture_output=True, text=True, check=True).stdout
        need(json.loads(path)[0]["prefsrc"] == source.address, "switches speak by their loopback")
    finally:
        testbed.stop()


FLOWS = """
import socket, sys
for port in range(20000, 20100):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("0.0.0.0", port))
    s.connect((sys.argv[1], 9))
    s.send(bytes(100))
"""


def check_paths():
    """Flows of connected sockets part at each level of a fat tree. The same flow takes the same way
    again."""
    testbed = CanaryNet(topology_by_name("fat_tree:4"), program=[])
    try:
        testbed.start()
        peer = {f"{port.node}:{port.device}": port.peer.node
                for ports in testbed.plan.ports.values() for port in ports}
        ways = []
        for _ in range(2):
            before = testbed.link_bytes()
            sender = testbed.hosts[0].start_process(
                ["/usr/bin/python3", "-c", FLOWS, testbed.hosts[-1].address])
            need(ended(sender) == 0, "100 flows are sent")
            links = experiment.difference(before, testbed.link_bytes())
            ways.append({peer[name]: count["tx_packets"] for name, count in links.items()
                         if name.startswith("sagg1x") and peer[name].startswith("score")})
        need(sum(ways[0].values()) == 100, f"all leave the pod: {ways[0]}")
        need(ways[0] == ways[1], f"they go the same way again: {ways}")
        need(len(ways[0]) == 4 and all(ways[0].values()), f"over all cores: {ways[0]}")
    finally:
        testbed.stop()


def received(host, address):
    """Bits per second that an iperf3 at ADDRESS receives from HOST, once it listens"""
    def report():
        client = host.start_process(["iperf3", "-J", "-c", address, "-t", "3", "-O", "1"],
                                    stdout=subprocess.PIPE)
        return json.loads(client.communicate(timeout=system.PATIENCE)[0])["end"].get("sum_received")

    return system.wait_until(report, "iperf3")["bits_per_second"]


def check_rate():
    rate = 20_000_000
    testbed = CanaryNet(topology_by_name("star:2"), rate=rate, program=[])
    try:
        testbed.start()
        one, two = testbed.hosts
        two.start_process(["iperf3", "-s"], stdout=subprocess.DEVNULL)
        best = 0
        # A busy machine may send less than a link carries, but never more.
        for _ in range(10):
            got = received(one, two.address)
            need(got <= 1.02 * rate, f"at most 20 Mbit/s, got {got / 1e6:.1f}")
            best = max(best, got)
            if best > 0.85 * rate:
                break
        need(best > 0.85 * rate, f"20 Mbit/s, got {best / 1e6:.1f}")
        with system.namespace(one.pid):
            shown = subprocess.run(["tc", "qdisc", "show"], capture_output=True, text=True,
                                   check=True).stdout
        need(f"limit {net.default_queue(rate)}b" in shown, "the queue is bounded")
    finally:
        testbed.stop()


def check_switch():
    """Start, ask and stop the daemon; then use the same routes without it."""
    testbed = CanaryNet(topology_by_name("star:2"), rate=100_000_000)
    try:
        testbed.start()
        (switch,) = testbed.switches
        one, two = testbed.hosts
        state = switch.show()
        need(state["address"] == switch.address, "the switch has its loopback's address")
        need(len(state["ports"]) == 2 and state["mode"] == "shaped", "all its ports, shaped")
        need(ended(ping(one, two.address)) == 0, "it routes what is not Canary")
        need(switch.stop_program() == 0, "it ends with status 0")
        need(switch.show() is None, "it is gone")
        need(ended(ping(one, two.address)) == 0, "what stays is a router")
    finally:
        testbed.stop()


def check_failed_switch():
    """A switch that does not start is an error, and leaves nothing behind."""
    node.CANARY = "/bin/false"
    try:
        with experiment.Testbed(topology_by_name("star:2")):
            sys.exit("the testbed started")
    except node.SwitchError:
        pass


def check_sweep():
    """What remains of a dead testbed is ended, and nothing else."""
    dead = subprocess.Popen(["true"])
    ended(dead)
    left = subprocess.Popen(["sleep", "60"],
                            env={system.TESTBED_VARIABLE: f"cny{dead.pid}"})
    alive = subprocess.Popen(["sleep", "60"],
                             env={system.TESTBED_VARIABLE: f"cny{os.getpid()}"})
    os.makedirs(system.RUN_DIRECTORY, exist_ok=True)
    stale = os.path.join(system.RUN_DIRECTORY, f"switch-cny{dead.pid}-s1.sock")
    used = os.path.join(system.RUN_DIRECTORY, f"switch-cny{os.getpid()}-s1.sock")
    try:
        for path in (stale, used):
            with open(path, "w", encoding="ascii"):
                pass
        system.sweep()
        need(ended(left) == -signal.SIGKILL, "the process of the dead testbed is ended")
        need(alive.poll() is None, "that of a living one is not")
        need(not os.path.exists(stale), "the socket of the dead testbed is gone")
        need(os.path.exists(used), "that of a living one is not")
    finally:
        alive.kill()
        left.kill()
        for path in (stale, used):
            if os.path.exists(path):
                os.unlink(path)


def _of_testbed(pid):
    """Processes that have the testbed of PID in their environment"""
    return [number for number in filter(str.isdigit, os.listdir("/proc"))
            if system._testbed_of(number) == f"cny{pid}"]  # pylint: disable=protected-access


def _described(number):
    with contextlib.suppress(OSError):
        with open(f"/proc/{number}/cmdline", encoding="utf-8", errors="replace") as line, \
             open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as stat:
            return f"{line.read()} {stat.read()}".replace("\0", " ")
    return f"{number} has gone"


def check_killed(pid):
    """Does no process have the testbed of PID in its environment any more?"""
    try:
        system.wait_until(lambda: not _of_testbed(pid), f"the end of processes of {pid}")
    except RuntimeError as error:
        left = "; ".join(map(_described, _of_testbed(pid)))
        raise RuntimeError(f"{error}: {left}") from None


SWALLOWED = """
import os, signal, sys, time
sys.path.insert(0, os.path.join(sys.argv[1], "topology", "canary_topo"))
import system


class Waits:
    def __del__(self):
        os.kill(os.getpid(), int(sys.argv[2]))
        time.sleep(0.1)


system.end_by_signals(signal.SIGTERM, signal.SIGHUP)
try:
    Waits()
    time.sleep(600)
finally:
    print("cleaned up", flush=True)
"""


def check_ends():
    """A signal ends the process even if it comes while a destructor runs. Nobody waits for ever for
    a process that does not end."""
    for number in (signal.SIGTERM, signal.SIGALRM):
        process = subprocess.Popen(["/usr/bin/python3", "-c", SWALLOWED, TOP, str(int(number))],
                                   stdout=subprocess.PIPE)
        try:
            said = process.communicate(timeout=60)[0]
            need((process.returncode, said) == (128 + number, b"cleaned up\n"),
                 f"{number.name}: {process.returncode}: {said}")
        finally:
            process.kill()
    deaf = subprocess.Popen(["sh", "-c", "trap '' TERM; echo; while :; do sleep 1; done"],
                            stdout=subprocess.PIPE)
    deaf.stdout.read(1)
    users = Traffic([], 1)
    users.processes = [deaf]
    begin = time.monotonic()
    users.__exit__()
    need(deaf.returncode == -signal.SIGKILL, "who does not listen is killed")
    need(time.monotonic() - begin < 60, "soon")
    for late in (lambda: system.run(["sleep", "600"], 0.1), lambda: system.wait_until(bool, "it", 0.1)):
        need("after 0.1 s" in (refusal(late) or ""), "whatever takes longer is an error")


if __name__ == "__main__":
    globals()[f"check_{sys.argv[1]}"](*sys.argv[2:])
