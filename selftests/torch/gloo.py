#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A script that knows nothing of Canary: ranks sum up by Gloo. "spawn": it starts them itself."""
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

RANKS = 4


def work(rank, size):
    """A rank"""
    dist.init_process_group("gloo", rank=rank, world_size=size)
    assert dist.get_backend() == "gloo"
    tensor = torch.full((5,), rank + 1.)
    dist.all_reduce(tensor)
    dist.monitored_barrier()
    found = [None] * size
    dist.all_gather_object(found, tensor.tolist())
    assert found == [tensor.tolist()] * size
    # In one piece, since ranks may share a pipe. print() may write the end of the line by itself.
    sys.stdout.write(f"sum {tensor[0].item()}\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    if sys.argv[1:] == ["spawn"]:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29502", GLOO_SOCKET_IFNAME="lo")
        mp.spawn(work, args=(RANKS,), nprocs=RANKS)
    else:
        work(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
