#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A rank that trains a small transformer to continue text, by DistributedDataParallel: text.py STEPS
FILE... It knows nothing of Canary. Rank 0 prints the loss of somebody who knows how often each
character is, the mean loss of all ranks at some steps, and how many different weights the ranks
have."""
import hashlib
import sys

import torch
import torch.distributed as dist

CHARACTERS, WIDTH, HEADS, LAYERS, CONTEXT, BATCH = 128, 64, 4, 2, 48, 8


class Transformer(torch.nn.Module):
    """Which character comes next?"""

    def __init__(self):
        super().__init__()
        self.characters = torch.nn.Embedding(CHARACTERS, WIDTH)
        self.places = torch.nn.Embedding(CONTEXT, WIDTH)
        layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0,
                                                 batch_first=True, norm_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, LAYERS)
        self.scores = torch.nn.Linear(WIDTH, CHARACTERS)
        self.register_buffer("ahead", torch.full((CONTEXT, CONTEXT), -torch.inf).triu(1))

    def forward(self, text):
        """Scores of all characters at each place"""
        mixed = self.layers(self.characters(text) + self.places(torch.arange(CONTEXT)),
                            mask=self.ahead)
        return self.scores(mixed)


def read(paths):
    """Return: numbers of characters"""
    text = b"".join(open(path, "rb").read() for path in sorted(paths))
    return torch.tensor([byte for byte in text if byte < CHARACTERS])


def guessing(text):
    """Return: the loss of somebody who knows how often each character is"""
    often = torch.bincount(text, minlength=CHARACTERS) / len(text)
    return -(often * often.clamp(min=1e-9).log()).sum().item()


def different(model):
    """Return: how many different weights ranks have"""
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, digest.hexdigest())
    return len(set(found))


def main():
    """Train, and say how it went."""
    steps, text = int(sys.argv[1]), read(sys.argv[2:])
    torch.manual_seed(3)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        print(f"guessing {guessing(text):.3f}")
    model = torch.nn.parallel.DistributedDataParallel(Transformer())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    random = torch.Generator().manual_seed(100 + rank)
    for step in range(1, steps + 1):
        at = torch.randint(len(text) - CONTEXT - 1, (BATCH,), generator=random)
        batch = torch.stack([text[i:i + CONTEXT + 1] for i in at])
        scores = model(batch[:, :-1])
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            total = loss.detach()
            dist.all_reduce(total)
            if rank == 0:
                print(f"step {step} loss {total.item() / size:.6f}", flush=True)
    weights = different(model)
    if rank == 0:
        print(f"weights {weights}", flush=True)
    # In 1.13 a Gloo group may hang whose last reference is the model's.
    del model
    dist.destroy_process_group()


main()
