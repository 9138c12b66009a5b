# SPDX-License-Identifier: BSD-2-Clause
"""Random networks in the simulator. Nothing but the members' numbers is the same in any two."""
import json
import os
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor

from rows import SHAPES, SIM

PATIENCE = 300


def _topology(pick, folder, number):
    """The path of a topology: a shape that is there, or a random one"""
    shape = pick.choice(["paper_64", "fat_tree_k4", "flare_64", "paper_256", "star", "leaf_spine"])
    if shape not in ("star", "leaf_spine"):
        return os.path.join(SHAPES, f"{shape}.topo")
    lines = [f"kind {shape}"]
    if shape == "star":
        lines.append(f"hosts {pick.randint(8, 40)}")
    else:
        lines += [f"leaves {pick.randint(4, 8)}", f"spines {pick.randint(1, 4)}",
                  f"hosts {pick.randint(2, 6)}"]
    lines += [f"rate {pick.choice(['1gbit', '10gbit', '100gbit'])}",
              f"latency {pick.choice(['300ns', '1us', '5us'])}"]
    path = os.path.join(folder, f"{number}.topo")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    return path


def networks(count, folder):
    """Return: COUNT lists of words for canary-sim, always the same ones"""
    pick = random.Random(1)
    found = []
    for number in range(count):
        algorithm = pick.choice(["dynamic", "dynamic", "dynamic", "ring", "static"])
        timeout = pick.choice(["1us", "3us", "20us", "200us"])
        words = [f"topology={_topology(pick, folder, number)}", f"seed={number + 1}",
                 f"algorithm={algorithm}", f"timeout={timeout}", "timeout_max=1ms",
                 f"placement={pick.choice(['random', 'random', 'packed'])}", "dealt=random",
                 f"deployed={pick.choice(['0%', '50%', '100%', '100%'])}",
                 f"loss={pick.choice(['0%', '0%', '0.1%', '1%', '3%'])}",
                 f"noise={pick.choice(['0%', '2%', '20%'])}",
                 f"noise_delay={pick.choice(['2us', '50us'])}",
                 f"flow={pick.choice(['lossless', 'drop'])}",
                 f"elements={pick.choice([121, 144, 256, 352, 600, 800])}",
                 f"window={pick.choice([4, 32, 256])}",
                 f"choice={pick.choice(['adaptive', 'block'])}", "rto_min=1ms", "give_up=100s"]
        if algorithm == "static":
            words.append(f"trees={pick.randint(1, 4)}")
        found.append(words)
    return found


def _run(words):
    """Return: (what came out, error) of one simulation"""
    done = subprocess.run([SIM, "--quiet", *words], capture_output=True, text=True, timeout=PATIENCE,
                          check=False)
    try:
        report = json.loads(done.stdout)
        job = report["jobs"][0]
    except (ValueError, KeyError):
        return None, f"status {done.returncode}: {done.stderr.strip()[-200:]}"
    error = None
    if done.returncode or not report["right"]:
        error = f"status {done.returncode}, {report['wrong']} wrong, {report['unfinished']} unfinished"
    elif job["distinct"] != 1:
        error = f"members have {job['distinct']} results"
    return {"digest": job["digest"], "method": job["method"], "lost": report["lost"],
            "merged": report["switch"].get("merged", 0)}, error


def run(row, lists):
    """Run ROW in all networks. Return: what is to be said of it"""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ends = list(pool.map(_run, [[*words, *row.keys] for words in lists]))
    wrong = [f"{' '.join(words)}: {error}" for words, (_, error) in zip(lists, ends) if error]
    good = [end for end, _ in ends if end]
    sums = {name: sum(end[name] for end in good) for name in ("lost", "merged")}
    wrong += [f"nothing was {name} in all networks" for name, number in sums.items() if not number]
    digests = {end["digest"] for end in good}
    return {"engine": "simulator", "runs": len(lists), "distinct_results": len(digests),
            "digest": min(digests, default=None), "method": good[0]["method"] if good else None,
            "packets_lost": sums["lost"], "packets_merged": sums["merged"], "wrong": wrong}
