#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A long run in the guest: all faults, on several topologies, through AF_CANARY, while other
sockets are opened, used and closed all the time. At the end nothing may be left: no byte that the
module accounts for, no pinned page, and no more kernel memory than after a first pass of the same
work.

  topology/soak.py --minutes 30 --state DIRECTORY

The guest's runner looks for kernel warnings. Prints TAP."""
import glob
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from canary_topo import arguments, system  # noqa: E402
from canary_topo.node import TOP  # noqa: E402
from canary_topo.trial import WORKER  # noqa: E402
import fault_matrix  # noqa: E402

SOCKETS = os.path.join(TOP, "build/selftests/kmod/worker")
# Slab caches of sockets, routes and packets, and by how many objects the rest of the system may
# make them grow
CACHES = {"UDP": 32, "ip_dst_cache": 64, "skbuff_head_cache": 128, "sock_inode_cache": 32,
          "net_namespace": 1}
# kB by which the kernel's own caches may grow
NOISE = 4096
PATIENCE = 120
SETTLED = 10


def read_numbers(path):
    """Return: {name: number} of lines of the form "name number"."""
    found = {}
    with open(path, encoding="ascii") as file:
        for line in file:
            words = line.replace(":", " ").split()
            if len(words) > 1 and words[1].isdigit():
                found[words[0]] = int(words[1])
    return found


def memory():
    """kB of slabs that cannot be reclaimed, vmalloc and per-cpu memory"""
    found = read_numbers("/proc/meminfo")
    return sum(found[name] for name in ("SUnreclaim", "VmallocUsed", "Percpu"))


def pinned():
    """Number of pages that are pinned"""
    found = read_numbers("/proc/vmstat")
    return found.get("nr_foll_pin_acquired", 0) - found.get("nr_foll_pin_released", 0)


def objects(cache):
    path = f"/sys/kernel/slab/{cache}"
    if not os.path.isdir(path):
        return 0
    try:
        with open(f"{path}/shrink", "w", encoding="ascii") as file:
            file.write("1\n")
    except OSError:
        pass
    with open(f"{path}/objects", encoding="ascii") as file:
        return int(file.read().split()[0])


def module_uses():
    with open("/sys/module/canary/refcnt", encoding="ascii") as file:
        return int(file.read())


def settled():
    """Number of objects in CACHES, once it has been constant for SETTLED seconds. The kernel
    removes namespaces one by one after their last user has gone. It frees their memory when it
    removes the next one (net_complete_free()). There is always a next one here."""
    end = time.monotonic() + PATIENCE
    found, since = None, time.monotonic()
    while True:
        # Cached inodes may hold a namespace.
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write("3\n")
        system.run(["unshare", "--net", "true"], check=True)
        now = {cache: objects(cache) for cache in CACHES}
        if now != found:
            found, since = now, time.monotonic()
        elif time.monotonic() - since > SETTLED:
            return found
        if time.monotonic() > end:
            return now
        time.sleep(1)


def snapshot():
    """Wait until no engine lingers any more."""
    end = time.monotonic() + PATIENCE
    while module_uses() and time.monotonic() < end:
        time.sleep(0.1)
    found = settled()
    return {"uses": module_uses(), "memory": memory(), "pinned": pinned(), **found}


class Churn:
    """Sockets that come and go beside the trials, in a namespace of their own."""

    def __init__(self):
        self.processes = []
        self.rounds = 0

    def start(self):
        """Start a pair that forms, sums and closes, and sockets that are closed while they join."""
        for rank in range(2):
            self.run([WORKER, "--comm", 900, "--rank", rank, "--members", 2, "--root",
                      "127.0.0.1:22650", "--bind", f"127.0.0.1:{22650 + rank}", "--engine",
                      "kernel", "--rounds", 1000000, "--operations", 3, "--elements", 30000,
                      "--inflight", 2, "--linger", "1s", "--plan", "1:3:1:die"])
        self.run(["sh", "-c", f"while sleep 1; do {SOCKETS} -t 30 -c 9 -S 20 -l 0 -M 2 -p 22660 "
                              f"-R 127.0.0.1 1@-/127.0.0.1; {SOCKETS} -t 1 -c 10 -M 2 -p 22661 "
                              "0@-/127.0.0.1; cat /proc/net/canary /proc/net/canary_stats; done"])

    def run(self, words):
        # It matters what they do, and not how often.
        words = ["nice", "-n", "19", *words]
        words = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "-", *words] \
            if not self.processes else ["nsenter", "-t", self.processes[0].pid, "-n", *words]
        self.processes.append(system.start(words, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL, start_new_session=True))
        if len(self.processes) == 1:
            # wait until it is in its namespace
            system.wait_until(lambda: system.own_namespace(self.processes[0].pid),
                              "sockets that come and go have no namespace")
            time.sleep(0.5)

    def alive(self):
        return sum(process.poll() is None for process in self.processes)

    def stop(self):
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait(system.PATIENCE)


class Tap:
    """Counts tests and prints their results."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, good, what):
        if good:
            self.passed += 1
        else:
            self.failed += 1
        print(f"{'' if good else 'not '}ok {self.passed + self.failed} {what}", flush=True)

    def end(self):
        print(f"1..{self.passed + self.failed}")
        print(f"# faults/soak: {self.passed} passed, {self.failed} failed, 0 skipped", flush=True)
        return 1 if self.failed else 0


def judge(tap, before, after):
    """Check that nothing is left."""
    tap.check(after["uses"] == 0, f"the module is not in use: {after['uses']} references")
    tap.check(after["pinned"] == before["pinned"], f"no page is pinned: {after['pinned'] - before['pinned']} more")
    grown = after["memory"] - before["memory"]
    tap.check(grown < NOISE, f"no memory of the kernel is left: {grown} kB more")
    for cache, most in CACHES.items():
        grown = after[cache] - before[cache]
        tap.check(grown <= most, f"no object of {cache} is left: {grown} more")


def run_matrix(args, tap, what):
    matrix = fault_matrix.Matrix(args)
    churn = Churn()
    churn.start()
    try:
        matrix.run()
        alive = churn.alive()
    finally:
        churn.stop()
    summary = matrix.summary()
    print(f"# {what}: {json.dumps(summary)}")
    tap.check(summary["trials"] > 0 and not summary["failed"],
              f"{what}: {summary['trials']} trials, {summary['blocks']} blocks, {summary['failed']} failed")
    for result in matrix.failures:
        print(f"# {result['cell']}: {'; '.join(result['wrong'])}")
        for path in glob.glob(result.get("dump", "/nonexistent")):
            with open(path, encoding="utf-8") as file:
                print("".join(f"# {line}" for line in file))
    tap.check(alive == 3, "sockets came and went all the while")


def parse(argv):
    parser = arguments.Parser(__doc__, "After --: further options of the worker.")
    parser.add_argument("--minutes", type=arguments.number(float, 0.1, 1000000), default=30,
                        help="after the first pass, which takes 2 at most (%(default)s)")
    fault_matrix.common(parser)
    parser.set_defaults(engine="kernel", blocks=0, tap=False)
    return parser.parse_with_options(argv)


def main():
    args = parse(sys.argv[1:])
    if not os.environ.get("CANARY_GUEST") or not os.path.exists("/sys/module/canary"):
        print("soak.py: only in the guest, with canary.ko loaded", file=sys.stderr)
        return 2
    tap = Tap()
    print("TAP version 13")
    minutes = args.minutes
    # The first pass fills the kernel's caches.
    args.minutes = min(2, minutes / 4)
    run_matrix(args, tap, "warming up")
    before = snapshot()
    print(f"# {json.dumps(before)}")
    args.minutes = minutes
    args.seed += 1000
    run_matrix(args, tap, "soak")
    after = snapshot()
    print(f"# {json.dumps(after)}")
    judge(tap, before, after)
    return tap.end()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ValueError, RuntimeError, OSError) as error:
        print(f"soak.py: {error}", file=sys.stderr)
        sys.exit(2)
