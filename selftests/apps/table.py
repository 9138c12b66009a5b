#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tables of what selftests/apps/run.sh wrote: table.py [--text] FILE

Markdown, as in docs/results/apps.md: figures, which calls went through Canary and why others did
not, and what programs compute. --text: the figures only, for a terminal."""
import json
import sys

FIGURES = ("program", "hosts", "engine", "way", "right", "calls", "through Canary", "s", "s without",
           "MB", "MB without")


def figures(row):
    """Cells of the first table"""
    name = (row["program"], row.get("hosts", "-"), row["engine"], row["way"])
    if row.get("skipped"):
        return name + ("skipped: " + row["skipped"].splitlines()[0],) + ("-",) * 6
    if row.get("seconds") is None:
        return name + ("no: " + row.get("problem", ""),) + ("-",) * 6
    right = "yes" if row["right"] else "no: " + row.get("problem", "")
    return name + (right, row["calls"], row["calls_canary"], f"{row['seconds']:.1f}",
                   f"{row['seconds_without']:.1f}", f"{row['bytes'] / 1e6:.1f}",
                   f"{row['bytes_without'] / 1e6:.1f}")


def ways(row):
    """Cells of the second table, a line for each function"""
    for name, found in row.get("by", {}).items():
        rest = ", ".join(f"{count} {way}" for way, count in sorted(found.items())
                         if way != "canary")
        yield (row["program"], row["engine"], row["way"], name, found.get("canary", 0), rest or "-")


def markdown(head, lines):
    """Print a table."""
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for line in lines:
        print("| " + " | ".join(str(cell).replace("\n", " ").replace("|", "/")
                                for cell in line) + " |")
    print()


def text(head, lines):
    """Print columns."""
    lines = [[str(cell).replace("\n", " ") for cell in line] for line in [head] + lines]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def main():
    """Print the tables."""
    with open(sys.argv[-1], encoding="utf-8") as file:
        rows = json.load(file)
    lines = [figures(row) for row in rows]
    if "--text" in sys.argv:
        text(FIGURES, lines)
        return
    markdown(FIGURES, lines)
    markdown(("program", "engine", "way", "function", "through Canary", "not, and why"),
             [line for row in rows for line in ways(row)])
    seen = {row["program"]: row for row in rows if row.get("what")}
    markdown(("program", "what", "right is"),
             [(name, row["what"], row["check"]) for name, row in seen.items()])


if __name__ == "__main__":
    main()
