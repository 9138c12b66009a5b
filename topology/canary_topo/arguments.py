# SPDX-License-Identifier: BSD-2-Clause
"""Arguments of the programs here. They are judged before a testbed is made or a file written: what is
wrong is said in one line that names the option, what it was given and what it takes. Options of other
programs (behind --, --switch-option) are theirs to judge when they begin, and whether a fault is
possible is known when its testbed is up."""
import argparse
import errno
import os
import re
import stat

from . import system
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


NUMBERS = {int: "[+-]?[0-9]+", float: r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?"}


def number_of(text, kind):
    """TEXT as KIND, int or float; ValueError. No underscores, spaces, digits of other scripts."""
    if not re.fullmatch(NUMBERS[kind], text, re.IGNORECASE):
        raise ValueError(f"'{text}' is not a number")
    return kind(text)


def number(kind, low, high):
    """For add_argument(type=): of KIND, int or float, from LOW to HIGH"""
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
    """OSError if no file can be written there. Nothing is made, and what is no file is not opened."""
    path = os.path.realpath(path)   # of a link to nothing, what would be made
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
    """OSError if PATH is no directory for files, nor can be made in one that is there"""
    path = os.path.realpath(path)
    _may_make_in(path if os.path.lexists(path) else os.path.dirname(path))


def _may_make_in(path):
    if not os.path.isdir(path):
        os.stat(path)       # says what is missing
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(path, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


def _option(words, name):
    """What raises a ValueError if `canary WORDS` does not take it as --NAME: it is asked"""
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
    """For taken_by(): of `canary switch run`"""
    return _option(["switch", "run"], name)


def member_option(name):
    """For taken_by(): of `canary perf allreduce`"""
    return _option(["perf", "allreduce"], name)
