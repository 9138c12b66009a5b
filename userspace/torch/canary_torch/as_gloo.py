# SPDX-License-Identifier: BSD-2-Clause
"""Importing this makes each new group of the backend "gloo" one of Canary. Scripts see no other
difference: the backend's name stays "gloo"."""
import torch.distributed as dist
from torch.distributed import distributed_c10d

from . import _C, _Gloo, create


class _Meta(type):
    """What torch.distributed does with the class of Gloo groups: calls it, and looks at it."""

    def __call__(cls, store, rank, size, timeout=dist.default_pg_timeout):
        global_rank = dist.get_rank() if dist.is_initialized() else rank
        return create(store, rank, size, timeout, global_rank)

    def __instancecheck__(cls, group):
        return isinstance(group, (_Gloo, _C.ProcessGroupCanary))

    def __getattr__(cls, name):
        return getattr(_Gloo, name)


class ProcessGroupGloo(metaclass=_Meta):
    """Takes the place of the class of Gloo groups."""


for module in (dist, distributed_c10d):
    module.ProcessGroupGloo = ProcessGroupGloo
