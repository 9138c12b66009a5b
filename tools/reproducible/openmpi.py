# SPDX-License-Identifier: BSD-2-Clause
"""The same sums by Open MPI, on this machine: all its algorithms, in several orders of ranks"""
import math
import os
import shutil
import subprocess

from errors import fields
from rows import MEMBERS, read

RANK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpi_rank.py")
# Types of numpy, for types that Open MPI has
TYPES = {"float32": "<f4", "float64": "<f8"}
# Values of coll_tuned_allreduce_algorithm; 0: it chooses
ALGORITHMS = {"default": 0, "linear": 1, "nonoverlapping": 2, "recursive-doubling": 3, "ring": 4,
              "segmented-ring": 5, "rabenseifner": 6}
PATIENCE = 300


def missing():
    """Return: None, or why Open MPI cannot be used"""
    if not shutil.which("mpirun"):
        return "mpirun is missing (package openmpi-bin)"
    done = subprocess.run(["/usr/bin/python3", "-c", "import mpi4py, numpy"], capture_output=True,
                          check=False)
    return None if done.returncode == 0 else "mpi4py is missing (package python3-mpi4py)"


def version():
    """Return: as mpirun says it"""
    done = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0].strip() if done.stdout else "unknown"


def run(folders, orders, work):
    """Sum the vectors in FOLDERS, which are {row: folder}, in ORDERS orders. Return: None, or what
    went wrong"""
    words = [f"{TYPES[row.type]}:{folder}" for row, folder in folders.items()]
    for name, number in ALGORITHMS.items():
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(MEMBERS),
                   # Processors are shared, so waiting ranks must not spin. Nothing leaves the machine.
                   "--mca", "mpi_yield_when_idle", "1", "--mca", "pml", "ob1",
                   "--mca", "btl", "self,vader", "--mca", "orte_tmpdir_base", work]
        if number:
            command += ["--mca", "coll_tuned_use_dynamic_rules", "1",
                        "--mca", "coll_tuned_allreduce_algorithm", str(number)]
        try:
            done = subprocess.run([*command, "/usr/bin/python3", RANK, name, str(orders), *words],
                                  capture_output=True, text=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            return f"{name}: not done after {PATIENCE} s"
        if done.returncode:
            return f"{name}: {done.stderr.strip()[-500:]}"
    return None


def compare(row, folder, orders):
    """Return: how its results of ROW differ from each other: how many there are, in how many elements,
    and by how much at most, as a share of the sum of magnitudes, and of the sum (None: that is 0)"""
    results = {read(folder, f"{name}.{number}") for name in ALGORITHMS for number in range(orders)}
    columns = zip(*(fields(row.type, result)[1] for result in results))
    exact = zip(*(fields(row.type, read(folder, f"rank{rank}"))[1] for rank in range(row.members)))
    worst, of_result, elements = 0.0, 0.0, 0
    for column, given in zip(columns, exact):
        elements += len(set(column)) > 1
        if None in column or None in given or len(set(column)) == 1:
            continue
        apart = max(column) - min(column)
        worst = max(worst, apart / sum(abs(number) for number in given))
        of_result = max(of_result, apart / abs(sum(given)) if sum(given) else math.inf)
    return {"openmpi_runs": len(ALGORITHMS) * orders, "openmpi_distinct_results": len(results),
            "openmpi_elements_differ": elements,
            "openmpi_worst_difference": worst,
            "openmpi_worst_difference_of_result": of_result if math.isfinite(of_result) else None}
