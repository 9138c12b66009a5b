#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A rank that trains on the handwritten digits by DistributedDataParallel: digits.py FILE. It knows
nothing of Canary. Rank 0 prints the loss of each epoch, a digest of all weights, the accuracy, and
whether all ranks have the same bits."""
import gzip
import hashlib
import sys

import torch
import torch.distributed as dist

EPOCHS, BATCH = 4, 32
# So small that the gradients of this model are in three buckets
BUCKET_MB = 0.02


def read(path):
    """Return: pixels of 0 to 1, and digits"""
    with gzip.open(path, "rt") as file:
        rows = torch.tensor([[float(x) for x in line.split(",")] for line in file])
    return rows[:, :-1] / 16, rows[:, -1].long()


def digests(model):
    """Return: a digest of the weights of each rank"""
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, digest.hexdigest())
    return found


def main():
    """Train, and compare."""
    torch.manual_seed(5)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
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
        if rank == 0:
            print(f"loss {loss.item():.6f}")
    with torch.no_grad():
        right = (model(pixels[test]).argmax(1) == digits[test]).float().mean().item()
    found = digests(model)
    if rank == 0:
        print(f"digest {found[0]}\naccuracy {right:.3f}\nranks {len(set(found))}", flush=True)
    # In 1.13 a Gloo group may hang whose last reference is the model's.
    del model
    dist.destroy_process_group()


main()
