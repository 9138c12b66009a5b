#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks that there are no circles of files, and that arrows go downwards only. It reads the
tables of layers in docs/architecture.md (parts) and kmod/core/README.md (files of the core),
includes, functions that headers define, and the symbols of objects.

    layers.py [TOP [BUILD]]

It prints each circle of headers, each circle of sources of a folder, and each arrow that goes
up, or sideways into another part. Exit status: 1 if there is one, or if a file is in no table
or has no object.
"""
import os
import re
import subprocess
import sys

TOP = sys.argv[1] if len(sys.argv) > 1 else "."
BUILD = sys.argv[2] if len(sys.argv) > 2 else os.path.join(TOP, "build")
CORE = "kmod/core"
INSIDE = CORE + "/inside.h"     # includes all layers, for tests of internals
SEARCHED = ["", "kmod/uapi/", "userspace/include/", "kmod/"]    # the -I paths
ALONE = {"examples"}    # folders of programs of one file, which may be compiled without an object
OBJECTS = {"kmod": "kmod/kmod"}  # where objects are not in the same folder of BUILD


def read(*path):
    """The text of a file"""
    with open(os.path.join(TOP, *path), encoding="utf-8") as file:
        return file.read()


def table(path):
    """Return: [(layer, part, [files])] from a table of layers"""
    return [(int(layer), part, names.split()) for layer, part, names in
            re.findall(r"^\| (\d+) \| (\w+) \| ([^|]+) \|", read(path), re.M)]


def sources(parts):
    """Return: all C files of the parts, by folder: {folder: [names]}"""
    found = {}
    for top in sorted({name.split("/")[0] for _, _, names in parts for name in names}):
        for folder, _, names in os.walk(os.path.join(TOP, top)):
            names = sorted(name for name in names if re.search(r"(?<!\.mod)\.[ch]$", name))
            if names:
                found[os.path.relpath(folder, TOP)] = names
    return found


def stripped(text):
    """C source without comments and strings"""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)


def includes(path, files):
    """Files of this project that a file includes"""
    for name in re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', read(path), re.M):
        for place in [os.path.dirname(path) + "/"] + SEARCHED:
            if os.path.normpath(place + name) in files:
                yield os.path.normpath(place + name)
                break


def defined(text):
    """Functions and macros that a header defines, and not only declares"""
    names = re.findall(r"^\w[\w \t*]*\b(\w+)\([^;{}]*\)\s*^\{", text, re.M)
    return set(names + re.findall(r"^#[ \t]*define[ \t]+(\w+)\(", text, re.M))


def header_names(files):
    """{header: {header of the same folder that defines what it calls: names}}"""
    texts = {file: stripped(read(file)) for file in sorted(files) if file.endswith(".h")}
    owner = {}
    for file, text in texts.items():
        for name in defined(text):
            owner[name] = None if name in owner else file   # each platform has its own
    arrows = {file: {} for file in texts}
    for file, text in texts.items():
        for name in set(re.findall(r"\b(\w+)\(", text)):
            other = owner.get(name)
            if other and other != file and os.path.dirname(other) == os.path.dirname(file):
                arrows[file].setdefault(other, set()).add(name)
    return arrows


def object_names(folder, names, wrong):
    """Return: {source: {source that defines what it uses: names}} of a folder"""
    owner, used = {}, {}
    for name in names:
        path = f"{folder}/{name}"
        if not name.endswith(".c") or name.endswith(".bpf.c"):
            continue
        place = os.path.join(BUILD, OBJECTS.get(folder, folder), name[:-2] + ".o")
        if not os.path.exists(place) and folder in ALONE:
            continue
        if not os.path.exists(place):
            wrong.append(f"{path}: no object {place}")
            continue
        lines = [line.split() for line in subprocess.run(
            ["nm", place], check=True, capture_output=True, text=True).stdout.splitlines()]
        used[path] = {line[-1] for line in lines if line[-2] == "U"}
        owner.update({line[-1]: path for line in lines if line[-2] in "TDRBC"})
    arrows = {path: {} for path in used}
    for path, symbols in used.items():
        for symbol in symbols:
            if owner.get(symbol, path) != path:
                arrows[path].setdefault(owner[symbol], set()).add(symbol)
    return arrows


def add(arrows, more):
    """Add the arrows @more to those of the same files."""
    for file, others in more.items():
        for other, why in others.items():
            arrows[file].setdefault(other, set()).update(why)


def circles(arrows):
    """Sets of files in which each file leads to each other one (Tarjan)"""
    order, low, path, found = {}, {}, [], []

    def visit(file):
        order[file] = low[file] = len(order)
        path.append(file)
        for other in sorted(arrows.get(file, {})):
            if other not in order:
                visit(other)
            if other in path:
                low[file] = min(low[file], low[other])
        if low[file] == order[file]:
            at = path.index(file)
            if len(path) - at > 1:
                found.append(set(path[at:]))
            del path[at:]

    for file in sorted(arrows):
        if file not in order:
            visit(file)
    return found


def tell_circles(arrows, wrong):
    """Yield each circle with its arrows."""
    for files in circles(arrows):
        wrong.append(f"circle of {len(files)} files:")
        for file in sorted(files):
            for other in sorted(files & set(arrows[file])):
                wrong.append(f"    {file} -> {other}: {' '.join(sorted(arrows[file][other]))}")


def tell_upwards(arrows, place, wrong):
    """Yield each arrow that does not go down. @place(file) is its (layer, part), or None."""
    for file in sorted(arrows):
        for other in sorted(arrows[file]):
            here, there = place(file), place(other)
            if here and there and (there[0] > here[0] or (there[0] == here[0] and there[1] != here[1])):
                wrong.append(f"{file} ({here[1]}) -> {other} ({there[1]}): "
                             f"{' '.join(sorted(arrows[file][other]))}")


def place_by(rows):
    """Return a function that says where a file belongs: to the longest name that its path begins
    with."""
    names = {name: (layer, part) for layer, part, those in rows for name in those}

    def place(file):
        fits = [name for name in names if file == name or (name.endswith("/") and file.startswith(name))
                or (name.endswith("*") and file.startswith(name[:-1]))]
        return names[max(fits, key=len)] if fits else None
    return place


def check_core(arrows, names, wrong):
    """Check the core: all its files are in its table, others include only public headers."""
    rows = [(layer, part, [f"{CORE}/{name}" for name in those])
            for layer, part, those in table(CORE + "/README.md")]
    listed = {name for _, _, those in rows for name in those} | {INSIDE}
    for file in sorted({f"{CORE}/{name}" for name in names} ^ listed):
        wrong.append(f"{file}: not in the table of {CORE}/README.md, or only there")
    tell_upwards(arrows, lambda file: place_by(rows)(file) if file != INSIDE else None, wrong)
    text = re.search(r"^Headers for others: (.*?)\n\n", read(CORE, "README.md"), re.M | re.S).group(1)
    public = {f"{CORE}/{name}" for name in re.findall(r"`(\w+\.h)`", text)}
    for file in sorted(arrows):
        for other in sorted(arrows[file]):
            if other.startswith(CORE + "/") and not file.startswith(CORE + "/") and other not in public:
                wrong.append(f"{file} -> {other}: is private to {CORE}/")


def main():
    """Return: exit status"""
    parts, wrong = table("docs/architecture.md"), []
    place = place_by(parts)
    folders = {folder: names for folder, names in sources(parts).items()
               if any(place(f"{folder}/{name}") for name in names)}
    files = {f"{folder}/{name}" for folder, names in folders.items() for name in names}
    wrong += [f"{file}: in no part of docs/architecture.md" for file in sorted(files) if not place(file)]
    every = {file: {other: {"includes it"} for other in includes(file, files)} for file in files}
    for folder, names in folders.items():
        arrows = object_names(folder, names, wrong)
        tell_circles(arrows, wrong)
        add(every, arrows)
    headers = {file: {} for file in files if file.endswith(".h")}
    add(headers, {file: every[file] for file in headers})
    add(headers, header_names(files))
    add(every, headers)
    tell_circles(headers, wrong)
    tell_upwards(every, place, wrong)
    check_core(every, folders[CORE], wrong)
    print("\n".join(wrong) if wrong else
          f"{len(files)} files of {len(folders)} folders, {sum(len(to) for to in every.values())} "
          "arrows, no circle, none upwards")
    return 1 if wrong else 0


sys.exit(main())
