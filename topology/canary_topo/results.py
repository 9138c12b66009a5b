# SPDX-License-Identifier: BSD-2-Clause
"""Results of topology/congestion.py: the file of its runs, their summary in one row for each
algorithm and share, and the files of rows."""
import contextlib
import csv
import json
import os
import statistics
import tempfile

# A row says something about links, and not about the processors, under two conditions. At least
# this share of the processors was idle. And 99 of 100 sleepers were late by less than FRAMES_LATE
# frames' time on a link.
IDLE_AT_LEAST = 0.25
FRAMES_LATE = 2
FRAME_PAYLOAD = 352 * 32    # bits


class Runs:
    """The file of finished runs."""

    def __init__(self, directory, forget=False):
        os.makedirs(directory, exist_ok=True)
        self.path = os.path.join(directory, "runs.jsonl")
        self.runs = []
        if forget and os.path.exists(self.path):
            os.unlink(self.path)
        if os.path.exists(self.path):
            self._read()

    def _read(self):
        with open(self.path, encoding="utf-8") as file:
            text = file.read()
        for line in text.splitlines():
            with contextlib.suppress(ValueError):   # the last line of an interrupted run
                self.runs.append(json.loads(line))
        if text and not text.endswith("\n"):
            with open(self.path, "a", encoding="utf-8") as file:
                file.write("\n")

    def find(self, key):
        """The last run with this key"""
        return next((run for run in reversed(self.runs) if run["key"] == key), None)

    def of(self, keys):
        """The last run of each of KEYS"""
        return [run for run in map(self.find, keys) if run]

    def add(self, run):
        self.runs.append(run)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(run) + "\n")


def with_defaults(runs, size):
    """RUNS, and runs of Open MPI's default algorithm (vectors of SIZE bytes), which were parts of
    others."""
    found = list(runs)
    there = {run["key"] for run in runs if run["algorithm"] == "openmpi-default"}
    for run in runs:
        seconds = run.get("seconds_by_algorithm", {}).get("default")
        if run["algorithm"] == "openmpi" and seconds and not there:
            found.append({**run, "algorithm": "openmpi-default", "goodput": 8 * size / seconds})
    return found


def middle(values, digits=4):
    """The median of the values that are not None; None if all are"""
    values = [value for value in values if value is not None]
    return round(statistics.median(values), digits) if values else None


def kept(runs, alone):
    """Goodput of RUNS under congestion, each as a share of what the same members had ALONE"""
    before = {run["seed"]: run["goodput"] for run in alone if run.get("goodput")}
    return [run["goodput"] / before[run["seed"]] for run in runs if run["seed"] in before]


def late_most(limit):
    """How late sleepers may be, in ms, if links carry LIMIT bits of vectors per second"""
    return round(1e3 * FRAMES_LATE * FRAME_PAYLOAD / limit, 3)


def limited_by(idle, late, limit):
    """Did links or the processor decide? IDLE of the processor was idle, and sleepers were LATE ms
    late."""
    return "links" if idle >= IDLE_AT_LEAST and late < late_most(limit) else "processor"


def says_nothing(run, limit):
    """Could RUN give something else on a machine with less to do? Open MPI's ranks poll, so its
    runs are always accepted."""
    machine = run["machine"]
    return not run["algorithm"].startswith("openmpi") and \
        limited_by(machine["idle"], machine["late_ms"][1], limit) == "processor"


def row_of(runs, limit, alone=()):
    """Summary of RUNS of one algorithm and share; None if all failed"""
    good = [run for run in runs if "goodput" in run]
    if not good:
        return None
    goodput = [run["goodput"] / 1e6 for run in good]
    first = good[0]
    ratios = kept(good, alone)
    idle = middle(run["machine"]["idle"] for run in good)
    late = middle(run["machine"]["late_ms"][1] for run in good)
    return {"scenario": first["scenario"], "algorithm": first["algorithm"],
            "congestion": round(first["congesting"] / first["hosts"], 4), "asked": first["share"],
            "goodput_median": middle(goodput),
            "goodput_spread": [round(min(goodput), 4), round(max(goodput), 4)], "unit": "Mbit/s",
            "runs": len(good), "failed": len(runs) - len(good),
            "gave_up": sum("gave_up" in run for run in good),
            "of_limit": round(1e6 * statistics.median(goodput) / limit, 4),
            "kept_median": middle(ratios),
            "kept_spread": [round(min(ratios), 4), round(max(ratios), 4)] if ratios else None,
            "congesting": first["congesting"], "members": first["members"],
            "offered": middle(statistics.mean(run["offered"]) if run.get("offered") else None
                              for run in good),
            "offered_least": min((min(run["offered"]) for run in good if run.get("offered")),
                                 default=None),
            "jain": middle(run.get("jain") for run in good),
            "contributions_per_block": middle(run.get("contributions_per_block") for run in good),
            "cpu_idle": idle, "late_ms": late, "late_ms_most": late_most(limit),
            "limit": limited_by(idle, late, limit),
            "settings": json.loads(first["key"])[0]}


def is_alone(run):
    """Were the hosts that would congest idle?"""
    return "alone" in json.loads(run["key"])


def summary(runs, limit, size):
    """A row for each algorithm and share, over all placements"""
    runs = with_defaults(runs, size)

    def some(name, share, alone):
        return [run for run in runs if (run["algorithm"], run["share"], is_alone(run))
                == (name, share, alone)]

    rows = [row_of(some(name, share, False), limit, some(name, share, True))
            for name in dict.fromkeys(run["algorithm"] for run in runs)
            for share in sorted({run["share"] for run in runs})]
    return [row for row in rows if row]


def replace(path, text):
    """Write TEXT to PATH completely or not at all."""
    directory = os.path.dirname(os.path.abspath(path))
    os.makedirs(directory, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="", dir=directory,
                                     prefix=".results-", delete=False) as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def read_rows(path):
    """The rows that are in the file already"""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise ValueError(f"{path} is no list of results ({error}): move it away") from None


def says_more(old, new):
    """Does the row OLD have more placements than NEW, with the same settings?"""
    return old["settings"] == new["settings"] and \
        (old["runs"], old.get("kept_median") is not None) > \
        (new["runs"], new.get("kept_median") is not None)


def write(rows, path, table):
    """Write ROWS to the JSON file PATH and the CSV file TABLE. Rows of other scenarios stay there.
    Rows of the same one are replaced if they have other settings, or say less."""
    def name(row):
        return row["scenario"], row["algorithm"], row.get("asked")

    old = read_rows(path)
    now = {row["scenario"]: row["settings"] for row in rows}
    before = {name(row): row for row in old}
    rows = [before[name(row)] if name(row) in before and says_more(before[name(row)], row) else row
            for row in rows]
    mine = set(map(name, rows))
    rows = [row for row in old if name(row) not in mine
            and now.get(row["scenario"], row.get("settings")) == row.get("settings")] + rows
    replace(path, json.dumps(rows, indent=1) + "\n")
    names = [key for key in dict.fromkeys(key for row in rows for key in row) if key != "settings"]
    with open(table, "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, fieldnames=names, extrasaction="ignore")
        out.writeheader()
        out.writerows(rows)


def why_not(row):
    """Why a row that is limited by the processor says nothing about links"""
    return f"{row['cpu_idle']:.2f} of the processors were idle (at least {IDLE_AT_LEAST} have to be), " \
           f"sleepers up to {row['late_ms']:.1f} ms late (less than {row['late_ms_most']:.1f})"


def tell(rows, say):
    """Print rows as sentences."""
    say()
    for row in rows:
        low, high = row["goodput_spread"]
        text = f"{row['algorithm']:12} {100 * row['congestion']:3.0f} % congest: median " \
               f"{row['goodput_median']:8.3f} {row['unit']} ({low:.3f} to {high:.3f}, {row['runs']} runs"
        if row["failed"]:
            text += f", {row['failed']} failed"
        if row["gave_up"]:
            text += f", {row['gave_up']} given up, counted as 0"
        text += f"), {row['of_limit']:.2f} of the limit"
        if row["kept_median"] is not None:
            text += f", {row['kept_median']:.2f} of what the same members have alone"
        if row["contributions_per_block"]:
            text += f", {row['contributions_per_block']:.1f} packets a block at its leader"
        if row["jain"] is not None:
            text += f", Jain index {row['jain']:.3f}"
        if row["offered"] is not None:
            text += f", others sent {row['offered']:.2f} of what they were to"
        if row["limit"] == "processor":
            text += f". NO RESULT: {why_not(row)}"
        say(text)
