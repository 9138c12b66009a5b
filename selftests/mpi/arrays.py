#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A program of mpi4py: sums of arrays and of Python's objects, in place, by request, by part."""
import sys

import numpy
from mpi4py import MPI


def main():
    """Return: exit status"""
    comm = MPI.COMM_WORLD
    ranks = numpy.arange(comm.size)
    right = True
    for dtype in ("i4", "i8", "f4", "f8", "c16"):
        for count in (1, 3000, 100000):
            mine = (numpy.arange(count) % 1000 + comm.rank).astype(dtype)
            expected = (numpy.arange(count) % 1000 * comm.size + ranks.sum()).astype(dtype)
            result = numpy.empty_like(mine)
            comm.Allreduce(mine, result)
            right &= bool((result == expected).all())
            request = comm.Iallreduce(MPI.IN_PLACE, mine)
            request.Wait()
            right &= bool((mine == expected).all())
    part = comm.Split(comm.rank % 2, comm.rank)
    total = numpy.full(50000, comm.rank, "f8")
    part.Allreduce(MPI.IN_PLACE, total, MPI.MAX)
    right &= bool((total == max(r for r in ranks if r % 2 == comm.rank % 2)).all())
    right &= comm.allreduce({comm.rank}, lambda a, b: a | b) == set(ranks)
    comm.Barrier()
    wrong = comm.allreduce(int(not right))
    if comm.rank == 0:
        print("all right" if not wrong else f"wrong at {wrong} ranks")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
