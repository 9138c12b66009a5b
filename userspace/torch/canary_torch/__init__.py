# SPDX-License-Identifier: BSD-2-Clause
"""Sums of PyTorch inside the network: importing this adds the backend "canary" to
torch.distributed.

    import canary_torch
    torch.distributed.init_process_group("canary")

A script that says "gloo" needs no change: python3 -m canary_torch SCRIPT ARGUMENTS.

Variables of the environment. What all ranks need alike is taken from rank 0 where it says so.

CANARY_ENABLE       0, or no: all goes to Gloo
CANARY_TABLE        1: rank 0 prints at exit which calls went which way; 2: each rank does
CANARY_BIND         own address; default: that of the route to MASTER_ADDR
CANARY_INTERFACES   names of interfaces, or prefixes, separated by commas: the first one that fits
                    has the own address
CANARY_COMM         number of the communicator, or a range FIRST-LAST to draw it from (rank 0);
                    default: 1-99
CANARY_KEY_FILE     file with a pre-shared key, at all ranks
CANARY_ENGINE       auto, kernel or user
CANARY_MTU          largest packet in bytes; the least one of all ranks is used
CANARY_ALGORITHM    auto, tree, tree:RUN, ring (rank 0)
CANARY_WINDOW       most blocks in flight (rank 0)
CANARY_FLOATS       exact, elementwise, narrow: how floating-point numbers are added up (rank 0)
CANARY_AGGREGATES   prefix of the addresses that switches have; default: any
CANARY_DEAD_AFTER   ms of silence after which a rank is dead; default: 5000
CANARY_LINGER       ms that a rank that ends waits for others that lack results, 60000 at most
CANARY_RTO_MIN      least us before a result is asked for; default: 5000
CANARY_TRIAL        ms that a new group waits for its first packets (rank 0); default: 30000
"""
import os
import sys
import weakref
from multiprocessing import util

import torch.distributed as dist

from . import _C

__all__ = ["create", "report"]

_Gloo = dist.ProcessGroupGloo   # as_gloo puts something else in its place
_groups = weakref.WeakSet()     # those of this process, to close them at exit
_first = {}                     # of the first group: rank, and process


def _say(text):
    print(f"canary: {text}", file=sys.stderr, flush=True)


def _speaks(store, rank):
    """Does this rank say why Canary is not used? Rank 0 does, or another one if it has no Canary."""
    return not rank or (not store.add("canary/first", 0) and store.add("canary/told", 1) == 1)


def _setting(value, default):
    """The value of a setting. The first group says why it is wrong, if it is."""
    try:
        return value()
    except RuntimeError:
        return default


def create(store, rank, size, timeout, global_rank):
    """Make a process group. @store: of this group alone. @global_rank: own rank among all
    processes, for messages."""
    if not rank:
        store.add("canary/first", 1)
    announced = _C.announce(store, rank, size, global_rank)
    # The same Store as a Gloo group has: so this rank also meets ranks that have no Canary.
    gloo = _Gloo(store, rank, size, timeout=timeout)
    group = _C.new_group(announced, gloo, timeout)
    if group.why and not _first and _setting(_C.enabled, True) and _speaks(store, rank):
        _say(f"not used, Gloo does everything: {group.why}")
    if _first.get("pid") != os.getpid():
        # At exit, also of a process that multiprocessing has forked
        util.Finalize(None, _end, exitpriority=0)
        _first.update(pid=os.getpid(), rank=global_rank)
    _groups.add(group)
    return group


def _create(options, _):
    """What torch.distributed calls for a new group of the backend "canary" """
    ranks = list(options.global_ranks_in_group)
    rank = options.group_rank
    group = create(options.store, rank, options.group_size, options.timeout,
                   ranks[rank] if ranks else rank)
    # It waits for that of rank 0. torch.distributed does it by itself for "gloo", once all are there.
    group._set_sequence_number_for_group()
    return group


def report():
    """Which calls of this process went which way: a list of (call, "canary" or "gloo", why not
    through Canary, calls, bytes)."""
    return _C.report()


def _print_report():
    wanted = _setting(_C.table, 0)
    rank = _first["rank"]
    if wanted < 1 or (wanted == 1 and rank):
        return
    lines = [("call", "by", "calls", "bytes", "why not through Canary")]
    lines += [(call, way, str(calls), str(size), why) for call, way, why, calls, size in report()]
    width = [max(len(line[i]) for line in lines) for i in range(4)]
    for call, way, calls, size, why in lines:
        _say(f"rank {rank}: {call:<{width[0]}}  {way:<{width[1]}}  {calls:>{width[2]}}"
             f"  {size:>{width[3]}}  {why}".rstrip())


def _end():
    """Others may lack results of this rank, or wait for it in vain."""
    for group in list(_groups):
        group.close()
    _print_report()


dist.Backend.register_backend("canary", _create, extended_api=True)
