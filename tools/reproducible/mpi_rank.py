#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The program of each rank of Open MPI. It sums the vectors of all FOLDERs with MPI_Allreduce, in
several orders of ranks: mpi_rank.py NAME ORDERS TYPE:FOLDER... . Rank 0 writes all results to
FOLDER/NAME.ORDER. NAME is that of the algorithm, which mpirun was told."""
import os
import random
import sys

import numpy
from mpi4py import MPI


def order(number, size):
    """The rank that has the data of each member. The first order is that of the members."""
    ranks = list(range(size))
    if number:
        random.Random(number).shuffle(ranks)
    return ranks


def main():
    name, orders = sys.argv[1], int(sys.argv[2])
    comm = MPI.COMM_WORLD
    for word in sys.argv[3:]:
        dtype, folder = word.split(":", 1)
        for number in range(orders):
            member = order(number, comm.size)[comm.rank]
            vector = numpy.fromfile(os.path.join(folder, f"rank{member}"), dtype=dtype)
            total = numpy.empty_like(vector)
            comm.Allreduce(vector, total)
            if comm.rank == 0:
                total.tofile(os.path.join(folder, f"{name}.{number}"))


if __name__ == "__main__":
    main()
