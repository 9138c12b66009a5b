#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Do arrows in kmod/core go downwards only? Reads the table in its README.md, includes, and the
symbols of objects.

    layers.py [SOURCES [OBJECTS]]

Prints each arrow that goes up, sideways into another part, or around in a circle of files. Exit
status: 1 if there is one, or a file is not in the table.
"""
import os
import re
import subprocess
import sys

SOURCES = sys.argv[1] if len(sys.argv) > 1 else "kmod/core"
OBJECTS = sys.argv[2] if len(sys.argv) > 2 else "build/kmod/core"
OUTSIDE = {"inside.h"}  # includes all layers, for who looks inside


def table():
    """File -> (layer, part)"""
    files = {}
    with open(os.path.join(SOURCES, "README.md"), encoding="utf-8") as readme:
        for line in readme:
            row = re.match(r"\| (\d+) \| (\w+) \| ([^|]+) \|", line)
            for name in row.group(3).split() if row else []:
                files[name] = (int(row.group(1)), row.group(2))
    return files


def includes(name):
    """Headers of the core that a file includes"""
    with open(os.path.join(SOURCES, name), encoding="utf-8") as source:
        return re.findall(r'^#include "([a-z_]+\.h)"', source.read(), re.M)


def symbols(sources):
    """File -> {file that defines a symbol it uses: symbols}"""
    defined, used = {}, {}
    for name in sources:
        lines = subprocess.run(["nm", os.path.join(OBJECTS, name[:-2] + ".o")], check=True,
                               capture_output=True, text=True).stdout.splitlines()
        used[name] = {line.split()[-1] for line in lines if line.split()[-2] == "U"}
        for line in lines:
            if line.split()[-2] in "TDRB":
                defined[line.split()[-1]] = name
    arrows = {name: {} for name in sources}
    for name in sources:
        for symbol in used[name]:
            if defined.get(symbol, name) != name:
                arrows[name].setdefault(defined[symbol], []).append(symbol)
    return arrows


def circle(arrows):
    """Some circle of files, or []"""
    done, path = set(), []

    def visit(name):
        if name in path:
            return path[path.index(name):] + [name]
        if name in done:
            return []
        path.append(name)
        for other in sorted(arrows[name]):
            found = visit(other)
            if found:
                return found
        path.pop()
        done.add(name)
        return []

    for name in sorted(arrows):
        found = visit(name)
        if found:
            return found
    return []


def main():
    """Return: exit status"""
    files, wrong = table(), []
    present = {name for name in os.listdir(SOURCES) if name.endswith((".c", ".h"))} - OUTSIDE
    for name in sorted(present ^ set(files)):
        wrong.append(f"{name}: not in the table, or only there")
    sources = sorted(name for name in present if name.endswith(".c"))
    arrows = symbols(sources)
    links = [(name, other, "includes it") for name in sorted(present) for other in includes(name)]
    links += [(name, other, "uses " + " ".join(sorted(arrows[name][other])))
              for name in sources for other in sorted(arrows[name])]
    for name, other, why in links:
        layer, part = files.get(name, (0, ""))
        if other not in files:
            continue
        if files[other][0] > layer or (files[other][0] == layer and files[other][1] != part):
            wrong.append(f"{name} ({part}) -> {other} ({files[other][1]}): {why}")
    found = circle(arrows)
    if found:
        wrong.append("circle: " + " -> ".join(found))
    for line in wrong:
        print(line)
    if not wrong:
        print(f"{len(files)} files, {sum(len(to) for to in arrows.values())} arrows, none upwards")
    return 1 if wrong else 0


sys.exit(main())
