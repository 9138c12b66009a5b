# SPDX-License-Identifier: BSD-2-Clause
"""Arguments of the programs here. They are checked before a testbed is made or a file is written.
An error is one line, with the option, what it was given, and what it takes. Options for other
programs (behind --, --switch-option) are checked by those when they start. Whether a fault is
possible is only known when its testbed is up."""
import argparse
import errno
import os
import re
import stat

from . import system
from .node import CANARY


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, with exit status 2."""

    def __init__(self, description, epilog=None):
        super().__init__(description=description, epilog=epilog,
                         formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message):
        self.exit(2, f"{self.prog}: {message.removeprefix('argument ')}\n")

    def parse_with_options(self, argv):
        """Parse ARGV. What follows -- is stored in .options, for other programs."""
        options = []
        if "--" in argv:
            cut = argv.index("--")
            argv, options = argv[:cut], argv[cut + 1:]
        args = self.parse_args(argv)
        args.options = options
        return args


NUMBERS = {int: "[+-]?[0-9]+", float: r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?"}


def number_of(text, kind):
    """TEXT as KIND, which is int or float, or ValueError. Underscores, spaces and digits of other
    scripts are refused."""
    if not re.fullmatch(NUMBERS[kind], text, re.IGNORECASE):
        raise ValueError(f"'{text}' is not a number")
    return kind(text)


def number(kind, low, high):
    """For add_argument(type=): a number of KIND, which is int or float, from LOW to HIGH"""
    what = "whole number" if kind is int else "number"

    def take(text):
        try:
            value = number_of(text, kind)
        except ValueError:
            value = None
        if value is None or not low <= value <= high:
            raise argparse.ArgumentTypeError(f"'{text}' is not a {what} from {low} to {high}")
        return value
    return take


def taken_by(judge):
    """For add_argument(type=): text that JUDGE accepts without ValueError or OSError"""
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
    """Raise OSError if no file can be written there. Nothing is made. Only regular files are
    opened."""
    path = os.path.realpath(path)   # a dangling link: the file that it names
    if os.path.lexists(path):
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if stat.S_ISREG(mode):
            with open(path, "ab"):
                pass
        return
    _may_make_in(os.path.dirname(path))


def directory(path):
    """Raise OSError if no file can be made in PATH, and PATH cannot be made."""
    path = os.path.realpath(path)
    _may_make_in(path if os.path.lexists(path) else os.path.dirname(path))


def _may_make_in(path):
    if not os.path.isdir(path):
        os.stat(path)       # raises what is missing
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(path, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


def _option(words, name):
    """Return a function that raises ValueError if `canary WORDS` does not accept a text as --NAME.
    It runs the command."""
    def judge(text):
        try:
            done = system.run([CANARY, *words, f"--{name}={text}", "--help"],
                              capture_output=True, text=True)
        except OSError:
            raise ValueError(f"{CANARY} cannot be run (make)") from None
        if done.returncode:
            said = done.stderr.strip()
            raise ValueError(said.partition(f"{name}: ")[2] or said)
    return judge


def switch_option(name):
    """For taken_by(): an option of `canary switch run`"""
    return _option(["switch", "run"], name)


def member_option(name):
    """For taken_by(): an option of `canary perf allreduce`"""
    return _option(["perf", "allreduce"], name)
