#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Vectors for tests, and their sums over all ranks.

vector.py make RANK COUNT > FILE vector.py check MEMBERS COUNT FILE
"""
import array
import sys


def vector(rank, count):
    """COUNT pseudo-random int32, always the same ones for a rank"""
    x = (rank * 2654435761 + 12345) & 0xffffffff
    out = array.array("I")
    for _ in range(count):
        x = (x * 1664525 + 1013904223) & 0xffffffff
        out.append((x ^ x >> 13) & 0xffffffff)
    return out


def main():
    """Return: exit status"""
    what, number, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if what == "make":
        sys.stdout.buffer.write(vector(number, count).tobytes())
        return 0
    want = array.array("I", bytes(4 * count))
    for rank in range(number):
        for i, x in enumerate(vector(rank, count)):
            want[i] = (want[i] + x) & 0xffffffff
    with open(sys.argv[4], "rb") as file:
        got = file.read()
    if got == want.tobytes():
        return 0
    print(f"{sys.argv[4]}: {len(got)} bytes, not the sum of {number} ranks of {count} elements")
    return 1


sys.exit(main())
