#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A rank that tries each operator on each type, and each way to call it. What has to come out is
computed from all inputs by Python's integers and fractions, and by torch on this machine."""
import fractions
import functools
import operator
import os

import torch
import torch.distributed as dist

import canary_torch     # noqa: F401  pylint: disable=unused-import
from checks import calls, differ, gather, verdict

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
COMPLEX = (torch.complex64, torch.complex128)
OPS = {name: getattr(dist.ReduceOp, name) for name in
       ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")}
BITWISE = {"BAND": operator.and_, "BOR": operator.or_, "BXOR": operator.xor}
SHORT, LONG = 200, 5000     # sums of up to 256 floating-point numbers are exact


def supported(op, dtype):
    """What the network can do, by the documents"""
    if dtype in COMPLEX:
        return op in ("SUM", "AVG", "PRODUCT")
    if dtype in FLOATS:
        return op not in BITWISE
    return dtype in INTEGERS or op != "AVG"


def values(dtype, count, seed):
    """Some numbers of that type"""
    rng = torch.Generator().manual_seed(seed * 1000 + dist.get_rank())
    if dtype == torch.bool:
        return torch.randint(0, 2, (count,), generator=rng).bool()
    if dtype in INTEGERS:
        info = torch.iinfo(dtype)
        return torch.randint(info.min, info.max, (count,), generator=rng).to(dtype)
    if dtype in COMPLEX:
        real = torch.float32 if dtype == torch.complex64 else torch.float64
        return torch.view_as_complex(torch.randn(count, 2, generator=rng, dtype=real))
    return torch.randn(count, generator=rng, dtype=torch.float64).to(dtype)


def wrapped(number, dtype):
    """The integer that the type makes of it"""
    info = torch.iinfo(dtype)
    return (number - info.min) % (info.max - info.min + 1) + info.min


def of_integers(op, column, dtype):
    """What becomes of a list of Python's integers"""
    if op == "SUM":
        return wrapped(sum(column), dtype)
    if op == "PRODUCT":
        return wrapped(functools.reduce(operator.mul, column), dtype)
    if op == "AVG":
        total = sum(column)
        return abs(total) // len(column) * (1 if total >= 0 else -1)
    if op in BITWISE:
        return functools.reduce(BITWISE[op], column)
    return min(column) if op == "MIN" else max(column)


def of_truths(op, column):
    """What becomes of a list of truth values: as True + True is True, and True * False False"""
    if op in ("SUM", "MAX", "BOR"):
        return any(column)
    return sum(column) % 2 == 1 if op == "BXOR" else all(column)


def of_floats(op, column):
    """The exact number; for products, that of doubles"""
    if op in ("SUM", "AVG"):
        total = sum(map(fractions.Fraction, column))
        # Sums of four of these numbers fit a double, so this rounds but once.
        return float(total / len(column) if op == "AVG" else total)
    if op == "PRODUCT":
        return functools.reduce(operator.mul, column)
    return min(column) if op == "MIN" else max(column)


def expected(op, inputs):
    """What has to come out of these inputs"""
    dtype = inputs[0].dtype
    if dtype in COMPLEX and op != "PRODUCT":
        real = expected(op, [torch.view_as_real(t).reshape(-1) for t in inputs])
        return torch.view_as_complex(real.view(-1, 2))
    columns = zip(*[t.tolist() for t in inputs])
    if dtype == torch.bool:
        return torch.tensor([of_truths(op, column) for column in columns])
    if dtype in INTEGERS:
        return torch.tensor([of_integers(op, column, dtype) for column in columns], dtype=dtype)
    if dtype in COMPLEX:
        numbers = [functools.reduce(operator.mul, column) for column in columns]
        return torch.tensor(numbers, dtype=torch.complex128).to(dtype)
    numbers = [of_floats(op, column) for column in columns]
    return torch.tensor(numbers, dtype=torch.float64).to(dtype)


def judge(op, got, inputs):
    """Return: what is wrong with a result, or an empty string"""
    right = expected(op, inputs)
    dtype = right.dtype
    if dtype not in FLOATS + COMPLEX or op in ("MIN", "MAX"):
        return differ(got, right)
    if op != "PRODUCT" and got.numel() <= SHORT and not dtype.is_complex:
        return differ(got, right)
    # docs/floating-point.md: an element of a long sum may be off by some units of its group.
    bound = {torch.float16: 2 ** -9, torch.bfloat16: 2 ** -6, torch.float32: 2 ** -21,
             torch.complex64: 2 ** -21}.get(dtype, 2 ** -50)
    most = max(float(t.abs().max()) for t in inputs)
    scale = right.abs() if op == "PRODUCT" else torch.full(right.shape, most * len(inputs))
    wide = torch.complex128 if dtype.is_complex else torch.float64
    off = (got.to(wide) - right.to(wide)).abs()
    tiny = 2.0 ** -24 if dtype == torch.float16 else 0
    bad = off > scale.to(torch.float64) * bound + tiny
    return f"{int(bad.sum())} elements are off by up to {off.max():.3g}" if bad.any() else ""


def reduce_by_group(tensor, op):
    """As dist.all_reduce(), which makes two numbers of a complex one and refuses their products"""
    group = dist.distributed_c10d._get_default_group()      # pylint: disable=protected-access
    options = dist.AllreduceOptions()
    options.reduceOp = op
    group.allreduce([tensor], options).wait()


def each_kind():
    """Each operator on each type"""
    for dtype in (torch.bool,) + INTEGERS + FLOATS + COMPLEX:
        for op, reduce_op in OPS.items():
            name = f"{op} of {str(dtype).rsplit('.', maxsplit=1)[-1]}"
            before = calls("all_reduce", "canary"), calls("all_reduce", "gloo")
            if not supported(op, dtype):
                try:
                    reduce_by_group(values(dtype, SHORT, 1), reduce_op)
                    wrong = "no error"
                except RuntimeError:
                    wrong = ""
                after = calls("all_reduce", "canary"), calls("all_reduce", "gloo")
                if after != (before[0], before[1] + 1):
                    wrong = wrong or f"counted {after} after {before}"
                verdict(f"{name}: Canary has none, and Gloo's error comes", wrong)
                continue
            wrong = ""
            for count in (SHORT, LONG):
                own = values(dtype, count, len(op))
                result = own.clone()
                reduce_by_group(result, reduce_op)
                wrong = wrong or judge(op, result, gather(own))
                results = gather(result)
                if not wrong and any(differ(other, result) for other in results):
                    wrong = "ranks have different results"
            if not wrong and calls("all_reduce", "canary") != before[0] + 2:
                wrong = "not through Canary"
            verdict(name, wrong)


def ways():
    """Each way to call it"""
    rank, size = dist.get_rank(), dist.get_world_size()
    total = size * (size + 1) // 2

    matrix = torch.arange(12.).view(3, 4).t() * (rank + 1)
    dist.all_reduce(matrix)
    verdict("a transposed tensor", differ(matrix, torch.arange(12.).view(3, 4).t() * total))

    memory = torch.full((10,), float(rank + 1))
    dist.all_reduce(memory[::2])
    right = torch.tensor([total, rank + 1] * 5, dtype=torch.float32)
    verdict("every second element, and the others stay", differ(memory, right))

    parts = [torch.full((n,), float(rank + n)) for n in (3, 0, 700)] + [torch.ones(2, 2).t()]
    dist.all_reduce_coalesced(parts)
    right = [torch.full((n,), float(size * n + total - size)) for n in (3, 0, 700)]
    right.append(torch.full((2, 2), float(size)))
    verdict("several tensors at once", next(filter(None, map(differ, parts, right)), ""))

    leaf = torch.ones(3, requires_grad=True)
    dist.all_reduce(leaf.data)
    leaf.grad = torch.ones(3)
    dist.all_reduce(leaf.grad)
    verdict("a gradient", differ(leaf.grad, torch.full((3,), float(size))))

    one = torch.tensor(rank + 1)
    dist.reduce(one, 1)
    verdict("reduce: rank 1 has the sum, and others what they had",
            differ(one, torch.tensor(total if rank == 1 else rank + 1)))

    works, tensors = [], []
    for i in range(100):
        tensors.append(torch.full((i * 7 % 300 + 1,), float(rank + i)))
        works.append(dist.all_reduce(tensors[-1], async_op=True))
    for work in reversed(works):
        work.wait()
    right = [torch.full_like(t, size * i + total - size) for i, t in enumerate(tensors)]
    verdict("100 under way, waited for backwards",
            next(filter(None, map(differ, tensors, right)), ""))

    tensor = torch.ones(3)
    doubled = dist.all_reduce(tensor, async_op=True).get_future().then(
        lambda future: future.value()[0] * 2)
    verdict("a future, and what is done with its value",
            differ(doubled.wait(), torch.full((3,), 2. * size)))

    tensor = torch.full((3_000_000,), float(rank + 1))
    dist.all_reduce(tensor)
    verdict("12 MB", differ(tensor, torch.full((3_000_000,), float(total))))

    empty = torch.empty(0)
    dist.all_reduce(empty)
    before = calls("barrier", "canary")
    dist.barrier()
    verdict("a barrier", "" if calls("barrier", "canary") == before + 1 else "not through Canary")


def forked():
    """A child, as a DataLoader has some"""
    child = os.fork()
    if not child:
        try:
            dist.all_reduce(torch.ones(3))
            os._exit(1)
        except RuntimeError as error:
            dist.destroy_process_group()
            os._exit(0 if "forked" in str(error) else 2)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    wrong = differ(tensor, torch.full((3,), float(dist.get_world_size())))
    verdict("a forked process gets an error, and its parent goes on",
            wrong or ("" if not status else f"exit status {status}"))


def others():
    """What Gloo does"""
    rank, size = dist.get_rank(), dist.get_world_size()
    before = calls("all_reduce", "gloo")
    indices = torch.tensor([[0, rank + 1]])
    sparse = torch.sparse_coo_tensor(indices, torch.ones(2), (size + 1,))
    try:
        dist.all_reduce(sparse)
        right = torch.tensor([float(size)] + [1.] * size)
        wrong = differ(sparse.to_dense(), right)
        wrong = wrong or ("" if calls("all_reduce", "gloo") == before + 1 else "not counted")
    except (RuntimeError, NotImplementedError) as error:
        # PyTorch itself has no way from sparse tensors to a group.
        wrong = "" if "c10d::allreduce_" in str(error) else str(error)
    verdict("a sparse tensor: as with Gloo", wrong)

    tensor = torch.full((3,), float(rank))
    dist.broadcast(tensor, 2)
    verdict("broadcast", differ(tensor, torch.full((3,), 2.)))

    tensors = [torch.empty(2) for _ in range(size)]
    dist.all_gather(tensors, torch.full((2,), float(rank)))
    verdict("all_gather", differ(torch.stack(tensors)[:, 0], torch.arange(float(size))))

    gathered = [torch.empty(1) for _ in range(size)] if rank == 0 else None
    dist.gather(torch.tensor([float(rank)]), gathered, dst=0)
    verdict("gather", differ(torch.cat(gathered), torch.arange(float(size))) if rank == 0 else "")

    scattered = torch.empty(1)
    dist.scatter(scattered, list(torch.arange(float(size)).split(1)) if rank == 3 else None, src=3)
    verdict("scatter", differ(scattered, torch.tensor([float(rank)])))

    tensor = torch.empty(size)
    dist.all_to_all_single(tensor, torch.full((size,), float(rank)))
    verdict("all_to_all", differ(tensor, torch.arange(float(size))))

    tensor = torch.empty(1)
    sent = dist.isend(torch.tensor([float(rank)]), (rank + 1) % size)
    dist.recv(tensor, (rank - 1) % size)
    sent.wait()
    verdict("send and recv", differ(tensor, torch.tensor([float((rank - 1) % size)])))


def groups():
    """Sub-groups that overlap, with operations under way in all of them"""
    rank = dist.get_rank()
    members = ([0, 2], [1, 3], [3, 1, 0], [2])
    made = [(ranks, dist.new_group(ranks)) for ranks in members]
    works = []
    for ranks, group in made:
        if rank in ranks:
            tensor = torch.full((1000,), float(rank + 1))
            works.append((ranks, tensor, dist.all_reduce(tensor, group=group, async_op=True)))
    wrong = ""
    for ranks, tensor, work in works:
        work.wait()
        wrong = wrong or differ(tensor, torch.full((1000,), float(sum(ranks) + len(ranks))))
    verdict("sub-groups that overlap", wrong)
    wrong = next((group.why for ranks, group in made if rank in ranks and group.why), "")
    verdict("all of them go through Canary", wrong)


def main():
    """All of it"""
    dist.init_process_group("canary")
    each_kind()
    ways()
    forked()
    others()
    groups()
    dist.destroy_process_group()


main()
