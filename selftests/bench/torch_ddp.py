#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A rank that measures what the gradients of DistributedDataParallel cost: torch_ddp.py BACKEND
BYTES STEPS. Rank 0 prints JSON: median seconds of backward() with and without communication, of the
slowest rank of each step."""
import json
import statistics
import sys
import time

import torch
import torch.distributed as dist

PARTS = 16      # parameters of the model


class Weights(torch.nn.Module):
    """Gradients that take next to no time to compute"""

    def __init__(self, count):
        super().__init__()
        self.parts = torch.nn.ParameterList(
            torch.nn.Parameter(torch.randn(count // PARTS)) for _ in range(PARTS))

    def forward(self, factor):
        """A number that depends on all weights"""
        return sum(part.sum() for part in self.parts) * factor


def backward_seconds(model):
    """Seconds of one backward(), which all ranks begin together"""
    loss = model(torch.tensor(dist.get_rank() + 1.))
    dist.barrier()
    begin = time.monotonic()
    loss.backward()
    return time.monotonic() - begin


def slowest(seconds):
    """Return: the median of the steps, with the slowest rank of each"""
    ranks = [None] * dist.get_world_size()
    dist.all_gather_object(ranks, seconds)
    return statistics.median(map(max, zip(*ranks)))


def main(backend, size, steps):
    """Measure, and print."""
    if backend == "canary":
        import canary_torch     # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
    torch.manual_seed(1)
    dist.init_process_group(backend)
    model = torch.nn.parallel.DistributedDataParallel(Weights(size // 4))
    for _ in range(2):      # the first step makes the buckets
        backward_seconds(model)
    with_sums = [backward_seconds(model) for _ in range(steps)]
    with model.no_sync():
        alone = [backward_seconds(model) for _ in range(steps)]
    result = {"backend": backend, "bytes": size,
              "with": slowest(with_sums), "alone": slowest(alone)}
    if dist.get_rank() == 0:
        print(json.dumps(result), flush=True)
    # In 1.13 a Gloo group may hang whose last reference is the model's.
    del model
    dist.destroy_process_group()


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
