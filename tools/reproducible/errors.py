# SPDX-License-Identifier: BSD-2-Clause
"""Errors of sums, in exact arithmetic. Numbers are integers of Python, in units of the least number
of their type. docs/floating-point.md has the bound."""
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy

from rows import read


@dataclass(frozen=True)
class Format:
    """A type of floating-point numbers"""

    bytes: int
    fraction: int
    exponents: int      # values of the exponent field

    @property
    def bias(self):
        return self.exponents // 2 - 1

    @property
    def least(self):
        """The exponent of the least number"""
        return 1 - self.bias - self.fraction


FORMATS = {"float16": Format(2, 10, 32), "bfloat16": Format(2, 7, 256),
           "float32": Format(4, 23, 256), "float64": Format(8, 52, 2048)}


def fields(dtype, data):
    """Return: (exponent fields, numbers in units of the least one; None: not finite)"""
    form = FORMATS[dtype]
    bits = numpy.frombuffer(data, dtype=f"<u{form.bytes}").astype(numpy.uint64)
    field = (bits >> numpy.uint64(form.fraction)) & numpy.uint64(form.exponents - 1)
    rest = bits & numpy.uint64((1 << form.fraction) - 1)
    sign = bits >> numpy.uint64(8 * form.bytes - 1)
    numbers = []
    for exponent, low, negative in zip(field.tolist(), rest.tolist(), sign.tolist()):
        if exponent == form.exponents - 1:
            numbers.append(None)
            continue
        value = (low | 1 << form.fraction) << (exponent - 1) if exponent else low
        numbers.append(-value if negative else value)
    return field.tolist(), numbers


# By type: (members up to, bits of a lane, elements that share an exponent)
SHARED = {
    "float16": ((16, 21, 8), (65535, 32, 32)),
    "bfloat16": ((8, 16, 8), (64, 21, 16), (65535, 32, 32)),
    "float32": ((8, 32, 16), (16, 32, 8), (128, 32, 4), (65535, 64, 16)),
    "float64": ((64, 64, 16), (128, 64, 8), (65535, 64, 4)),
}


def cut(row):
    """Return: (bits of a lane, elements that share an exponent); (0, 0): sums are exact"""
    if row.count <= 256 or "exact" in row.how:
        return 0, 0
    lane, size = next((lane, size) for most, lane, size in SHARED[row.type] if row.members <= most)
    return lane, 1 if row.count <= 4096 or "elementwise" in row.how else size


def _units(row, vectors):
    """Return: the unit q of each element, as a shift of the least number; None: the sum is exact"""
    (lane, size), form = cut(row), FORMATS[row.type]
    if not size:
        return [None] * row.count
    scale = lane - 1 - (row.members - 1).bit_length()
    shifts = []
    for first in range(0, row.count, size):
        last = min(first + size, row.count)
        most = max((field for exponents, _ in vectors for field in exponents[first:last]
                    if field < form.exponents - 1), default=0)
        shift = max(max(most, 1) - form.bias + 1 - scale - form.least, 0)
        shifts += [shift] * (last - first)
    return shifts


def analyse(row, folder):
    """Return: the worst error over the bound, and the relative error of the whole vector (None: it
    has infinities or NaNs)"""
    form = FORMATS[row.type]
    vectors = [fields(row.type, read(folder, f"rank{rank}")) for rank in range(row.members)]
    exponents, results = fields(row.type, read(folder, "result"))
    worst, squares, total = Fraction(0), 0, 0
    finite = True
    for i, shift in enumerate(_units(row, vectors)):
        given = [numbers[i] for _, numbers in vectors]
        if None in given or results[i] is None:
            finite = False
            continue
        exact = sum(given)
        error = abs(results[i] - exact)
        bound = 1 << max(exponents[i] - 1, 0)           # ulp(r)
        if shift is not None and any(number & ((1 << shift) - 1) for number in given):
            bound += row.members << shift
        if 2 * error * worst.denominator > worst.numerator * bound:
            worst = Fraction(2 * error, bound)
        squares += error * error
        total += exact * exact
    return float(worst), _root(squares, total) if finite else None


def _root(squares, total):
    return math.sqrt(Fraction(squares, total)) if total else 0.0


# What others would have computed, to compare with

def _floats(row, folder):
    """The vectors as float32, exactly"""
    found = []
    for rank in range(row.members):
        data = read(folder, f"rank{rank}")
        if row.type == "bfloat16":
            bits = numpy.frombuffer(data, dtype="<u2").astype(numpy.uint32) << numpy.uint32(16)
            found.append(bits.view(numpy.float32))
        else:
            found.append(numpy.frombuffer(data, dtype="<f4"))
    return found


def _error(row, folder, got):
    """The relative error of the whole vector GOT, bytes"""
    vectors = [fields(row.type, read(folder, f"rank{rank}"))[1] for rank in range(row.members)]
    results = fields(row.type, got)[1]
    squares = total = 0
    for i in range(row.count):
        exact = sum(numbers[i] for numbers in vectors)
        squares += (results[i] - exact) ** 2
        total += exact * exact
    return _root(squares, total)


def ring_error(row, folder):
    """The error of a ring of float32: each part of the vector is added up from another rank on"""
    vectors, parts = _floats(row, folder), []
    for part in range(row.members):
        those = slice(part * row.count // row.members, (part + 1) * row.count // row.members)
        total = vectors[part][those].copy()
        for hop in range(1, row.members):
            total += vectors[(part + hop) % row.members][those]
        parts.append(total)
    return _error(row, folder, numpy.concatenate(parts).tobytes())


def rounded_once_error(row, folder):
    """The error of bfloat16 that is added up in float32 and rounded once"""
    vectors = _floats(row, folder)
    total = vectors[0].copy()
    for vector in vectors[1:]:
        total += vector
    bits = total.view(numpy.uint32).astype(numpy.uint64)
    bits += 0x7fff + (bits >> numpy.uint64(16) & numpy.uint64(1))
    return _error(row, folder, (bits >> numpy.uint64(16)).astype("<u2").tobytes())
