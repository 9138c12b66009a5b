# SPDX-License-Identifier: BSD-2-Clause
"""A trial: ranks that check every sum run on a testbed while something goes
wrong. It is watched: who makes no progress for long is a hang, and then
everything there is to know is written down."""
import json
import mmap
import os
import struct
import time

from . import system
from .experiment import FIRST_PORT, fault_options, place
from .jobs import Job
from .node import CANARY, TOP

WORKER = os.environ.get("CANARY_FAULT_WORKER", os.path.join(TOP, "build/selftests/faults/worker"))
POLL = 0.005

# struct progress of selftests/faults/worker.c
PROGRESS = ("round", "connected", "posted", "completed", "round_blocks", "blocks", "operations",
            "wrong", "failed", "ended", "elements", "go", "open", "halt")
PROGRESS_FORMAT = f"<{len(PROGRESS)}Q"

# Counters of the engines that tell what recovery took
RECOVERY = ("attempts", "retransmissions", "requests_out", "results_again", "named", "bypass",
            "tag_mismatch", "waits_out", "probes_out", "restorations_out")


class Hang(RuntimeError):
    """Nobody made progress any more."""


class Ended(RuntimeError):
    """All ranks ended before what was waited for."""


class WorkerJob(Job):
    """Ranks of selftests/faults/worker."""

    name = "worker"

    def __init__(self, work, options=()):
        super().__init__(work, options)
        self.maps = {}

    def prepare(self, ranks):
        super().prepare(ranks)
        for rank in ranks:
            for what in ("progress", "log"):
                with open(self.path(rank, what), "wb") as file:
                    file.truncate(struct.calcsize(PROGRESS_FORMAT) if what == "progress" else 0)
            with open(self.path(rank, "progress"), "r+b") as file:
                self.maps[rank.number] = mmap.mmap(file.fileno(), 0)

    def command(self, rank, comm):
        return [WORKER, *self.member_options(rank, comm),
                "--progress", self.path(rank, "progress"), "--log", self.path(rank, "log")]

    def progress(self, rank):
        """How far RANK is."""
        return dict(zip(PROGRESS, struct.unpack_from(PROGRESS_FORMAT, self.maps[rank.number])))

    def tell(self, rank, what, rounds):
        """Writes one of go, open and halt to RANK's progress: in that many rounds
        its holds end, that many may begin, that many have to end."""
        struct.pack_into("<Q", self.maps[rank.number], 8 * PROGRESS.index(what), rounds)

    def rounds(self, rank):
        """What RANK wrote of each round that ended."""
        with open(self.path(rank, "log"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def close(self):
        for area in self.maps.values():
            area.close()
        self.maps = {}


class Failure:
    """How a round has to end: with one of ERRORS at all ranks but EXEMPT, that
    names NAMED and nobody else (None: that names somebody). SOME of NAMED are
    enough where others may not be missed."""

    def __init__(self, named, errors, exempt=(), some=False):
        self.named = None if named is None else sorted(named)
        self.errors = errors
        self.exempt = set(exempt)
        self.some = some

    def wrong(self, entry):
        """What is wrong about a rank's ENTRY, or None."""
        if entry["rank"] in self.exempt:
            return None
        if entry["outcome"] != "failed":
            return f"{entry['outcome']}, but an error was expected"
        if entry["error"] not in self.errors:
            return f"{entry['error']} instead of {' or '.join(self.errors)}"
        if self.named is None:
            return None if entry["named"] else "names nobody"
        if self.some and entry["named"] and set(entry["named"]) <= set(self.named):
            return None
        if sorted(entry["named"]) != self.named:
            return f"names ranks {entry['named']} instead of {self.named}"
        return None


class Trial:
    """RANKS of TESTBED that do ROUNDS times OPERATIONS on ELEMENTS."""

    def __init__(self, testbed, work, ranks, options, comm, stall=60):
        self.testbed = testbed
        self.net = testbed.net
        self.ranks = ranks
        self.job = WorkerJob(work, options)
        self.comm = comm
        self.stall = stall
        self.notes = {}

    @property
    def members(self):
        return len(self.ranks)

    def start(self):
        os.makedirs(self.job.work, exist_ok=True)
        self.job.prepare(self.ranks)
        for rank in self.ranks:
            with open(self.job.path(rank, "stderr"), "wb") as err:
                rank.process = rank.host.start_process(
                    self.job.command(rank, self.comm), stdout=err, stderr=err, cwd=self.job.work)

    def packets(self):
        """That hosts with ranks have sent"""
        links = self.net.link_bytes()
        return sum(links[f"{name}:{port.device}"]["tx_packets"]
                   for name in {rank.host.name for rank in self.ranks} for port in self.net.plan.ports[name])

    def progress(self, number):
        """Of the rank with that number."""
        return self.job.progress(self.ranks[number])

    def release(self, rounds=1):
        """Ends the holds of all ranks."""
        self.tell("go", rounds)

    def tell(self, what, rounds):
        """As WorkerJob.tell(), all ranks."""
        for rank in self.ranks:
            self.job.tell(rank, what, rounds)

    def launch(self, rounds):
        """What the launcher of a job does that crashes again and again: as soon
        as a rank of a round is gone it kills the others, and starts the next
        round when none is left."""
        self.tell("open", 1)
        for number in range(1, rounds):
            self.until(lambda begun=number: begun in self.begun())
            self.tell("halt", number)
            self.until(lambda begun=number: self.begun() == {begun})
            self.tell("open", number + 1)

    def begun(self):
        """Rounds that ranks are at."""
        return {self.job.progress(rank)["round"] for rank in self.ranks}

    def ended(self):
        return all(rank.process.poll() is not None for rank in self.ranks)

    def until(self, condition, needed=True):
        """Until CONDITION holds; Hang if nothing moves, Ended if it never will."""
        last, since = None, time.monotonic()
        while not condition():
            if self.ended():
                if needed and not condition():
                    raise Ended("all ranks ended before that")
                return
            state = [bytes(self.job.maps[rank.number]) for rank in self.ranks]
            now = time.monotonic()
            if state != last:
                last, since = state, now
            elif now - since > self.stall:
                raise Hang(f"no progress for {self.stall} s")
            time.sleep(POLL)

    def finish(self):
        self.until(self.ended, needed=False)
        for rank in self.ranks:
            rank.status = rank.process.wait(system.PATIENCE)
            with open(self.job.path(rank, "stderr"), encoding="utf-8", errors="replace") as file:
                rank.stderr = file.read().strip()

    def stop(self):
        """Ends ranks that did not end by themselves."""
        for rank in self.ranks:
            if rank.process:
                system.stop(rank.process, 2)

    def dump(self):
        """Everything there is to know about a hang, as text."""
        lines = [f"rank {rank.number} {self.job.progress(rank)}" for rank in self.ranks]
        seen = set()
        for rank in self.ranks:
            if rank.host.name in seen:
                continue
            seen.add(rank.host.name)
            # User engines are shown from everywhere, the kernel's in their namespace
            first = [[CANARY, "comm", "show", "-j"], [CANARY, "stats"]] if len(seen) == 1 else []
            for words in [*first, ["cat", "/proc/thread-self/net/canary"],
                          ["cat", "/proc/thread-self/net/canary_stats"]]:
                with system.namespace(rank.host.pid):
                    done = system.run(words, capture_output=True, text=True)
                text = "\n".join(line for line in done.stdout.splitlines()
                                 if not line.endswith(" 0"))
                lines.append(f"== {rank.host.name}: {' '.join(words[-3:])}\n{text}")
        for name, state in self.testbed.switch_states().items():
            lines.append(f"== {name}: {json.dumps(state)}")
        return "\n".join(lines)

    def judge(self, expected):
        """(lines that say what is wrong, what all rounds have in sum); EXPECTED
        is {round: Failure}, other rounds have to be done."""
        wrong = []
        entries = []
        for rank in self.ranks:
            rounds = self.job.rounds(rank)
            entries += rounds
            if rank.status or (rank.stderr and "Sanitizer" in rank.stderr):
                wrong.append(f"rank {rank.number}: status {rank.status} {rank.stderr[-300:]}")
            for entry in rounds:
                failure = expected.get(entry["round"])
                if failure:
                    why = failure.wrong(entry)
                elif entry["outcome"] == "wrong":
                    why = entry["first_wrong"]
                elif entry["outcome"] != "done":
                    why = f"{entry['outcome']} {entry.get('error', '')} " \
                          f"{entry.get('where', '')} names {entry.get('named')}"
                else:
                    why = None
                if why:
                    wrong.append(f"rank {rank.number} round {entry['round']}: {why}")
        return wrong, entries


def summary(entries, trial):
    """What ENTRIES, of all rounds of all ranks, come to."""
    total = {name: sum(entry.get("stats", {}).get(name, 0) for entry in entries)
             for name in RECOVERY}
    # All ranks do the same blocks, and some may have died
    blocks = max(trial.job.progress(rank)["blocks"] for rank in trial.ranks)
    rounds = {}
    for entry in entries:
        rounds[entry["round"]] = max(rounds.get(entry["round"], 0), entry.get("seconds", 0))
    return {
        "wrong_elements": sum(entry.get("wrong", 0) for entry in entries),
        "operations": max(trial.job.progress(rank)["operations"] for rank in trial.ranks),
        "blocks": blocks,
        "redone": total["attempts"],
        "seconds": round(sum(rounds.values()), 6),
        **{name: total[name] for name in RECOVERY if name != "attempts"},
        "errors": [{"rank": entry["rank"], "round": entry["round"], "error": entry["error"],
                    "named": entry["named"]} for entry in entries if entry.get("error")],
        "killed": sum(entry["outcome"] == "killed" for entry in entries),
    }


def add_faults(net, text, seed):
    """The injector on both ends of all links."""
    for number, (node, device) in enumerate(net.ports()):
        with system.namespace(node.pid):
            done = system.run([CANARY, "fault", "add", device, "--only-canary",
                               *fault_options(text), "--seed", seed * 1000 + number],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{node.name}: {done.stderr.strip()}")


def remove_faults(net):
    """Takes the injector away again; returns what it did on all links."""
    total = {}
    for node, device in net.ports():
        with system.namespace(node.pid):
            done = system.run([CANARY, "fault", "show", device, "-j"], capture_output=True,
                              text=True)
            system.run([CANARY, "fault", "del", device], capture_output=True)
        for injector in json.loads(done.stdout or "[]"):
            for name, value in injector["counters"].items():
                total[name] = total.get(name, 0) + value
    return total


__all__ = ["Ended", "FIRST_PORT", "Failure", "Hang", "Trial", "WorkerJob", "add_faults", "place",
           "remove_faults", "summary"]
