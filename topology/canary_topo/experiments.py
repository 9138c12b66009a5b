# SPDX-License-Identifier: BSD-2-Clause
"""Runs a fault of faults.py as a trial, and the same trial without the fault."""
import os
import random

from . import system
from .experiment import choose_hosts
from .faults import Fault
from .trial import Ended, Hang, Trial, place, summary

HEADER = 92


class Setting:
    """What all trials of an experiment have in common."""

    def __init__(self, engine="auto", hosts=None, per_host=1, operations=3, elements=20000,
                 seed=1, options=(), stall=60, work=None, strict=False):
        self.engine = engine
        self.hosts = hosts
        self.per_host = per_host
        self.operations = operations
        self.elements = elements
        self.seed = seed
        self.options = list(options)
        self.stall = stall
        self.strict = strict
        self.work = work or system.work_directory()


def hosts_of(everybody, fault, setting):
    """How many of all hosts have ranks"""
    return choose_hosts(setting.hosts, len(everybody) - fault.spare)


def run_trial(testbed, fault, setting, baseline=None):
    """Run one trial. Return: its result. An exception of the trial becomes a part of the result."""
    ranks = place(testbed.net, hosts_of(testbed.net.hosts, fault, setting), setting.per_host, setting.engine)
    elements = setting.elements
    options = ["--rounds", fault.rounds, "--operations", setting.operations,
               "--elements", elements, "--seed", setting.seed,
               "--linger", "10s", *setting.options,
               *(str(word).replace(":last:", f":{setting.operations - 1}:")
                 for word in fault.options(len(ranks)))]
    trial = Trial(testbed, os.path.join(setting.work, fault.name), ranks, options,
                  random.Random(f"{setting.seed}.{fault.name}").randrange(1, 1 << 30),
                  setting.stall)
    mtu = testbed.net.mtu or 1500
    trial.notes["seed"] = setting.seed
    trial.notes["strict"] = setting.strict
    trial.notes["blocks_per_operation"] = -(-elements // ((mtu - HEADER) // 4))
    wrong, dump = [], None
    before = trial.packets()
    try:
        fault.before(trial)
        trial.start()
        fault.during(trial)
        trial.finish()
    except Hang as hang:
        wrong.append(f"hang: {hang}")
        dump = trial.dump()
    except Ended as ended:
        wrong.append(f"{fault.name}: {ended}")
        trial.finish()
    finally:
        trial.stop()
        fault.after(trial)
    if dump is None:
        more, entries = trial.judge(fault.expected(trial))
        wrong += more
    else:
        entries = [entry for rank in ranks for entry in trial.job.rounds(rank)]
    result = {"fault": fault.name, "members": len(ranks), "elements": elements,
              "engine": setting.engine, "seed": setting.seed, "host_packets": trial.packets() - before,
              **summary(entries, trial)}
    for name in ("injector", "at", "forged", "refused"):
        if name in trial.notes:
            result[name] = trial.notes[name]
    if dump is None:
        wrong += fault.check(trial, result, baseline)
    if baseline:
        result["baseline_seconds"] = baseline["seconds"]
        result["lost_seconds"] = round(result["seconds"] - baseline["seconds"], 6)
        result["baseline_redone"] = baseline["redone"]
    result["exact"] = not result["wrong_elements"]
    result["right"] = not wrong
    result["wrong"] = wrong
    if dump:
        result["dump"] = os.path.join(trial.job.work, "hang.txt")
        with open(result["dump"], "w", encoding="utf-8") as file:
            file.write(dump)
    trial.job.close()
    return result


def baseline_of(testbed, fault, setting):
    """Run the same trial without the fault."""
    none = Fault()
    none.spare = fault.spare
    return run_trial(testbed, none, setting)


def text(result):
    """A result as a few lines for people"""
    lines = [f"{result['fault']}: {'right' if result['right'] else 'WRONG'}: "
             f"{result['operations']} operations, {result['blocks']} blocks, "
             f"{result['wrong_elements']} wrong elements, {result['redone']} blocks redone, "
             f"{result['retransmissions']} contributions sent again"]
    if "baseline_seconds" in result:
        lines.append(f"  {result['seconds']:.3f} s, {result['baseline_seconds']:.3f} s without "
                     f"the fault: {result['lost_seconds']:+.3f} s")
    for error in result["errors"]:
        lines.append(f"  rank {error['rank']}, round {error['round']}: {error['error']}, "
                     f"names {error['named']}")
    if result["killed"]:
        lines.append(f"  {result['killed']} rounds were killed")
    if result.get("injector"):
        lines.append("  injector: " + ", ".join(f"{k} {v}" for k, v in result["injector"].items()
                                                if v))
    if result.get("forged"):
        lines.append("  forged: " + ", ".join(f"{k} {v}" for k, v in result["forged"].items()))
    if "beyond" in result:
        lines.append(f"  members sent {result['beyond']:.3f} packets a hostile one beyond those of a run without")
    if "refused" in result:
        lines.append(f"  switches did not admit {result['refused']} packets")
    lines += [f"  {line}" for line in result["wrong"]]
    if "dump" in result:
        lines.append(f"  everything about it: {result['dump']}")
    return "\n".join(lines)
