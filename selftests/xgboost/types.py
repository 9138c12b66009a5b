#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A worker that calls rabit's allreduce with all types and operators that it has, and looks at the
results. Half of the data are filled in by a function that rabit calls when it needs them. It prints how
many calls there were."""
import ctypes
import sys

import numpy
from xgboost import collective
from xgboost.core import _LIB

COUNT = 1009
TYPES = [numpy.int8, numpy.uint8, numpy.int32, numpy.uint32, numpy.int64, numpy.uint64, numpy.float32,
         numpy.float64]         # as rabit numbers them
OPERATORS = [numpy.maximum, numpy.minimum, numpy.add, numpy.bitwise_or]
PREPARE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def contribution(rank, kind, seed):
    """What a worker gives. Sums are whole numbers that the type holds."""
    random = numpy.random.default_rng((rank, seed))
    low = 0 if numpy.issubdtype(kind, numpy.unsignedinteger) else -30
    return random.integers(low, 30, COUNT).astype(kind)


def right(rank, workers, number, operator, lazy):
    """Run one allreduce. Return: is the result what the operator makes of all contributions?"""
    kind = TYPES[number]
    seed = number * len(OPERATORS) + operator
    data = contribution(rank, kind, seed)
    calls = []

    def fill(_):
        calls.append(1)
        data[:] = contribution(rank, kind, seed)

    if lazy:
        data[:] = 0
    _LIB.RabitAllreduce(data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(COUNT), number, operator,
                        PREPARE(fill) if lazy else None, None)
    wanted = contribution(0, kind, seed)
    for other in range(1, workers):
        wanted = OPERATORS[operator](wanted, contribution(other, kind, seed))
    return numpy.array_equal(data, wanted) and len(calls) == lazy


def main():
    """All types and operators, but for bits of floating-point numbers."""
    wrong, calls = [], 0
    with collective.CommunicatorContext():
        rank, workers = collective.get_rank(), collective.get_world_size()
        for number, kind in enumerate(TYPES):
            for operator, function in enumerate(OPERATORS):
                if function is numpy.bitwise_or and numpy.issubdtype(kind, numpy.floating):
                    continue
                for lazy in (False, True):
                    calls += 1
                    if not right(rank, workers, number, operator, lazy):
                        wrong.append(f"{kind.__name__} {function.__name__} lazy={lazy}")
    print(calls, *wrong)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
