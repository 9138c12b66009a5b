#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What each rank of the outside peer runs: SIZE bytes of int32, ITERATIONS times
MPI_Allreduce. Rank 0 prints the seconds that one took."""
import json
import sys

import numpy
from mpi4py import MPI


def main():
    size, iterations = int(sys.argv[1]), int(sys.argv[2])
    comm = MPI.COMM_WORLD
    send = numpy.arange(size // 4, dtype=numpy.int32) + comm.rank
    receive = numpy.empty_like(send)
    expected = numpy.arange(size // 4, dtype=numpy.int32) * comm.size + sum(range(comm.size))
    # TCP has to learn what the paths carry
    comm.Allreduce(send, receive)
    comm.Barrier()
    begin = MPI.Wtime()
    for _ in range(iterations):
        comm.Allreduce(send, receive)
    seconds = comm.allreduce(MPI.Wtime() - begin) / comm.size / iterations
    wrong = comm.allreduce(int((receive != expected).sum()))
    if comm.rank == 0:
        print(json.dumps({"seconds": seconds, "wrong": wrong}))


if __name__ == "__main__":
    main()
