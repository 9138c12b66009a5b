# SPDX-License-Identifier: BSD-2-Clause
"""Jobs: what each rank runs, and how its result is compared with one that did not go through the
network."""
import array
import json
import os
import random
import subprocess
import sys

from . import system
from .node import CANARY, TOP

DIGITS = os.environ.get("DIGITS", os.path.join(TOP, "build/bin/digits"))
DIGITS_DATA = os.environ.get("DIGITS_DATA", os.path.join(TOP, "build/data/digits.csv.gz"))


class Rank:
    """One process of a job: where it runs, and its result. PLACE counts the places where ranks run,
    from 0. It is the number of the rank that is there, unless ranks were shuffled."""

    def __init__(self, number, host, port, engine, place=None):
        self.number = number
        self.place = number if place is None else place
        self.host = host
        self.engine = engine
        self.member = f"{host.address}:{port}"
        self.process = None
        self.status = None
        self.seconds = None
        self.output = {}
        self.stderr = ""


class Job:
    """A job in the directory WORK. prepare() is called first. command() gives the words of a rank's
    command. check() returns lines that say what is wrong."""

    name = "job"

    def __init__(self, work, options=()):
        self.work = work
        self.options = list(options)
        self.ranks = []

    def prepare(self, ranks):
        self.ranks = ranks

    def path(self, rank, what):
        """Path of a file of RANK"""
        return os.path.join(self.work, f"rank{rank.number}.{what}")

    def member_options(self, rank, comm):
        """Options that all programs of the project have"""
        return ["--comm", comm, "--rank", rank.number, "--members", len(self.ranks),
                "--root", self.ranks[0].member, "--bind", rank.member,
                "--engine", rank.engine, *self.options]

    def command(self, rank, comm):
        raise NotImplementedError

    def collect(self, rank):
        """Read what the rank wrote into rank.output."""

    def check(self):
        return [f"rank {rank.number} on {rank.host.name} ended with status {rank.status}: "
                f"{rank.stderr.strip()[-300:]}"
                for rank in self.ranks if rank.status != 0]

    def read_json(self, rank, what="json"):
        """What the rank wrote into its JSON file; {} if there is none"""
        try:
            with open(self.path(rank, what), encoding="utf-8") as file:
                return json.load(file)
        except (FileNotFoundError, ValueError):
            return {}


class AllreduceJob(Job):
    """`canary allreduce` of a random vector for each rank, which is also summed here."""

    name = "allreduce"

    def __init__(self, work, options=(), elements=20000, seed=1):
        super().__init__(work, options)
        self.elements = elements
        self.seed = seed
        self.expected = b""

    def prepare(self, ranks):
        super().prepare(ranks)
        total = [0] * self.elements
        for rank in ranks:
            numbers = array.array("i")
            numbers.frombytes(random.Random(f"{self.seed}.{rank.number}").randbytes(4 * self.elements))
            if sys.byteorder == "big":
                numbers.byteswap()
            total = [a + b for a, b in zip(total, numbers)]
            if sys.byteorder == "big":
                numbers.byteswap()
            with open(self.path(rank, "in"), "wb") as file:
                numbers.tofile(file)
        wrapped = array.array("I", [number & 0xffffffff for number in total])
        if sys.byteorder == "big":
            wrapped.byteswap()
        self.expected = wrapped.tobytes()

    def command(self, rank, comm):
        return [CANARY, "allreduce", *self.member_options(rank, comm), "-j",
                "--in", self.path(rank, "in"), "--out", self.path(rank, "out")]

    def collect(self, rank):
        for line in rank.stderr.splitlines():
            if line.startswith("{"):
                try:
                    rank.output = json.loads(line)
                except ValueError:
                    pass

    def check(self):
        wrong = super().check()
        for rank in self.ranks:
            try:
                with open(self.path(rank, "out"), "rb") as file:
                    got = file.read()
            except FileNotFoundError:
                got = b""
            if got != self.expected:
                bad = sum(got[i:i + 4] != self.expected[i:i + 4]
                          for i in range(0, len(self.expected), 4))
                wrong.append(f"rank {rank.number}: {bad} of {self.elements} elements are wrong")
        return wrong


class PerfJob(Job):
    """`canary perf allreduce`, which checks its results."""

    name = "perf"

    def command(self, rank, comm):
        return [CANARY, "perf", "allreduce", *self.member_options(rank, comm),
                "-J", self.path(rank, "json")]

    def collect(self, rank):
        rank.output = self.read_json(rank)

    def check(self):
        wrong = super().check()
        results = self.ranks[0].output.get("results", [])
        if not results:
            wrong.append("perf: no results")
        for result in results:
            for way in ("out_of_place", "in_place"):
                if result.get(way, {}).get("wrong"):
                    wrong.append(f"perf: size {result['size']}: {result[way]['wrong']} are wrong")
        return wrong


class DigitsJob(Job):
    """The training of examples/digits, compared with that of a single process that has the data of
    all ranks. Data belong to a place, so the weights are the same whichever rank is there."""

    name = "digits"

    def __init__(self, work, options=(), training=()):
        super().__init__(work, options)
        self.training = list(training)
        self.reference = {}

    def _common(self, path):
        return ["--data", DIGITS_DATA, "--json", path, *self.training]

    def prepare(self, ranks):
        super().prepare(ranks)
        path = os.path.join(self.work, "reference.json")
        done = system.run([DIGITS, "--reference", "--members", len(ranks), *self._common(path)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(f"digits: {done.stderr.partition(chr(10))[0].removeprefix('digits: ')}")
        with open(path, encoding="utf-8") as file:
            self.reference = json.load(file)

    def command(self, rank, comm):
        return [DIGITS, *self.member_options(rank, comm), "--shard", rank.place,
                *self._common(self.path(rank, "json"))]

    def collect(self, rank):
        rank.output = self.read_json(rank)

    def hashes(self):
        """Hashes of the weights that the ranks ended with"""
        return [rank.output.get("weights_hash") for rank in self.ranks]

    def check(self):
        wrong = super().check()
        expected = self.reference["weights_hash"]
        for rank, got in zip(self.ranks, self.hashes()):
            if got != expected:
                wrong.append(f"rank {rank.number}: weights {got}, the reference has {expected}")
        return wrong


class CommandJob(Job):
    """Any command. {rank} {members} {root} {bind} {comm} {engine} {host} {work} are replaced. A
    rank is right if its status is 0."""

    name = "command"

    def __init__(self, work, options=(), words=()):
        super().__init__(work, options)
        self.words = list(words)

    def command(self, rank, comm):
        values = {"rank": rank.number, "members": len(self.ranks), "root": self.ranks[0].member,
                  "bind": rank.member, "comm": comm, "engine": rank.engine,
                  "host": rank.host.name, "work": self.work}
        words = []
        for word in self.words:
            for name, value in values.items():
                word = word.replace("{" + name + "}", str(value))
            words.append(word)
        return words
