# SPDX-License-Identifier: BSD-2-Clause
"""A trial: ranks on a testbed check every sum while something goes wrong. A trial without progress
for long is a hang. Then everything that is known is written down."""
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

# Counters of the engines that show the cost of recovery
RECOVERY = ("attempts", "retransmissions", "requests_out", "results_again", "named", "bypass",
            "tag_mismatch", "waits_out", "probes_out", "restorations_out")


class Hang(RuntimeError):
    """No rank made progress any more."""


class Ended(RuntimeError):
    """All ranks ended before what was waited for happened."""


class WorkerJob(Job):
    """A job of ranks that run selftests/faults/worker."""

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
        """Progress of RANK"""
        return dict(zip(PROGRESS, struct.unpack_from(PROGRESS_FORMAT, self.maps[rank.number])))

    def tell(self, rank, what, rounds):
        """Write a number of rounds to RANK's progress. go: holds of these rounds end; open: these
        rounds may begin; halt: these rounds have to end."""
        struct.pack_into("<Q", self.maps[rank.number], 8 * PROGRESS.index(what), rounds)

    def rounds(self, rank):
        """Entries that RANK wrote, one for each round that ended"""
        with open(self.path(rank, "log"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def close(self):
        for area in self.maps.values():
            area.close()
        self.maps = {}


class Failure:
    """How a round has to fail: with one of ERRORS at all ranks but EXEMPT. The error names the
    ranks NAMED and nobody else (None: it names somebody). With SOME, a part of NAMED is enough,
    since some may not be missed."""

    def __init__(self, named, errors, exempt=(), some=False):
        self.named = None if named is None else sorted(named)
        self.errors = errors
        self.exempt = set(exempt)
        self.some = some

    def wrong(self, entry):
        """Return: what is wrong about a rank's ENTRY, or None"""
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
    """RANKS of TESTBED do ROUNDS times OPERATIONS on ELEMENTS."""

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
        """Bytes that hosts with ranks have sent"""
        links = self.net.link_bytes()
        return sum(links[f"{name}:{port.device}"]["tx_packets"]
                   for name in {rank.host.name for rank in self.ranks} for port in self.net.plan.ports[name])

    def progress(self, number):
        """Progress of the rank with this number"""
        return self.job.progress(self.ranks[number])

    def release(self, rounds=1):
        """End the holds of all ranks."""
        self.tell("go", rounds)

    def tell(self, what, rounds):
        """WorkerJob.tell() for all ranks"""
        for rank in self.ranks:
            self.job.tell(rank, what, rounds)

    def launch(self, rounds):
        """Act as the launcher of a job that crashes again and again. As soon as a rank of a round
        is gone, it kills the others. When none is left, it starts the next round."""
        self.tell("open", 1)
        for number in range(1, rounds):
            self.until(lambda begun=number: begun in self.begun())
            self.tell("halt", number)
            self.until(lambda begun=number: self.begun() == {begun})
            self.tell("open", number + 1)

    def begun(self):
        """Return: the rounds at which the ranks are"""
        return {self.job.progress(rank)["round"] for rank in self.ranks}

    def ended(self):
        return all(rank.process.poll() is not None for rank in self.ranks)

    def until(self, condition, needed=True):
        """Wait until CONDITION holds. Raises Hang if nothing moves, Ended if it can never hold."""
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
        """End the ranks that did not end by themselves."""
        for rank in self.ranks:
            if rank.process:
                system.stop(rank.process, 2)

    def dump(self):
        """Everything that is known about a hang, as text"""
        lines = [f"rank {rank.number} {self.job.progress(rank)}" for rank in self.ranks]
        seen = set()
        for rank in self.ranks:
            if rank.host.name in seen:
                continue
            seen.add(rank.host.name)
            # User engines are visible from everywhere, those of the kernel only in their namespace.
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
        """Return: (lines that say what is wrong, sums over all rounds). EXPECTED is {round:
        Failure}. Other rounds have to succeed."""
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
    """Sums of ENTRIES, which come from all rounds of all ranks"""
    total = {name: sum(entry.get("stats", {}).get(name, 0) for entry in entries)
             for name in RECOVERY}
    # All ranks do the same blocks, but some may have died.
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
    """Attach the injector to both ends of all links."""
    for number, (node, device) in enumerate(net.ports()):
        with system.namespace(node.pid):
            done = system.run([CANARY, "fault", "add", device, "--only-canary",
                               *fault_options(text), "--seed", seed * 1000 + number],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{node.name}: {done.stderr.strip()}")


def remove_faults(net):
    """Remove the injector. Return: what it did on all links"""
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
