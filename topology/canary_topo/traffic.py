#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Random uniform traffic by iperf3: every host sends to one other and receives
from one, and all change their peers every few seconds.

As a program it is one host's part. All parts draw the same peers from the same
seed and begin at the same time, so nobody has to tell them anything.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import time

FIRST_PORT = 5300
PAYLOAD = 1400
FRAME = PAYLOAD + 42


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

    def __init__(self, hosts, rate, seed=1, period=3.0, protocol="udp", log=None):
        self.hosts = hosts
        self.rate = rate
        self.seed = seed
        self.period = period
        self.protocol = protocol
        self.log = log
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
                     "--period", self.period, "--begin", begin, "--protocol", self.protocol],
                    stdout=subprocess.DEVNULL, stderr=log))
        # until it flows
        time.sleep(max(0, begin + 1 - time.monotonic()))
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()
        self.processes = []


class Part:
    """One host's part."""

    def __init__(self, args):
        self.args = args
        self.addresses = args.addresses.split(",")
        self.running = []

    def iperf(self, *words):
        """An iperf3 that ends with this process."""
        self.running.append(subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", "iperf3", *map(str, words)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))

    def listen(self, turn):
        """A receiver for one turn; turns overlap, so they have their own ports."""
        self.iperf("-s", "-1", "-p", FIRST_PORT + turn % 16)

    def send(self, turn):
        args = self.args
        to = self.addresses[peers(len(self.addresses), args.seed, turn)[args.number]]
        # The seed's, too: routers hash it, so the same traffic takes the same paths
        own = random.Random(f"port.{args.seed}.{turn}.{args.number}").randrange(20000, 32000)
        words = ["-c", to, "-p", FIRST_PORT + turn % 16, "-t", args.period, "-i", 0,
                 "--connect-timeout", 2000, "--cport", own]
        if args.protocol == "udp":
            words += ["-u", "-l", PAYLOAD, "-b", args.rate * PAYLOAD // FRAME]
        self.iperf(*words)

    def forget_ended(self, all_of_them=False):
        # two turns, each one receiver and one sender, and those that will not end
        for process in self.running if all_of_them else self.running[:-4]:
            if process.poll() is None:
                process.terminate()
        self.running = [] if all_of_them else self.running[-4:]

    def run(self):
        turn = 0
        while True:
            at = self.args.begin + turn * self.args.period
            time.sleep(max(0, at - 0.5 - time.monotonic()))
            self.listen(turn)
            time.sleep(max(0, at - time.monotonic()))
            self.send(turn)
            self.forget_ended()
            turn += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--number", type=int, required=True)
    add("--addresses", required=True)
    add("--rate", type=int, required=True)
    add("--seed", required=True)
    add("--period", type=float, default=3)
    add("--begin", type=float, required=True)
    add("--protocol", choices=["udp", "tcp"], default="udp")
    part = Part(parser.parse_args())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        part.run()
    finally:
        part.forget_ended(True)


if __name__ == "__main__":
    main()
