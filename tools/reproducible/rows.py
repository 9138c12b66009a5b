# SPDX-License-Identifier: BSD-2-Clause
"""What is summed: one row for each type, set of numbers and length. canary-sim writes the vectors
and what has to come out, for all engines alike."""
import os
import subprocess
from dataclasses import dataclass

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIM = os.path.join(TOP, "build/bin/canary-sim")
SHAPES = os.path.join(TOP, "topology/shapes")

MEMBERS = 8
SIZES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
SETS = ("gauss", "heavy", "embeddings", "outliers", "adversarial", "full", "cancel", "special")
# Lengths in elements, by the method that adds up vectors of that length. All are odd, so that
# groups and packets end with a part.
LENGTHS = {"exact": 151, "each": 1003, "groups": 5003}


@dataclass(frozen=True)
class Row:
    """Sums of COUNT elements of a TYPE, from a set of VALUES"""

    type: str
    values: str
    count: int
    members: int = MEMBERS
    how: str = ""

    @property
    def keys(self):
        """Words of a scenario of canary-sim"""
        words = [f"type={self.type}", "op=sum", f"values={self.values}",
                 f"bytes={self.count * SIZES[self.type]}", f"members={self.members}"]
        return words + ([f"how={self.how}"] if self.how else [])

    def __str__(self):
        return f"{self.type}, {self.values}, {self.count} elements"


def rows(sets=SETS, short=("full", "cancel", "special"), types=tuple(SIZES)):
    """All SETS with vectors of full length; the sets SHORT with the lengths of other methods, too"""
    found = []
    for dtype in types:
        found += [Row(dtype, values, LENGTHS["groups"]) for values in sets]
        found += [Row(dtype, values, LENGTHS[method])
                  for method in ("each", "exact") for values in short]
    return found


def write_vectors(row, folder):
    """Write what each rank gives (rank0, ...) and what has to come out (result) to FOLDER."""
    os.makedirs(folder, exist_ok=True)
    topology = os.path.join(SHAPES, "paper_64.topo")
    subprocess.run([SIM, f"topology={topology}", *row.keys, "--vectors", folder], check=True)


def read(folder, name):
    """The bytes of a file that write_vectors() wrote"""
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def digest(data):
    """The digest that canary-sim prints of a result (FNV-1a)"""
    number = 0xcbf29ce484222325
    for byte in data:
        number = (number ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return f"{number:016x}"
