#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Judges the cells of the table of types, operators, engines and ways, and prints it.

A cell is right if all results are, and if what was seen is what was promised. What was promised is
what canary comm show says of the operation: switches combine it, or let it pass. What was seen
comes from counters alone, of the leaders and of the switch."""
import argparse
import json
import os
import sys

WAYS = {"switch": "S", "passes": "P", "ring": "R"}
LEGEND = "S: the switch adds it. P: it passes the switch unmerged. R: ring. !: not right. " \
    "-: there is no such operator."
SIZES = 4       # least number of shapes of vectors in a cell


def cells_of(path):
    """All JSON objects of a file, one behind the other"""
    decoder, at = json.JSONDecoder(), 0
    with open(path, encoding="utf-8") as file:
        text = file.read()
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        cell, at = decoder.raw_decode(text, at)
        yield cell


def counted(cell):
    """What net.sh gives, in the form that core.c gives"""
    perf = cell["perf"] or {"results": [], "out_of_bounds": 0, "check": 0}
    rows = perf["results"]
    before, after = cell["before"]["counters"], cell["after"]["counters"]
    said = sorted({row["switches"] for row in rows})
    return {
        **{key: cell[key] for key in ("type", "operator", "engine", "way", "error")},
        "right": not cell["failed"] and perf["out_of_bounds"] == 0,
        "shapes": len(rows) * 2,        # each size in place, and out of place
        "cases": len(rows) * 2 * perf["check"],
        "promised": said[0] if len(said) == 1 else "both",
        "aggregates": sum(row["aggregates"] for row in rows),
        "ring": sum(row["ring"] for row in rows),
        "merged": after["merged"] - before["merged"],
        "passed": after["bypass-operator"] - before["bypass-operator"],
        # After each check, canary perf adds up what its ranks found. A leader may have an aggregate
        # of that before it reads its counters: one block, from all ranks but itself.
        "noise": len(rows) * 2 * (cell["ranks"] - 1),
    }


def seen(cell):
    """What the counters say: one of the ways, or that they say none of them"""
    if cell["ring"]:
        return "ring" if not cell["aggregates"] and not cell["merged"] else "ring and trees"
    if cell["aggregates"] > cell["noise"]:
        return "switch" if cell["merged"] and not cell["passed"] else "switch, in part"
    return "passes" if cell["passed"] else "nothing"


def problem(cell):
    """What is not right, or None"""
    if not cell["right"]:
        return "wrong results, or none: " + " ".join(cell.get("error", "").split())[:300]
    if cell["shapes"] < SIZES or not cell["cases"]:
        return f"{cell['shapes']} shapes of vectors, {cell['cases']} of them compared"
    if cell["promised"] not in ("combine", "pass"):
        return f"canary comm show says '{cell['promised']}'"
    wanted = {"ring": "ring"}.get(cell["way"]) or \
        ("switch" if cell["promised"] == "combine" else "passes")
    if cell["way"] == "passes" and wanted != "passes":
        return "canary comm show says that switches combine it, in a build without that"
    if seen(cell) != wanted:
        return f"promised: {wanted}, seen: {seen(cell)}"
    return None


def judge(cells):
    """The list for kinds.json. The way is what was seen, if that is one."""
    result = []
    for cell in cells:
        if "perf" in cell:
            cell = counted(cell)
        wrong = problem(cell)
        way = seen(cell)
        result.append({"type": cell["type"], "operator": cell["operator"],
                       "engine": cell["engine"], "way": way if way in WAYS else cell["way"],
                       "right": wrong is None, "cases": cell["cases"], "asked": cell["way"],
                       **({"problem": wrong} if wrong else {})})
    return result


def names(cells, key):
    """Names in the order in which they come first"""
    return list(dict.fromkeys(cell[key] for cell in cells))


def table(cells, engine, operators):
    """The lines of one engine"""
    width = {name: max(len(name), len(WAYS) + 1) for name in operators}
    own = [cell for cell in cells if cell["engine"] == engine]
    first = max((len(cell["type"]) for cell in own), default=0)
    lines = [f"{engine}: {len(own)} cells, {sum(cell['cases'] for cell in own)} vectors compared",
             f"  {'':<{first}}" + "".join(f" {name:<{width[name]}}" for name in operators)]
    for kind in names(cells, "type"):
        line = f"  {kind:<{first}}"
        for operator in operators:
            at = [c for c in own if (c["type"], c["operator"]) == (kind, operator)]
            text = "".join(letter + ("" if all(c["right"] for c in at if c["way"] == way) else "!")
                           for way, letter in WAYS.items() if any(c["way"] == way for c in at))
            line += f" {text or '-':<{width[operator]}}"
        lines.append(line.rstrip())
    return lines


def missing(cells, engines):
    """What was run on one engine or way, but not on another one"""
    have = {(cell["type"], cell["operator"], cell["engine"], cell["asked"]) for cell in cells}
    for kind, operator in sorted({(cell["type"], cell["operator"]) for cell in cells}):
        for engine in engines:
            for way in WAYS:
                if (kind, operator, engine, way) not in have:
                    yield f"{operator} of {kind}, {engine}, {way}: was not run"


def main():
    """Return: the exit status"""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", help="file for the cells, as JSON")
    parser.add_argument("cells", help="file of what was counted")
    parser.add_argument("engines", nargs="+")
    args = parser.parse_args()
    cells = judge(cells_of(args.cells))
    operators = names(cells, "operator")
    print(LEGEND)
    for engine in args.engines:
        if any(cell["engine"] == engine for cell in cells):
            print("\n".join(table(cells, engine, operators)))
    bad = [f"{c['operator']} of {c['type']}, {c['engine']}, {c['way']}: {c['problem']}"
           for c in cells if not c["right"]]
    bad += missing(cells, args.engines)
    if not cells:
        bad.append("nothing was run")
    for text in bad:
        print(f"not ok - {text}")
    if args.out:
        with open(args.out + ".new", "w", encoding="ascii") as file:
            json.dump([{k: c[k] for k in c if k != "asked"} for c in cells], file, indent=1)
            file.write("\n")
        os.rename(args.out + ".new", args.out)
    print(f"# kinds: {sum(c['right'] for c in cells)} passed, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
