# SPDX-License-Identifier: BSD-2-Clause
"""The part of Flare's figure 11 that is about types: elements that a switch adds in a second. It is
measured, not simulated: bench_switch runs the switch's program by BPF_PROG_RUN on one core of this
machine. Flare's values are of cores of a PsPIN unit, by a simulator that counts cycles."""
import csv
import json
import os
import subprocess

from figure import Figure
from runner import TOP

BENCH = "build/bin/bench_switch"
ROUNDS, FRAMES = 15, 20000
DATA = 1024         # bytes of data in the packets that are measured
VECTOR = 1 << 20    # bytes
LINK = 100e9        # bit/s
PAYLOAD, WIRE = 1408, 1538      # bytes of a packet of 1500 bytes: its data, its time on the link

# Name, bytes of an element, kind and bytes of its lane, then for floating-point numbers (up to 8
# members): kind and bytes of an exponent, and how many elements share it. docs/floating-point.md
TYPES = [
    ("int8", 1, "ADD8", 1, None, 0, 0),
    ("int16", 2, "ADD16", 2, None, 0, 0),
    ("int32", 4, "ADD32", 4, None, 0, 0),
    ("float32", 4, "ADD32", 4, "MAX8", 1, 16),
    ("bfloat16", 2, "ADD16", 2, "MAX8", 1, 8),
    ("float64", 8, "ADD64", 8, "MAX16", 2, 16),
]

# What the text of the paper says (sections 6 and 6.4)
CORE_FLOATS = 0.25  # 10^9 a second: four cycles for two float32 values, at 1 GHz
CORE_BYTES = 1.0    # ns a byte, "circa"
TWO_INT16 = 2.0     # "two int16 elements in a single cycle"


class Flare11(Figure):
    """Bars by type: a core of this machine, and what a link lets through"""

    name = "flare-11"
    title = "Flare's figure 11: types, a vector of 1 MiB, one core"

    def define(self):
        command = [BENCH, str(ROUNDS), str(FRAMES), "switch.kind"]
        try:
            done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True)
            self.ns = {row["name"].rsplit(".", 1)[1]: row["value"]
                       for row in json.loads(done.stdout)}
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            text = getattr(error, "stderr", None) or str(error)
            self.lacks = f"{' '.join(command)}: {' '.join(text.split())}"

    def bytes_of(self, row):
        """Bytes of data that an element takes"""
        _, _, _, lane, _, exponent, group = row
        return lane + (exponent / group if group else 0)

    def rate(self, row):
        """10^9 elements that a core adds in a second, of vectors of 1 MiB"""
        _, size, kind, lane, other, exponent, group = row
        elements = VECTOR / size
        time = elements * lane / DATA * self.ns[kind]
        if group:
            time += elements / group * exponent / DATA * self.ns[other]
        return elements / time

    def link(self, row):
        """10^9 elements of one host that a link carries in a second"""
        return LINK / 8 * PAYLOAD / WIRE / self.bytes_of(row) / 1e9

    def show(self, axes):
        places = range(len(TYPES))
        axes.bar([i - 0.2 for i in places], [self.rate(row) for row in TYPES], 0.38,
                 label="one core of this machine adds")
        axes.bar([i + 0.2 for i in places], [self.link(row) for row in TYPES], 0.38,
                 label="a link of 100 Gbit/s carries")
        axes.plot([2.6, 3.4], [CORE_FLOATS] * 2, color="k", label="a core of Flare (text)")
        axes.set_xticks(list(places))
        axes.set_xticklabels([row[0] for row in TYPES])
        axes.set_ylabel("Elements (10^9 a second)")
        axes.legend(fontsize="small")
        rates = {row[0]: self.rate(row) for row in TYPES}
        drawn = "the paper has it in its drawing only, not in the text"
        self.quote("float32: 10^9 elements that a core adds in a second", CORE_FLOATS,
                   rates["float32"], text="PsPIN core at 1 GHz; one x86 core")
        self.quote("float32: ns a byte of a packet", CORE_BYTES, 1 / rates["float32"] / 4,
                   CORE_BYTES / (1 / rates["float32"] / 4), "PsPIN core at 1 GHz; one x86 core")
        self.quote("int16 over int32, elements a second", TWO_INT16,
                   rates["int16"] / rates["int32"],
                   text="the paper: two int16 in a cycle, of the addition alone")
        self.quote("int8 over int32, elements a second", None, rates["int8"] / rates["int32"],
                   text=drawn)
        self.quote("float32 over int32, elements a second", None,
                   rates["float32"] / rates["int32"], text=drawn)
        self.quote("bfloat16 over float32, elements a second", None,
                   rates["bfloat16"] / rates["float32"], text="the paper has no bfloat16")
        self.quote("float64 over float32, elements a second", None,
                   rates["float64"] / rates["float32"], text="the paper: not supported")
        for row in TYPES:
            self.quote(f"{row[0]}: 10^9 elements a second, one core", None, rates[row[0]],
                       text=f"a link of 100 Gbit/s carries {self.link(row):.2f}")

    def write_csv(self, directory):
        path = os.path.join(directory, f"figure-{self.name}.csv")
        with open(path, "w", newline="", encoding="ascii") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["figure", "type", "kind", "ns_per_packet", "elements_per_packet",
                          "mpackets_per_s", "gelements_per_s", "link_gelements_per_s"])
            for row in TYPES:
                kind, lane = row[2], row[3]
                out.writerow([self.name, row[0], kind, self.ns[kind], DATA // lane,
                              round(1000 / self.ns[kind], 3), round(self.rate(row), 4),
                              round(self.link(row), 4)])


FIGURES = [Flare11]
