#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Do two programs say the same? near.py TOLERANCE FILE FILE

Numbers may differ by TOLERANCE of the larger one, or by that if both are below 1. All other words
have to be the same. It prints what differs."""
import math
import sys


def number(word):
    """The word as a number, or None"""
    try:
        return float(word)
    except ValueError:
        return None


def differences(tolerance, first, second):
    """Yield what differs between two lists of lines."""
    if len(first) != len(second) or not first:
        yield f"{len(first)} lines, {len(second)} lines"
    for n, (one, other) in enumerate(zip(first, second), 1):
        if len(one.split()) != len(other.split()):
            yield f"line {n}: '{one.strip()}', '{other.strip()}'"
            continue
        for x, y in zip(one.split(), other.split()):
            a, b = number(x), number(y)
            if a is None or b is None:
                if x != y:
                    yield f"line {n}: {x}, {y}"
            # Numbers that are not finite are near nothing.
            elif not math.isfinite(a - b) or abs(a - b) > tolerance * max(abs(a), abs(b), 1):
                yield f"line {n}: {x}, {y}"


def main():
    """Print some differences."""
    files = []
    for path in sys.argv[2:4]:
        with open(path, encoding="utf-8") as file:
            files.append(file.read().splitlines())
    found = list(differences(float(sys.argv[1]), *files))
    print("\n".join(found[:5]))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
