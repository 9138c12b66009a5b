#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A rank that trains on the handwritten digits by DistributedDataParallel: digits.py FILE. Rank 0
prints a digest of all weights, the accuracy, and whether all ranks have the same bits."""
import gzip
import hashlib
import sys

import torch
import torch.distributed as dist

import canary_torch     # noqa: F401  pylint: disable=unused-import
from checks import as_bytes, gather

EPOCHS, BATCH = 4, 32
# So small that the gradients of this model are in three buckets
BUCKET_MB = 0.02


def read(path):
    """Return: pixels of 0 to 1, and digits"""
    with gzip.open(path, "rt") as file:
        rows = torch.tensor([[float(x) for x in line.split(",")] for line in file])
    return rows[:, :-1] / 16, rows[:, -1].long()


def main():
    """Train, and compare."""
    torch.manual_seed(5)
    torch.set_num_threads(1)
    dist.init_process_group("canary")
    rank, size = dist.get_rank(), dist.get_world_size()
    pixels, digits = read(sys.argv[1])
    test = torch.arange(len(digits)) % 5 == 4
    own_pixels, own_digits = pixels[~test][rank::size], digits[~test][rank::size]
    steps = (int((~test).sum()) // size) // BATCH
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.ReLU(), torch.nn.Linear(96, 64),
                            torch.nn.ReLU(), torch.nn.Linear(64, 10)),
        bucket_cap_mb=BUCKET_MB)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    for _ in range(EPOCHS):
        for step in range(steps):
            at = slice(step * BATCH, (step + 1) * BATCH)
            loss = torch.nn.functional.cross_entropy(model(own_pixels[at]), own_digits[at])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(bytes(as_bytes(parameter).tolist()))
    with torch.no_grad():
        right = (model(pixels[test]).argmax(1) == digits[test]).float().mean().item()
    digests = gather(digest.hexdigest())
    if rank == 0:
        print(f"digest {digests[0]}\naccuracy {right:.3f}\nranks {len(set(digests))}", flush=True)
    dist.destroy_process_group()


main()
