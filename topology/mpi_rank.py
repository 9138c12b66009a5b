#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The program of each rank of Open MPI. It sums SIZE bytes of int32 with MPI_Allreduce as often as
`canary perf allreduce` does: out of place and in place, each WARMUP times without and ITERATIONS
times with the clock, then once to check. Rank 0 prints the seconds of one operation."""
import json
import sys

import numpy
from mpi4py import MPI


def main():
    size, iterations, warmup = map(int, sys.argv[1:])
    comm = MPI.COMM_WORLD
    vector = numpy.arange(size // 4, dtype=numpy.int32) + comm.rank
    expected = numpy.arange(size // 4, dtype=numpy.int32) * comm.size + sum(range(comm.size))
    receive = numpy.empty_like(vector)
    seconds, wrong = 0, 0
    for send in (vector, MPI.IN_PLACE):
        # TCP has to find out what the paths carry.
        for _ in range(warmup):
            comm.Allreduce(send, receive)
        comm.Barrier()
        begin = MPI.Wtime()
        for _ in range(iterations):
            comm.Allreduce(send, receive)
        seconds += comm.allreduce(MPI.Wtime() - begin) / comm.size / iterations / 2
        receive[:] = vector
        comm.Allreduce(send, receive)
        wrong += comm.allreduce(int((receive != expected).sum()))
    if comm.rank == 0:
        print(json.dumps({"seconds": seconds, "wrong": wrong}))


if __name__ == "__main__":
    main()
