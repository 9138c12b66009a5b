#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Minimal members and a leader, to see what a switch does with their packets.

One process has a socket in the network namespace of every member. The members contribute blocks.
The leader, which is the last member, checks what arrives and sends the result to the sources. The
members check the results. Nothing is sent again: what is lost is counted. The program waits for
everything that is due, up to --patience. With --lossy it waits for results only until no more come.
Contributions of members of --stopped are not due. After all else, it looks for a moment whether any
came.

Prints one JSON object:
  arrived    contributions that came to the leader, per block on average
  exact      every block complete, its data, sum and tag right
  sources    who sent them
  places     contributions that came to the leader's namespace and to those of --also
  results    results that came back right, and as many as were due
  spread     seconds between first and last arrival at the leader
  delay      seconds from the first contribution to the first arrival
"""
import argparse
import ctypes
import json
import os
import random
import select
import socket
import struct
import sys
import time

HEADER = struct.Struct(">BBBBIIIIHHQQIIHHBBBBII")
CONTRIBUTION, RESULT = 1, 2
LAST = 0x04			# flag: a dense block is one packet
ADD32 = 1 << 3 | 2		# kind
CLONE_NEWNET = 0x40000000
IP_MTU_DISCOVER, IP_PMTUDISC_DO = 10, 2
CHUNK = 16			# blocks in flight; a veth holds 256 frames
QUIET = 1.0			# seconds of silence after which no more come, if some may be lost
MASK32, MASK64 = 2**32 - 1, 2**64 - 1

libc = ctypes.CDLL(None, use_errno=True)


def enter(path):
    with open(path, "rb") as ns:
        if libc.setns(ns.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns " + path)


class Member:
    """A rank: NETNS:ADDRESS:PORT"""

    def __init__(self, rank, spec):
        netns, self.addr, port = spec.split(":")
        self.rank = rank
        self.port = int(port)
        enter("/run/netns/" + netns)
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.sock.bind((self.addr, self.port))
        self.sock.setblocking(False)

    def data(self, block, elements):
        rng = random.Random(block * 65536 + self.rank)
        return [rng.getrandbits(32) for _ in range(elements)]

    def tag(self, block):
        return random.Random((block + 1) * 7919 + self.rank).getrandbits(64)


def pack(args, kind, block, count, rank, tag, data):
    body = struct.pack("<%dI" % len(data), *data)
    return HEADER.pack(2, kind, LAST, args.attempt, args.comm, args.epoch, block, args.opsig,
                       args.members, rank, 0, tag, sum(data) & MASK32, block,
                       count if kind == CONTRIBUTION else 0, len(body), ADD32, 0, 0, 0, 0,
                       0) + body


def unpack(packet):
    fields = HEADER.unpack_from(packet)
    names = ("version kind flags attempt comm epoch block opsig members rank mac tag sum acked"
             " count length lanes load path shard switch cookie").split()
    header = dict(zip(names, fields))
    data = struct.unpack_from("<%dI" % (header["length"] // 4), packet, HEADER.size)
    return header, data


def add(a, b):
    return [(x + y) & MASK32 for x, y in zip(a, b)]


class Job:
    def __init__(self, args):
        self.args = args
        self.all = [Member(rank, spec) for rank, spec in enumerate(args.member)]
        args.members = len(self.all)
        self.leader = self.all[-1]
        self.senders = [m for m in self.all[:-1] if m.rank not in args.silent]
        self.due = [m for m in self.senders if m.rank not in args.stopped]
        self.places = [self.leader] + [Member(self.leader.rank, "%s:%s:%d" % (
            netns, self.leader.addr, self.leader.port)) for netns in args.also]
        self.arrivals = []		# (time, source, place)
        self.sources = {}		# block -> (source, place)
        self.total = {}			# block -> [count, tag, data]
        self.good = True
        self.first_sent = None

    def expected(self, block, with_leader):
        members = self.due + ([self.leader] if with_leader else [])
        data = [0] * self.args.elements
        for m in members:
            data = add(data, m.data(block, self.args.elements))
        return data, sum(m.tag(block) for m in members) & MASK64

    def contribute(self, blocks):
        """Packets are made before, so that those of a block are sent at once."""
        packets = [(m, pack(self.args, CONTRIBUTION, block, 1, m.rank, m.tag(block),
                            m.data(block, self.args.elements)))
                   for block in blocks for m in self.senders]
        if self.first_sent is None:
            self.first_sent = time.monotonic()
        for m, packet in packets:
            m.sock.sendto(packet, (self.leader.addr, self.leader.port))

    def arrive(self, sock, place):
        """Take one contribution at the leader. Return: its block if that is complete now"""
        packet, source = sock.recvfrom(65536)
        now = time.monotonic()
        header, data = unpack(packet)
        block = header["block"]
        if header["kind"] != CONTRIBUTION or header["epoch"] != self.args.epoch:
            return None
        if sum(data) & MASK32 != header["sum"]:
            self.good = False
        self.arrivals.append((now, source, place))
        self.sources.setdefault(block, []).append((source, place))
        total = self.total.setdefault(block, [0, 0, [0] * self.args.elements])
        total[0] += header["count"]
        total[1] = (total[1] + header["tag"]) & MASK64
        total[2] = add(total[2], data)
        return block if total[0] == len(self.due) else None

    def collect(self, blocks):
        end = time.monotonic() + self.args.patience
        missing = set(blocks)
        by_sock = {m.sock: i for i, m in enumerate(self.places)}
        while missing and time.monotonic() < end:
            for sock in select.select(list(by_sock), [], [], 0.05)[0]:
                missing.discard(self.arrive(sock, by_sock[sock]))
        if self.args.stopped:
            self.collect_strays(by_sock)
        for block in blocks:
            data, tag = self.expected(block, False)
            if self.total.get(block) != [len(self.due), tag, data]:
                self.good = False

    def collect_strays(self, by_sock):
        """Count contributions that should not come."""
        end = time.monotonic() + QUIET
        while time.monotonic() < end:
            for sock in select.select(list(by_sock), [], [], 0.05)[0]:
                self.arrive(sock, by_sock[sock])

    def answer(self, blocks):
        for block in blocks:
            data, tag = self.expected(block, True)
            packet = pack(self.args, RESULT, block, self.args.members, self.leader.rank, tag,
                          data)
            for source, place in self.sources.get(block, []):
                self.places[place].sock.sendto(packet, source)

    def results(self, blocks):
        """Every sender gets the result of every block exactly once."""
        now = time.monotonic()
        end, heard = now + self.args.patience, now
        want = {(m.rank, block) for m in self.senders for block in blocks}
        right = 0
        by_sock = {m.sock: m for m in self.senders}
        quiet = False
        while time.monotonic() < end and not (quiet and not want):
            ready = select.select(list(by_sock), [], [], 0.02)[0]
            quiet = not ready
            if ready:
                heard = time.monotonic()
            elif self.args.lossy and time.monotonic() > heard + QUIET:
                break
            for sock in ready:
                header, data = unpack(sock.recv(65536))
                key = (by_sock[sock].rank, header["block"])
                if header["epoch"] != self.args.epoch:
                    continue
                if header["kind"] != RESULT or key not in want or \
                   list(data) != self.expected(header["block"], True)[0]:
                    self.good = False
                    continue
                want.discard(key)
                right += 1
        return right

    def run(self):
        args = self.args
        right = 0
        blocks = range(args.block, args.block + args.blocks)
        for i in range(0, args.blocks, CHUNK):
            chunk = blocks[i:i + CHUNK]
            self.contribute(chunk)
            self.collect(chunk)
            if not args.one_way:
                self.answer(chunk)
                right += self.results(chunk)
        times = [t for t, _, _ in self.arrivals]
        return {
            "arrived": len(self.arrivals) / args.blocks,
            "exact": self.good,
            "sources": sorted({"%s:%d" % s for _, s, _ in self.arrivals}),
            "places": [sum(p == i for _, _, p in self.arrivals) for i in range(len(self.places))],
            "results": [right, 0 if args.one_way else args.blocks * len(self.senders)],
            "spread": times[-1] - times[0] if times else None,
            "delay": times[0] - self.first_sent if times else None,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("member", nargs="+", help="NETNS:ADDRESS:PORT, the last one leads")
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--block", type=int, default=0, help="first block")
    parser.add_argument("--elements", type=int, default=32)
    parser.add_argument("--silent", type=int, action="append", default=[],
                        help="rank that does not contribute")
    parser.add_argument("--stopped", type=int, action="append", default=[],
                        help="rank whose contributions should not arrive")
    parser.add_argument("--also", action="append", default=[], metavar="NETNS",
                        help="namespace that has the leader's address, too")
    parser.add_argument("--comm", type=int, default=1)
    parser.add_argument("--epoch", type=int, default=os.getpid())
    parser.add_argument("--opsig", type=int, default=4711)
    parser.add_argument("--attempt", type=int, default=0)
    parser.add_argument("--patience", type=float, default=60.0,
                        help="seconds to wait for what is due")
    parser.add_argument("--lossy", action="store_true", help="results may be lost")
    parser.add_argument("--one-way", action="store_true", help="no results")
    print(json.dumps(Job(parser.parse_args()).run()))


if __name__ == "__main__":
    sys.exit(main())
