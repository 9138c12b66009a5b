# SPDX-License-Identifier: BSD-2-Clause
"""What a process imports that multiprocessing starts anew, under `python3 -m canary_torch SCRIPT`:
the script, after its groups are those of Canary."""
import os

import canary_torch.as_gloo     # noqa: F401  pylint: disable=unused-import

__file__ = os.environ["CANARY_TORCH_SCRIPT"]
with open(__file__, "rb") as _script:
    exec(compile(_script.read(), __file__, "exec"), globals())
