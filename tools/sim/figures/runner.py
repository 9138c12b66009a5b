# SPDX-License-Identifier: BSD-2-Clause
"""Runs scenarios, several at a time, and keeps their results. A run that the same simulator has
made before is not made again. So interrupted figures go on where they were."""
import concurrent.futures
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

LIMIT = 6   # GiB for all runs together


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


class Memory:
    """A memory budget in GiB. Large runs get their share first."""

    def __init__(self, free):
        self.free = free
        self.changed = threading.Condition()

    @contextlib.contextmanager
    def share(self, size):
        with self.changed:
            self.changed.wait_for(lambda: self.free >= size)
            self.free -= size
        try:
            yield
        finally:
            with self.changed:
                self.free += size
                self.changed.notify_all()


class Runner:
    """SIMULATOR is its path, DIRECTORY is where results are kept."""

    def __init__(self, simulator, directory, jobs=2):
        self.simulator = simulator
        self.directory = directory
        self.jobs = jobs
        self.version = digest(simulator)
        self.shapes = {}
        self.memory = Memory(LIMIT)
        os.makedirs(directory, exist_ok=True)

    def _key(self, scenario):
        shape = os.path.join(TOP, scenario["topology"])
        if shape not in self.shapes:
            self.shapes[shape] = digest(shape)
        text = json.dumps([self.version, self.shapes[shape], scenario], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def _path(self, scenario):
        return os.path.join(self.directory, self._key(scenario) + ".json")

    def known(self, scenario):
        """Return: the result of a run, or None if it was not made"""
        try:
            with open(self._path(scenario), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    def _run(self, scenario):
        links = self._path(scenario) + f".{os.getpid()}.links"
        words = [f"{key}={word}" for key, value in scenario.items()
                 for word in (value if isinstance(value, list) else [value])]
        done = subprocess.run([self.simulator, "--quiet", "--speed", "--links", links, *words],
                              cwd=TOP, capture_output=True, text=True, check=False)
        if done.returncode == 2 or not done.stdout:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
        result = json.loads(done.stdout)
        with open(links, encoding="ascii") as file:
            lines = [line.split(",") for line in file.read().splitlines()[1:]]
        os.unlink(links)
        result["link_utilisation"] = [int(line[4]) / 10000 for line in lines]
        # Rename the file when it is complete, so that no partial result remains.
        with open(self._path(scenario) + ".new", "w", encoding="utf-8") as file:
            json.dump(result, file)
        os.rename(self._path(scenario) + ".new", self._path(scenario))
        return result

    def _in_turn(self, scenario):
        with self.memory.share(gigabytes(scenario)):
            return self._run(scenario)

    def run_all(self, scenarios):
        """Return: {index: result} of all scenarios. Prints the progress."""
        results = {i: self.known(scenario) for i, scenario in enumerate(scenarios)}
        todo = sorted((i for i, result in results.items() if result is None),
                      key=lambda i: -cost(scenarios[i]))
        total, begin = sum(cost(scenarios[i]) for i in todo), time.monotonic()
        made, hops, processor = 0, 0, 0
        seen = {}
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for i in todo:
                key = self._key(scenarios[i])
                if key not in seen:
                    seen[key] = pool.submit(self._in_turn, scenarios[i])
            futures = {future: key for key, future in seen.items()}
            by_key = {}
            for i in todo:
                by_key.setdefault(self._key(scenarios[i]), []).append(i)
            try:
                for n, future in enumerate(concurrent.futures.as_completed(futures)):
                    result = future.result()
                    for i in by_key[futures[future]]:
                        results[i] = result
                        made += cost(scenarios[i])
                    hops += result["hops"]
                    processor += result["processor_ms"]
                    show(n + 1, len(futures), made / total, hops, processor,
                         time.monotonic() - begin)
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
        if todo and sys.stderr.isatty():
            sys.stderr.write("\n")
        return results


def is_huge(scenario):
    return "8192" in scenario["topology"]


def gigabytes(scenario):
    """Upper bound of a run's memory"""
    if is_huge(scenario):
        return 4
    return 3 if int(scenario.get("jobs", 1)) >= 8 else 1


def cost(scenario):
    """Estimate how long a run takes, in packets times hops."""
    size = {"KiB": 1 << 10, "MiB": 1 << 20}
    number, unit = scenario["bytes"][:-3], scenario["bytes"][-3:]
    blocks = int(number) * size[unit] / 1024
    hosts = 8192 if is_huge(scenario) else 1024
    members = int(scenario.get("members", hosts))
    rounds = (blocks + 20) * int(scenario.get("operations", 1))
    if is_huge(scenario):
        rounds *= 4
    if scenario.get("traffic", "none") != "none":
        slow = {"dynamic": 1.1, "ring": 4, "static": 2 + 4 / int(scenario.get("trees", 1))}[
            scenario.get("algorithm", "dynamic")]
        return rounds * (2.2 * members + 4 * slow * (hosts - members))
    return rounds * members * (6 if scenario.get("algorithm") == "ring" else 2.2)


def show(n, of, share, hops, processor, seconds):
    text = (f"[{'#' * int(share * 30):.<30}] {n}/{of} runs, {share * 100:.0f} %, "
            f"{hops / max(processor, 1) / 1000:.1f} M hops/s a core, "
            f"{seconds * max(1 - share, 0) / max(share, 0.001):.0f} s left ")
    if sys.stderr.isatty():
        sys.stderr.write("\r" + text)
        sys.stderr.flush()
    elif n % 20 == 0 or n == of:
        print(text, file=sys.stderr, flush=True)
