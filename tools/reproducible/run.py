#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Are sums of floating-point numbers the same bits, whatever the network does? The same vectors go
through simulated networks, through both engines between network namespaces, and through Open MPI.
build/reproducible.json has what came out. What cannot run here is said there and on the terminal.

  run.py [--quick] [--only PART,...] [--out FILE]
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import errors  # noqa: E402
import openmpi  # noqa: E402
import simulated  # noqa: E402
from rows import MEMBERS, TOP, Row, digest, read, rows, write_vectors  # noqa: E402
from testbed import chosen_rows, folder_name  # noqa: E402

PARTS = ("simulator", "user", "kernel", "openmpi", "errors", "norms")
GUEST = [os.path.join(TOP, "selftests/vm/run.sh"), "--timeout", "3600", "--"]
MODULE = os.path.join(TOP, "selftests/faults/guest.sh")
# Sets whose error is compared with that of others, and numbers of members
NORMS = ("gauss", "heavy", "embeddings", "outliers")
# Numbers of all members together. In short vectors a few elements, or rows, decide.
NORM_NUMBERS = 1 << 20


def tell(*words):
    """Print a line at once."""
    print(*words, flush=True)


def simulate(all_rows, count, work):
    """Run all rows in COUNT simulated networks."""
    lists = simulated.networks(count, work)
    found = {}
    for row in all_rows:
        found[row] = simulated.run(row, lists)
        tell(f"simulator: {row}: {found[row]['distinct_results']} result in {count} networks"
             + "".join(f"\n  {line}" for line in found[row]["wrong"]))
    return found


def real(engine, networks, quick, work):
    """Run the rows of testbed.py. Return: ({row: what is to be said}, why there is none or None)"""
    if os.geteuid():
        return {}, "needs root"
    if engine == "kernel" and not os.path.exists(os.path.join(TOP, "build/guest/config.mk")):
        return {}, "there is no guest (make module)"
    words = [os.path.join(HERE, "testbed.py"), "--engine", engine, "--networks", str(networks),
             *(["--quick"] if quick else []), work]
    if engine == "kernel":
        words = [*GUEST, MODULE, *words]
    log = os.path.join(work, f"{engine}.log")
    with open(log, "wb") as file, \
            subprocess.Popen(words, stdout=subprocess.PIPE, stderr=file, text=True) as process:
        lines = []
        for line in process.stdout:
            if not line.startswith("{"):
                continue
            lines.append(json.loads(line))
            said = lines[-1]
            tell(f"{engine}: {said['network']}: {said['row']}: {' '.join(said['digests'])}"
                 + "".join(f"\n  {line}" for line in said["wrong"]))
    with open(log, encoding="utf-8", errors="replace") as file:
        complaints = file.read().strip()[-600:]
    idle = []
    for what in ("faults", "merged"):
        most = {}
        for line in lines:
            if line[what] is not None:
                most[line["network"]] = max(most.get(line["network"], 0), line[what])
        idle += [f"{network}: no {what}" for network, number in most.items() if not number]
    found = {}
    for row in chosen_rows(quick):
        ours = [line for line in lines if line["row"] == str(row)]
        digests = {one for line in ours for one in line["digests"]}
        wrong = [f"{line['network']}: {text}" for line in ours for text in line["wrong"]]
        wrong += [f"{line['network']}: engines {line['engines']}" for line in ours
                  if line["engines"] != [engine]]
        wrong += idle
        if len(ours) != networks:
            wrong.append(f"{len(ours)} of {networks} networks: {complaints}")
        found[row] = {"engine": engine, "runs": len(ours), "distinct_results": len(digests),
                      "digest": min(digests, default=None),
                      "method": ours[0]["method"] if ours else None, "wrong": wrong}
    return found, None


def analyse(all_rows, folders):
    """Return: {row: the worst error over the bound}"""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        ends = pool.map(errors.analyse, all_rows, [folders[row] for row in all_rows])
        return {row: worst for row, (worst, _) in zip(all_rows, ends)}


def norm(row, folder):
    """The error of the whole vector of one row, beside that of others"""
    write_vectors(row, folder)
    worst, ours = errors.analyse(row, folder)
    said = {"type": row.type, "values": row.values, "members": row.members, "elements": row.count,
            "worst_error_over_bound": worst, "error": ours}
    if row.type == "float32":
        said["ring_error"] = errors.ring_error(row, folder)
        said["within"] = ours <= said["ring_error"]
    else:
        said["rounded_once_error"] = errors.rounded_once_error(row, folder)
        said["within"] = ours <= 1.3 * said["rounded_once_error"]
    shutil.rmtree(folder)
    return said


def norms(quick, work):
    """Errors of whole vectors of float32 and bfloat16, of several numbers of members"""
    todo = [Row(dtype, values, NORM_NUMBERS // members + 3, members)
            for dtype in ("float32", "bfloat16") for members in ((8,) if quick else (8, 16, 32))
            for values in NORMS]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        folders = [os.path.join(work, f"norm.{number}") for number in range(len(todo))]
        found = list(pool.map(norm, todo, folders))
    for said in found:
        other = said.get("ring_error", said.get("rounded_once_error"))
        tell(f"errors: {said['type']}, {said['values']}, {said['members']} members: {said['error']:.3g}, "
             f"{'ring' if said['type'] == 'float32' else 'float32 rounded once'} {other:.3g}"
             f"{'' if said['within'] else ': MORE THAN ALLOWED'}")
    return found


def compare(all_rows, folders, orders, work):
    """Run the rows that Open MPI can sum. Return: ({row: what is to be said}, why there is none)"""
    why = openmpi.missing()
    able = {row: folders[row] for row in all_rows if row.type in openmpi.TYPES}
    why = why or openmpi.run(able, orders, work)
    if why:
        return {}, why
    found = {row: openmpi.compare(row, folder, orders) for row, folder in able.items()}
    for row, said in found.items():
        tell(f"openmpi: {row}: {said['openmpi_distinct_results']} results in {said['openmpi_runs']} runs, "
             f"{said['openmpi_elements_differ']} elements differ")
    return found, None


def verdicts(entries, references):
    """Return: lines that say what is wrong with the results of engines"""
    wrong = []
    for entry, row in entries:
        name = f"{entry['engine']}: {row}"
        wrong += [f"{name}: {text}" for text in entry["wrong"]]
        if entry["distinct_results"] != 1:
            wrong.append(f"{name}: {entry['distinct_results']} results")
        elif entry["digest"] != references[row]:
            wrong.append(f"{name}: not the bits of the reference")
        if entry.get("worst_error_over_bound", 0) > 1:
            wrong.append(f"{name}: {entry['worst_error_over_bound']} times the bound")
    return wrong


def run(args, work):
    """Run all parts. Return: what is to be written"""
    parts, quick = args.only, args.quick
    all_rows = rows(short=("special",)) if quick else rows()
    folders = {row: os.path.join(work, folder_name(row)) for row in all_rows}
    for row, folder in folders.items():
        write_vectors(row, folder)
    references = {row: digest(read(folder, "result")) for row, folder in folders.items()}
    left = {part: "not asked for" for part in PARTS if part not in parts}
    entries = []
    if "simulator" in parts:
        found = simulate(all_rows, 10 if quick else 100, work)
        entries += [(said, row) for row, said in found.items()]
    for engine in ("user", "kernel"):
        if engine in parts:
            found, why = real(engine, 2 if quick else 10, quick, work)
            entries += [(said, row) for row, said in found.items()]
            if why:
                left[engine] = why
    bounds = analyse(all_rows, folders) if "errors" in parts else {}
    others, why = compare(all_rows, folders, 2 if quick else 6, work) if "openmpi" in parts else ({}, None)
    if why:
        left["openmpi"] = why
    for said, row in entries:
        said.update({"type": row.type, "op": "sum", "how": row.how, "values": row.values,
                     "elements": row.count, "members": row.members})
        if row in bounds:
            said["worst_error_over_bound"] = bounds[row]
        if row in others:
            said.update(others[row])
        elif "openmpi" in parts and row.type not in openmpi.TYPES:
            said["openmpi_runs"] = 0
            said["openmpi_why"] = f"Open MPI has no {row.type}"
    wrong = verdicts(entries, references)
    result = {"quick": quick, "left_out": left, "members": MEMBERS,
              "openmpi": openmpi.version() if others else None,
              "sums": [said for said, _ in entries], "norms": []}
    if "norms" in parts:
        result["norms"] = norms(quick, work)
        wrong += [f"error of {said['type']}, {said['values']}, {said['members']} members: {said['error']}"
                  for said in result["norms"] if not said["within"] or said["worst_error_over_bound"] > 1]
    result["wrong"] = wrong
    return result


def summary(result):
    """Print a table: one line for each engine and type."""
    tell(f"\n{'engine':10} {'type':9} {'sums':>5} {'runs':>6} {'results a sum':>13} {'error/bound':>11} "
         f"{'Open MPI: results a sum':>24}")
    groups = {}
    for said in result["sums"]:
        groups.setdefault((said["engine"], said["type"]), []).append(said)
    for (engine, dtype), those in groups.items():
        bounds = [said["worst_error_over_bound"] for said in those if "worst_error_over_bound" in said]
        other = [said["openmpi_distinct_results"] for said in those if said.get("openmpi_distinct_results")]
        tell(f"{engine:10} {dtype:9} {len(those):5} {sum(said['runs'] for said in those):6} "
             f"{max(said['distinct_results'] for said in those):13} "
             f"{f'{max(bounds):.3f}' if bounds else '-':>11} "
             f"{f'{min(other)} to {max(other)}' if other else '-':>24}")
    for part, why in result["left_out"].items():
        tell(f"left out: {part}: {why}")
    for line in result["wrong"]:
        tell(f"WRONG: {line}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a part of everything: a minute or two")
    parser.add_argument("--only", default=",".join(PARTS),
                        help="parts, separated by commas: " + ", ".join(PARTS) + " (all)")
    parser.add_argument("--out", default=os.path.join(TOP, "build/reproducible.json"),
                        help="receives what came out (build/reproducible.json)")
    args = parser.parse_args()
    args.only = args.only.split(",")
    if set(args.only) - set(PARTS):
        parser.error(f"--only: parts are {', '.join(PARTS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begin = time.time()
    # The guest sees the machine's files, but not those of a fresh /tmp.
    work = tempfile.mkdtemp(prefix="reproducible.", dir=os.path.join(TOP, "build"))
    try:
        result = run(args, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    result["seconds"] = round(time.time() - begin)
    with open(args.out, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    summary(result)
    tell(f"{len(result['sums'])} sums, {len(result['wrong'])} wrong, {result['seconds']} s: {args.out}")
    return 1 if result["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
