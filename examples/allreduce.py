#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A sum over all ranks by libcanary, from Python: allreduce.py RANK MEMBERS ADDRESS-OF-RANK-0

The environment variable LIBCANARY names the library, libcanary.so by default."""
import ctypes
import os
import sys

FLOAT32, SUM = 11, 1  # CANARY_FLOAT32, CANARY_OP_SUM of linux/canary_wire.h
lib = ctypes.CDLL(os.environ.get("LIBCANARY", "libcanary.so"))
lib.canary_errmsg.restype = ctypes.c_char_p


def check(status):
    """End with the library's sentence if a call failed."""
    if status:
        sys.exit(lib.canary_errmsg().decode())


if len(sys.argv) != 4:
    sys.exit(__doc__)
params = ctypes.create_string_buffer(4096)  # struct canary_params, and room for later ones
comm = ctypes.c_void_p()
vector = (ctypes.c_float * 4)(0.1, 10, 100, 1000)

lib.canary_params_init_size(params, ctypes.c_size_t(len(params)))
for name, value in zip(("comm", "rank", "members", "root"), ("3", *sys.argv[1:])):
    check(lib.canary_params_set(params, name.encode(), value.encode()))
check(lib.canary_open(params, ctypes.byref(comm)))
check(lib.canary_connect(comm, 30000))  # waits for all ranks, 30 s at most
check(lib.canary_allreduce(comm, vector, vector, ctypes.c_size_t(len(vector)), FLOAT32, SUM))
print(*(f"{number:g}" for number in vector))
lib.canary_close(comm)
