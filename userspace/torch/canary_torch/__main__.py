# SPDX-License-Identifier: BSD-2-Clause
"""Runs a script whose process groups are those of Canary where it says "gloo".

    python3 -m canary_torch SCRIPT [ARGUMENT...]
    python3 -m canary_torch -m MODULE [ARGUMENT...]
"""
import os
import runpy
import sys
from importlib.machinery import ModuleSpec


def main():
    """Run the script as Python itself would."""
    module = sys.argv[1:2] == ["-m"]
    arguments = sys.argv[2 if module else 1:]
    usage = __doc__.split("\n", 1)[1].strip("\n")
    if arguments[:1] in (["-h"], ["--help"]) and not module:
        print(usage)
        return
    if not arguments or arguments[0].startswith("-"):
        print(usage, file=sys.stderr)
        sys.exit(2)
    from . import as_gloo   # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
    sys.argv = arguments
    if module:
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        return
    path = arguments[0]
    try:
        with open(path, "rb") as script:
            source = script.read()
    except OSError as error:
        print(f"canary_torch: {path}: {error.strerror}", file=sys.stderr)
        sys.exit(2)
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    # Processes that multiprocessing starts anew import the main module. They need this, too.
    os.environ["CANARY_TORCH_SCRIPT"] = os.path.abspath(path)
    names = {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__,
             "__spec__": ModuleSpec("canary_torch.child", None)}
    code = compile(source, path, "exec")
    # Objects that a script pickles name its module. So the script has to be this module.
    main_names = sys.modules["__main__"].__dict__
    main_names.clear()
    main_names.update(names)
    exec(code, main_names)


main()
