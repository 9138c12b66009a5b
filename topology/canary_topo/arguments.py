# SPDX-License-Identifier: BSD-2-Clause
"""Arguments of the programs here. They are judged before anything begins: what is wrong is said in
one line that names the option, what it was given and what it takes."""
import argparse
import os
import subprocess

from .node import CANARY


class Parser(argparse.ArgumentParser):
    """Whose errors are one line; exit status 2."""

    def __init__(self, description, epilog=None):
        super().__init__(description=description, epilog=epilog,
                         formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message):
        self.exit(2, f"{self.prog}: {message.removeprefix('argument ')}\n")

    def parse_with_options(self, argv):
        """ARGV; what follows -- is in .options, for others to judge"""
        options = []
        if "--" in argv:
            cut = argv.index("--")
            argv, options = argv[:cut], argv[cut + 1:]
        args = self.parse_args(argv)
        args.options = options
        return args


def number(kind, low, high):
    """For add_argument(type=): of KIND, int or float, from LOW to HIGH"""
    what = "whole number" if kind is int else "number"

    def take(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not low <= value <= high:
            raise argparse.ArgumentTypeError(f"'{text}' is not a {what} from {low} to {high}")
        return value
    return take


def taken_by(judge):
    """For add_argument(type=): text that JUDGE takes without a ValueError or OSError"""
    def take(text):
        try:
            judge(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        except OSError as error:
            raise argparse.ArgumentTypeError(f"'{text}': {error.strerror}") from None
        return text
    return take


def writable(path):
    """OSError if no file can be written there; one that is there stays as it is."""
    there, directory = os.path.exists(path), os.path.dirname(path) or "."
    if not os.path.exists(directory):
        os.makedirs(directory)
    with open(path, "ab"):
        pass
    if not there:
        os.unlink(path)


def switch_option(name):
    """What raises a ValueError if `canary switch run` does not take it as --NAME: it is asked"""
    def judge(text):
        done = subprocess.run([CANARY, "switch", "run", f"--{name}={text}", "--help"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(done.stderr.strip().partition(f"--{name}: ")[2])
    return judge
