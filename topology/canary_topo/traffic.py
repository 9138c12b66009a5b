#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Random uniform traffic: every host sends to one other and receives from one, and all change their
peers every few seconds.

As a program it is one host's part. All parts draw the same peers from the same seed and begin at
the same time, so they need no messages between them.

Before and beside its data, iperf3 sends a TCP connection and one datagram each way. These would be
lost in the queues that it fills. So CanaryNet.express() lets small packets of these ports pass. A
sender that fails nevertheless is started again.

A slow processor needs half a second to start sixteen of them, and meanwhile old and new peers send
at once. Where that is much of a turn, this process sends the same datagrams as iperf3, and nothing
beside.
"""
import argparse
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import time

if __package__:
    from . import system
else:
    import system   # run as a program

# a power of two and aligned, so that one mask matches them
FIRST_PORT, PORTS = 5296, 16
PAYLOAD = 1400
FRAME = PAYLOAD + 42
GENERATORS = ["iperf3", "plain"]


def peers(number, seed, turn):
    """The host to which each of NUMBER hosts sends in this turn: a permutation in which nobody
    sends to himself."""
    chance = random.Random(f"{seed}.{turn}")
    order = list(range(number))
    while True:
        chance.shuffle(order)
        if all(i != to for i, to in enumerate(order)):
            return order


class Traffic:
    """The traffic of HOSTS (CanaryHost), each RATE bits per second on its link. The protocol is
    udp, or tcp, which takes what it gets."""

    def __init__(self, hosts, rate, seed=1, period=3, protocol="udp", log=None, generator="iperf3"):
        self.hosts = hosts
        self.rate = rate
        self.seed = seed
        self.period = period
        self.protocol = protocol
        self.log = log
        self.generator = generator
        self.processes = []

    def __enter__(self):
        if len(self.hosts) < 2:
            return self
        begin = time.monotonic() + 1
        addresses = ",".join(host.address for host in self.hosts)
        with open(self.log or os.devnull, "ab") as log:
            for number, host in enumerate(self.hosts):
                self.processes.append(host.start_process(
                    ["/usr/bin/python3", os.path.abspath(__file__), "--number", number,
                     "--addresses", addresses, "--rate", int(self.rate), "--seed", self.seed,
                     "--period", self.period, "--begin", begin, "--protocol", self.protocol,
                     "--generator", self.generator],
                    stdout=subprocess.DEVNULL, stderr=log))
        # until the traffic flows
        time.sleep(max(0, begin + 1 - time.monotonic()))
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            system.stop(process)
        self.processes = []


class Part:
    """The part of one host, by iperf3."""

    def __init__(self, args):
        self.args = args
        self.addresses = args.addresses.split(",")
        # Lists of (turn, process)
        self.receivers, self.senders = [], []

    @staticmethod
    def iperf(*words):
        """Start an iperf3 that ends with this process."""
        return subprocess.Popen(["setpriv", "--pdeathsig", "TERM", "iperf3", *map(str, words)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def listen(self, turn):
        """Start a receiver for one turn. Turns overlap, so each has its own port."""
        self.receivers.append((turn, self.iperf("-s", "-p", FIRST_PORT + turn % PORTS)))

    def flow(self, turn):
        """Return: (address of the peer, own port)"""
        args = self.args
        to = self.addresses[peers(len(self.addresses), args.seed, turn)[args.number]]
        # Routers hash the port, so it comes from the seed, too: the same traffic takes the same
        # paths.
        return to, random.Random(f"port.{args.seed}.{turn}.{args.number}").randrange(20000, 32000)

    def send(self, turn, seconds):
        args = self.args
        to, own = self.flow(turn)
        words = ["-c", to, "-p", FIRST_PORT + turn % PORTS, "-t", seconds, "-i", 0,
                 "--connect-timeout", 500, "--cport", own]
        if args.protocol == "udp":
            words += ["-u", "-l", PAYLOAD, "-b", args.rate * PAYLOAD // FRAME]
        self.senders.append((turn, self.iperf(*words)))

    @staticmethod
    def forget(processes, before):
        """End PROCESSES of turns before BEFORE. Return: those that are left"""
        for turn, process in processes:
            if turn < before and process.poll() is None:
                process.terminate()
        return [(turn, process) for turn, process in processes
                if turn >= before or process.poll() is None]

    def keep_sending(self, turn, end):
        """Send until END. A sender that fails is started again for the rest of the turn."""
        while time.monotonic() < end:
            time.sleep(max(0, min(0.1, end - time.monotonic())))
            left = int(end - time.monotonic() + 0.5)
            if left and self.senders[-1][1].poll() is not None:
                print(f"traffic of host {self.args.number}, turn {turn}: iperf3 ended with status "
                      f"{self.senders[-1][1].returncode}, begins anew", file=sys.stderr, flush=True)
                self.send(turn, left)

    def run(self):
        begin, period = self.args.begin, self.args.period
        turn = 0
        time.sleep(max(0, begin - 0.5 - time.monotonic()))
        self.listen(turn)
        time.sleep(max(0, begin - time.monotonic()))
        while True:
            self.send(turn, period)
            self.keep_sending(turn, begin + (turn + 1) * period - 0.5)
            self.listen(turn + 1)
            time.sleep(max(0, begin + (turn + 1) * period - time.monotonic()))
            turn += 1
            # A late sender may still need the receiver of the turn before.
            self.senders = self.forget(self.senders, turn - 1)
            self.receivers = self.forget(self.receivers, turn - 1)

    def end(self):
        self.forget(self.senders, sys.maxsize)
        self.forget(self.receivers, sys.maxsize)


class PlainPart(Part):
    """The part of one host, by this process."""

    def run(self):
        begin, period = self.args.begin, self.args.period
        interval = 8 * FRAME / self.args.rate
        # Nobody reads these sockets. What does not fit is dropped here, and no ICMP message is
        # sent.
        for port in range(FIRST_PORT, FIRST_PORT + PORTS):
            receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            receiver.bind(("", port))
            self.receivers.append(receiver)
        # Hosts shall not start together: each sends its first packet somewhere in its interval.
        due = max(begin, time.monotonic()) + interval * \
            random.Random(f"phase.{self.args.seed}.{self.args.number}").random()
        for turn in itertools.count():
            to, own = self.flow(turn)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.bind(("", own))
                while due < begin + (turn + 1) * period:
                    time.sleep(max(0, due - time.monotonic()))
                    sender.sendto(bytes(PAYLOAD), (to, FIRST_PORT + turn % PORTS))
                    due += interval

    def end(self):
        for receiver in self.receivers:
            receiver.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--number", type=int, required=True)
    add("--addresses", required=True)
    add("--rate", type=int, required=True)
    add("--seed", required=True)
    add("--period", type=int, default=3)
    add("--begin", type=float, required=True)
    add("--protocol", choices=["udp", "tcp"], default="udp")
    add("--generator", choices=GENERATORS, default="iperf3")
    args = parser.parse_args()
    part = PlainPart(args) if args.generator == "plain" else Part(args)
    system.end_by_signals(signal.SIGTERM)
    try:
        part.run()
    finally:
        part.end()


if __name__ == "__main__":
    main()
