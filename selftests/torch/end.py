#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A rank of a job that comes to a bad end: end.py WHAT. It prints "error: ..." for the exception
that it gets.
    killed      rank 2 is killed, while others are in an all_reduce
    left        rank 1 ends, while others are in an all_reduce
    other       rank 3 sums up another number of elements
    late        rank 0 calls nothing, and the others' operation times out
    subgroup    as killed, in a sub-group in which rank 2 is the second one
    elastic     rank 1 is killed in the first attempt of torchrun, and not in the second one
"""
import datetime
import os
import signal
import sys

import torch
import torch.distributed as dist

import canary_torch     # noqa: F401  pylint: disable=unused-import


def reduce_until_error(count, group=None):
    """all_reduce until there is an exception"""
    try:
        while True:
            dist.all_reduce(torch.ones(count), group=group)
    except RuntimeError as error:
        print(f"error: {error}", flush=True)
    try:
        dist.all_reduce(torch.ones(count), group=group)
        print("no error of the next call")
    except RuntimeError as error:
        print(f"again: {error}", flush=True)


def main(what):
    """Come to that end."""
    dist.init_process_group("canary", timeout=datetime.timedelta(seconds=500))
    rank = dist.get_rank()
    tensor = torch.full((3,), rank + 1.)
    dist.all_reduce(tensor)
    print(f"sum {tensor[0].item()}", flush=True)
    if what == "elastic":
        if rank == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            os.kill(os.getpid(), signal.SIGKILL)
        dist.all_reduce(tensor)
        print(f"end {tensor[0].item()}", flush=True)
    elif what == "late":
        group = dist.new_group(timeout=datetime.timedelta(seconds=20))
        if rank:
            reduce_until_error(10, group)
        dist.barrier()
    elif what == "subgroup":
        group = dist.new_group([0, 2, 3])
        if rank == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        if rank != 1:
            reduce_until_error(1000, group)
    elif what == "killed" and rank == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "left" and rank == 1:
        sys.exit(0)
    else:
        reduce_until_error(1001 if what == "other" and rank == 3 else 1000)


main(sys.argv[1])
