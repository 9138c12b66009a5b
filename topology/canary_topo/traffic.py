#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Random uniform traffic: every host sends to one other and receives from one,
and all change their peers every few seconds.

As a program it is one host's part. All parts draw the same peers from the same
seed and begin at the same time, so nobody has to tell them anything.

What iperf3 sends before and beside its data (a TCP connection, one datagram each way)
would be lost in the queues that it fills: CanaryNet.express() lets small packets of
these ports pass, and a sender that fails nevertheless begins anew.

To start sixteen of them takes a slow processor half a second in which old and new peers
send at once: where that is much of a turn, the same datagrams are sent by this process,
as iperf3 sends them, and nothing beside.
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
    import system   # as a program

# Of one mask, for routers' filters
FIRST_PORT, PORTS = 5296, 16
PAYLOAD = 1400
FRAME = PAYLOAD + 42
GENERATORS = ["iperf3", "plain"]


def peers(number, seed, turn):
    """Whom each of NUMBER hosts sends to in this turn: a permutation in which
    nobody is sent to himself."""
    chance = random.Random(f"{seed}.{turn}")
    order = list(range(number))
    while True:
        chance.shuffle(order)
        if all(i != to for i, to in enumerate(order)):
            return order


class Traffic:
    """The traffic of HOSTS (CanaryHost), each RATE bits a second on its link,
    protocol udp or tcp (which takes what it gets)."""

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
        # until it flows
        time.sleep(max(0, begin + 1 - time.monotonic()))
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            system.stop(process)
        self.processes = []


class Part:
    """One host's part, by iperf3."""

    def __init__(self, args):
        self.args = args
        self.addresses = args.addresses.split(",")
        # (turn, process), receivers and senders
        self.receivers, self.senders = [], []

    @staticmethod
    def iperf(*words):
        """An iperf3 that ends with this process."""
        return subprocess.Popen(["setpriv", "--pdeathsig", "TERM", "iperf3", *map(str, words)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def listen(self, turn):
        """A receiver for one turn; turns overlap, so they have their own ports."""
        self.receivers.append((turn, self.iperf("-s", "-p", FIRST_PORT + turn % PORTS)))

    def flow(self, turn):
        """(address of the peer, own port)"""
        args = self.args
        to = self.addresses[peers(len(self.addresses), args.seed, turn)[args.number]]
        # The seed's, too: routers hash it, so the same traffic takes the same paths
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
        """Ends PROCESSES of turns BEFORE that one; those that are left."""
        for turn, process in processes:
            if turn < before and process.poll() is None:
                process.terminate()
        return [(turn, process) for turn, process in processes
                if turn >= before or process.poll() is None]

    def keep_sending(self, turn, end):
        """Until END; who failed begins anew for the rest of the turn."""
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
            # Whoever sends late may still want the turn before
            self.senders = self.forget(self.senders, turn - 1)
            self.receivers = self.forget(self.receivers, turn - 1)

    def end(self):
        self.forget(self.senders, sys.maxsize)
        self.forget(self.receivers, sys.maxsize)


class PlainPart(Part):
    """One host's part, by itself."""

    def run(self):
        begin, period = self.args.begin, self.args.period
        interval = 8 * FRAME / self.args.rate
        # Nobody reads: what there is no room for is dropped here, and nobody is told.
        for port in range(FIRST_PORT, FIRST_PORT + PORTS):
            receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            receiver.bind(("", port))
            self.receivers.append(receiver)
        # Not all at the same time: the first one comes anywhere within its interval.
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
