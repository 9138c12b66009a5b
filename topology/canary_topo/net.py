# SPDX-License-Identifier: BSD-2-Clause
"""The testbed: Mininet's nodes and links, our addresses, routes and queues.

Links are made inside the nodes' namespaces and are never visible outside. So any number of testbeds
can run at the same time without touching each other.
"""
import os
import re

from mininet.link import Intf, Link
from mininet.log import setLogLevel
from mininet.net import Mininet

from . import system
from .node import QUIET_SYSCTLS, CanaryHost, XdpSwitch
from .plan import Plan

UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}
# Bits per second for which HTB can count the tokens of shape()'s burst
RATE_MIN, RATE_MAX = 10 ** 3, 10 ** 12


def parse_rate(text):
    """Bits per second of a text such as 100mbit or 1gbit; None for "none"."""
    if text in (None, "none"):
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]?)(?:bit)?", text.lower())
    rate = float(match[1]) * UNITS[match[2]] if match else 0
    if not RATE_MIN <= rate <= RATE_MAX:
        raise ValueError(f"'{text}' is no rate such as 100mbit (1kbit to 1000gbit), or none")
    return int(rate)


class QuietIntf(Intf):
    """An interface that Plan configures, instead of Mininet's many small commands."""

    def config(self, **_params):
        return {}

    def setMAC(self, macstr):  # noqa: N802, Mininet's name
        self.mac = macstr
        return ""

    def updateAddr(self):  # noqa: N802
        return self.ip, self.mac

    def ifconfig(self, *_args):
        return ""


def shape(device, rate, queue):
    """Lines for `tc -batch`: RATE bits per second, at most QUEUE bytes waiting. The burst makes up
    for timers that are up to 1 ms late, and for no more."""
    burst = max(2 * 1514, rate // 8000)
    return [f"qdisc replace dev {device} root handle 1: htb default 1",
            f"class replace dev {device} parent 1: classid 1:1 htb rate {rate} "
            f"burst {burst} cburst {burst} quantum 1514",
            f"qdisc replace dev {device} parent 1:1 handle 10: bfifo limit {queue}"]


def express(device, first, number):
    """Lines for `tc -batch` that let small packets overtake what waits at the shaped DEVICE (flow
    X:0 of HTB). They go to or come from NUMBER ports, a power of two, from FIRST on."""
    mask = 0xffff & ~(number - 1)
    return [f"filter replace dev {device} parent 1: protocol ip prio {prio} u32 match ip {way} {first} "
            f"{mask:#x} match u16 0 0xff00 at 2 flowid 1:0"
            for prio, way in ((1, "dport"), (2, "sport"))]


def default_queue(rate):
    """Size of a queue in bytes: what a link carries in 10 ms, but room for at least 64 full
    packets. This is a port's share of a switch's shallow buffer."""
    return max(64 * 1514, rate // 8 // 100)


class CanaryNet(Mininet):
    """TOPO with links of RATE bits per second (none: as fast as veth is). PROGRAM names the
    switches that run the program; None means all. MODE is that of their ports. LOGS is a directory
    for the daemons' messages."""

    def __init__(self, topo, rate=None, queue=None, program=None, mode=None,
                 timeout="1ms", switch_options=(), logs=None, mtu=None):
        self.rate = rate
        self.queue = queue or (default_queue(rate) if rate else None)
        self.program = program
        self.mode = mode or ("shaped" if rate else "fast")
        self.timeout = timeout
        self.switch_options = switch_options
        self.logs = logs
        self.mtu = mtu
        self.plan = None
        os.environ[system.TESTBED_VARIABLE] = system.testbed_name()
        setLogLevel("warning")
        if os.geteuid():
            raise PermissionError("a testbed needs root")
        system.check_node_starter()
        # Otherwise Mininet would set sysctls of this machine.
        Mininet.inited = True
        super().__init__(topo=topo, switch=XdpSwitch, host=CanaryHost, link=Link,
                         intf=QuietIntf, controller=None, waitConnected=False)

    def addSwitch(self, name, cls=None, **params):  # noqa: N802
        """Mininet's method, with the settings that all switches here have."""
        if cls is XdpSwitch:
            params.setdefault("program", self.program is None or name in self.program)
            params.setdefault("mode", self.mode)
            params.setdefault("timeout", self.timeout)
            params.setdefault("options", self.switch_options)
        if self.logs:
            params.setdefault("log", os.path.join(self.logs, f"{name}.log"))
        return super().addSwitch(name, cls, **params)

    def addLink(self, node1, node2, **params):  # noqa: N802
        """Mininet's method, with our interfaces."""
        params.setdefault("intf", QuietIntf)
        return super().addLink(node1, node2, **params)

    def build(self):
        super().build()
        self.configure()

    def configHosts(self):  # noqa: N802
        """Plan does this."""

    def configure(self):
        """Configure addresses, routes and queues: one `ip` and one `tc` for each node."""
        links = [(link.intf1.node.name, link.intf1.name, link.intf2.node.name, link.intf2.name)
                 for link in self.links]
        routers = [switch.name for switch in self.switches]
        self.plan = Plan(links, routers, [host.name for host in self.hosts])
        for node in self.switches + self.hosts:
            node.params["address"] = self.plan.address[node.name]
            devices = [port.device for port in self.plan.ports[node.name]]
            with system.namespace(node.pid):
                system.sysctl({**node.sysctls, **node.own_sysctls(self.plan.level(node.name)),
                               **QUIET_SYSCTLS})
                commands = self.plan.commands(node.name)
                if self.mtu:
                    commands = [f"link set dev {dev} mtu {self.mtu}" for dev in devices] + commands
                system.batch("ip", commands)
                if self.rate:
                    system.batch("tc", [line for dev in devices
                                        for line in shape(dev, self.rate, self.queue)])
                system.receive_offload(devices)
            for port, intf in zip(self.plan.ports[node.name], node.intfList()):
                intf.ip, intf.mac = port.address, port.mac

    def stop(self):
        """End all daemons, side by side."""
        for switch in self.switches:
            if switch.daemon:
                switch.daemon.terminate()
        super().stop()

    def ports(self):
        """Yield (node, device) for both ends of all links."""
        for node in self.switches + self.hosts:
            for port in self.plan.ports[node.name]:
                yield node, port.device

    def express(self, first, number):
        """Call express() for all ports."""
        for node in self.switches + self.hosts:
            with system.namespace(node.pid):
                system.batch("tc", [line for port in self.plan.ports[node.name]
                                    for line in express(port.device, first, number)])

    def link_down(self, port):
        """Cut the cable of PORT. Routes stay as the kernel leaves them."""
        with system.namespace(self.nameToNode[port.node].pid):
            system.batch("ip", [f"link set dev {port.device} down"])

    def link_up(self, port):
        """Undo link_down(), and restore what the kernel removed with it."""
        with system.namespace(self.nameToNode[port.node].pid):
            system.batch("ip", [f"link set dev {port.device} up"])
        self.plan.down = set()
        for name in (port.node, port.peer.node):
            with system.namespace(self.nameToNode[name].pid):
                system.batch("ip", self.plan.commands(name))

    def admit(self, comm, hosts):
        """From now on switches act only for the hosts of these names, for communicator COMM. None
        admits everybody for everything. A switch that restarts later does not know about it."""
        running = [switch for switch in self.switches if switch.daemon]
        judges = {switch.name for switch in running}
        for switch in running:
            rules = ["everybody"]
            if hosts is not None:
                rules = ["nobody", *self.plan.admission(switch.name, comm, hosts, judges)]
            switch.set(admit=",".join(rules))

    def reroute(self, down):
        """Do what a routing protocol does when the links of the ports DOWN are down."""
        self.plan.down = set(down)
        for name in self.plan.routers:
            with system.namespace(self.nameToNode[name].pid):
                system.batch("ip", self.plan.routes(name))

    def link_bytes(self):
        """What each port has sent: {"node:device": {"tx_bytes": N, "tx_packets": N}}"""
        found = {}
        for node in self.switches + self.hosts:
            with system.namespace(node.pid):
                found.update(self._sent(node.name))
        return found

    @staticmethod
    def _sent(name):
        found = {}
        # "self" would be the namespace of the process's first thread
        with open("/proc/thread-self/net/dev", encoding="ascii") as file:
            for line in file.readlines()[2:]:
                device, _, numbers = line.partition(":")
                device, numbers = device.strip(), numbers.split()
                if device != "lo" and not device.startswith("cnyf"):
                    found[f"{name}:{device}"] = {"tx_bytes": int(numbers[8]),
                                                 "tx_packets": int(numbers[9])}
        return found
