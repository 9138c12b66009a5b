# SPDX-License-Identifier: BSD-2-Clause
"""What the programs of ranks share: all ranks check, and rank 0 prints one line for what all of
them found, "ok NAME" or "not ok NAME: what each rank found". Verdicts and inputs go by
all_gather_object, which is Gloo's, so no check relies on what it checks."""
import torch
import torch.distributed as dist

import canary_torch


def gather(thing):
    """Return: [the thing of each rank]"""
    things = [None] * dist.get_world_size()
    dist.all_gather_object(things, thing)
    return things


def verdict(name, wrong=""):
    """@wrong: what is wrong at this rank, or an empty string"""
    found = gather(str(wrong)[:300])
    if dist.get_rank() == 0:
        bad = [f"rank {rank}: {text}" for rank, text in enumerate(found) if text]
        print(f"not ok {name}: {'; '.join(bad)}" if bad else f"ok {name}", flush=True)


def calls(call, way):
    """Return: how many calls of that name went that way so far, "canary" or "gloo" """
    return sum(line[3] for line in canary_torch.report() if line[:2] == (call, way))


def as_bytes(tensor):
    """The memory of a tensor"""
    flat = tensor.detach().contiguous().view(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    return flat.view(torch.uint8) if flat.numel() else torch.empty(0, dtype=torch.uint8)


def differ(got, expected):
    """Return: what differs between two tensors, or an empty string if they have the same bits"""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"{got.dtype} {tuple(got.shape)}, not {expected.dtype} {tuple(expected.shape)}"
    if torch.equal(as_bytes(got), as_bytes(expected)):
        return ""
    got, expected = got.reshape(-1), expected.reshape(-1)
    at = int((got != expected).nonzero()[0]) if (got != expected).any() else 0
    return f"element {at} is {got[at].item()!r}, not {expected[at].item()!r}"
