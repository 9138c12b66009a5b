#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints the compiler's flags for the headers of the PyTorch that this Python has, as a file that
g++ reads by @FILE."""
import os
import shlex
import sysconfig

import torch

include = os.path.join(os.path.dirname(torch.__file__), "include")
flags = [f"-isystem{place}" for place in (
    include, os.path.join(include, "torch/csrc/api/include"), sysconfig.get_path("include"))]
flags.append(f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}")
# Modules see each other's classes only if these are alike. PyTorch 2.9 has no such values.
for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI"):
    value = getattr(torch._C, "_PYBIND11_" + name, None)
    if value is not None:
        flags.append(f'-DPYBIND11_{name}="{value}"')
print(*map(shlex.quote, flags), sep="\n")
