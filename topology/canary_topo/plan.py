# SPDX-License-Identifier: BSD-2-Clause
"""The address plan: names, addresses and routes.

Links have /31 networks, switches have a loopback /32, hosts have the address of their link. Every
address is reachable from everywhere, over all shortest paths. This file does not touch the network.
"""
import ipaddress
from collections import deque

LINKS = int(ipaddress.ip_address("10.64.0.0"))
LOOPBACKS = int(ipaddress.ip_address("10.255.0.0"))


def _text(number):
    return str(ipaddress.ip_address(number))


def _mac(link, end):
    return f"02:ca:{link >> 16 & 255:02x}:{link >> 8 & 255:02x}:{link & 255:02x}:{end:02x}"


class Port:
    """One end of a link."""

    def __init__(self, node, device, link, end):
        self.node = node
        self.device = device
        self.address = _text(LINKS + 2 * link + end)
        self.mac = _mac(link, end)
        self.peer = None


class Plan:
    """The plan for LINKS, tuples (node, device, node, device) of names, and for the names of
    ROUTERS and HOSTS."""

    def __init__(self, links, routers, hosts):
        self.routers = list(routers)
        self.hosts = list(hosts)
        self.ports = {name: [] for name in self.routers + self.hosts}
        for number, (node1, device1, node2, device2) in enumerate(links):
            one, two = Port(node1, device1, number, 0), Port(node2, device2, number, 1)
            one.peer, two.peer = two, one
            self.ports[node1].append(one)
            self.ports[node2].append(two)
        # Ports of links that are down; no route uses them
        self.down = set()
        self.address = {name: _text(LOOPBACKS + i + 1) for i, name in enumerate(self.routers)}
        for name in self.hosts:
            if len(self.ports[name]) != 1:
                raise ValueError(f"{name}: a host has one link, not {len(self.ports[name])}")
            self.address[name] = self.ports[name][0].address

    def distances(self, target):
        """Distance of every router to TARGET. Hosts do not forward."""
        distance, queue = {target: 0}, deque([target])
        while queue:
            name = queue.popleft()
            if name != target and name in self.hosts:
                continue
            for port in self._up(name):
                if port.peer.node not in distance:
                    distance[port.peer.node] = distance[name] + 1
                    queue.append(port.peer.node)
        return distance

    def _up(self, name):
        return [port for port in self.ports[name]
                if port not in self.down and port.peer not in self.down]

    def routes(self, name):
        """Lines for `ip -batch` that give the router NAME its routes"""
        return [line for target in self.routers + self.hosts for line in self._route(name, target)]

    def _next_hops(self, name, distance):
        return [port for port in self._up(name)
                if distance.get(port.peer.node, 1 << 30) < distance[name]]

    def fan_ins(self, members):
        """Return: {router: {host: N}}: N of MEMBERS have a shortest path to that host, one of them,
        through the router. In a static tree all of them pass the router, or none does."""
        far = {host: self.distances(host) for host in members}
        found = {name: {} for name in self.routers}
        for leader in members:
            others = [host for host in members if host != leader]
            for name in self.routers:
                passing = sum(far[host].get(name, 1 << 30) + far[leader].get(name, 1 << 30)
                              == far[leader].get(host) for host in others)
                if passing:
                    found[name][leader] = passing
        return found

    def level(self, name):
        """Links from NAME to the nearest host: 0 for hosts, 1 for leaves"""
        return min(self.distances(host).get(name, 1 << 30) for host in self.hosts)

    def commands(self, name):
        """Lines for `ip -batch` that configure NAME"""
        lines = ["link set dev lo up"]
        for port in self.ports[name]:
            lines += [f"link set dev {port.device} address {port.mac} up",
                      f"addr replace {port.address}/31 dev {port.device}"]
        for port in self.ports[name]:
            lines.append(f"neigh replace {port.peer.address} lladdr {port.peer.mac} "
                         f"dev {port.device} nud permanent")
        if name in self.hosts:
            gateway = self.ports[name][0].peer
            lines.append(f"route replace default via {gateway.address} "
                         f"dev {gateway.peer.device}")
            return lines
        lines.append(f"addr replace {self.address[name]}/32 dev lo")
        return lines + self.routes(name)

    def admission(self, name, comm, hosts, judges):
        """Admission rules of the switch NAME, if only HOSTS may contribute to communicator COMM. A
        host is admitted on its own link. Everything from one of the switches JUDGES is admitted, as
        that has checked it. A plain router forwards packets of anybody behind it. There the rules
        name the addresses to which that way leads; nothing more can be checked."""
        rules = []
        for port in self.ports[name]:
            if port.peer.node in self.routers and port.peer.node in judges:
                rules.append(f"any:any%{port.device}")
                continue
            behind = [port.peer.node] if port.peer.node in self.hosts else self._behind(name, port)
            rules += [f"{comm}:{self.address[node]}%{port.device}" for node in behind
                      if node in hosts or node in judges]
        return rules

    def _behind(self, name, port):
        """All nodes to which a shortest path from NAME leaves by PORT"""
        found = []
        for target in self.routers + self.hosts:
            distance = self.distances(target)
            if target != name and name in distance and port in self._next_hops(name, distance):
                found.append(target)
        return found

    def _route(self, name, target):
        distance = self.distances(target)
        if name == target or name not in distance:
            return []
        hops = self._next_hops(name, distance)
        if target in self.hosts and distance[name] == 1:
            return []
        text = " ".join(f"nexthop via {port.peer.address} dev {port.device}" for port in hops)
        return [f"route replace {self.address[target]}/32 src {self.address[name]} {text}"]
