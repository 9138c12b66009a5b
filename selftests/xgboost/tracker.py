#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""XGBoost's tracker, which tells workers of each other: tracker.py ADDRESS WORKERS FILE. It writes its
port to FILE, and ends with the workers."""
import os
import sys

from xgboost.tracker import RabitTracker


def main():
    """Start, and wait for the workers."""
    address, workers, file = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    tracker = RabitTracker(host_ip=address, n_workers=workers, sortby="task")
    tracker.start(workers)
    with open(file + ".tmp", "w", encoding="ascii") as to:
        to.write(str(tracker.worker_envs()["DMLC_TRACKER_PORT"]))
    os.rename(file + ".tmp", file)
    tracker.join()


if __name__ == "__main__":
    main()
