#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What each rank of the outside peer runs: SIZE bytes of int32, MPI_Allreduce as often
as `canary perf allreduce` does it: out of place and in place, each WARMUP times before, then
ITERATIONS times by the clock, then once to look at. Rank 0 prints the seconds that one took."""
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
        # TCP has to learn what the paths carry
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
