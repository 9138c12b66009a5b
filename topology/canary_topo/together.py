# SPDX-License-Identifier: BSD-2-Clause
"""Communicators at the same time: what each of them gets while all are at work."""
import time


def jain(values):
    """Jain's index: 1 if all values are equal, 1/n if one has everything"""
    squares = len(values) * sum(value * value for value in values)
    return sum(values) ** 2 / squares if squares else 0


def goodputs(trials, operations):
    """Return: (bits per second of each of TRIALS, seconds) from when the last trial has begun until
    the first one is about to finish. Each does OPERATIONS."""
    try:
        for trial in trials:
            trial.start()
        for trial in trials:
            trial.until(lambda trial=trial: trial.progress(0)["round_blocks"])
        begin, before = time.monotonic(), [trial.progress(0) for trial in trials]
        # before any of them reaches its last operation
        trials[0].until(lambda: any(trial.progress(0)["completed"] >= operations - 1
                                    for trial in trials))
        seconds, after = time.monotonic() - begin, [trial.progress(0) for trial in trials]
        for trial in trials:
            trial.finish()
    finally:
        for trial in trials:
            trial.stop()
    if any(b["completed"] >= operations - 1 for b in before):
        raise RuntimeError("one was nearly done before the last one had begun: more operations are needed")
    bits = [32 * b["elements"] * (b["round_blocks"] - a["round_blocks"])
            for a, b in zip(before, after)]
    return [value / seconds for value in bits], seconds


def wrong(trials):
    """Return: lines that say what is wrong about their sums. The trials end with that."""
    found = [f"communicator {number}: {line}" for number, trial in enumerate(trials)
             for line in trial.judge({})[0]]
    for trial in trials:
        trial.job.close()
    return found
