#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The demonstration: eight hosts behind six XDP switches train a classifier on handwritten digits,
and sum their gradients through the network.

The kernel engine needs canary.ko. Where it is not loaded, all of this happens in a guest with
Debian's kernel. --engine user needs no module and runs here. The result is build/demo.json."""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from canary_topo import LeafSpine, arguments, experiment, jobs, system  # noqa: E402
from canary_topo.net import parse_rate  # noqa: E402
from canary_topo.node import TOP  # noqa: E402

SPINES, LEAVES, HOSTS = 2, 4, 2
MODULE = os.environ.get("CANARY_MODULE", os.path.join(TOP, "build/kmod/canary.ko"))
# Variables that tests may set. The guest gets them, too.
ENVIRONMENT = ("CANARY", "DIGITS", "DIGITS_DATA", "CANARY_MODULE")
GUEST = os.path.join(TOP, "selftests/vm/run.sh")
ACCURACY_AT_LEAST = 0.90
# Limit for the kernel engine. Its timing in the guest does not depend on other work of this
# machine.
CONTRIBUTIONS_AT_MOST = 1.1


def say(text=""):
    print(text, flush=True)


def module_loaded():
    return os.path.exists("/sys/module/canary")


def in_guest(args):
    """Run this program again where canary.ko can be loaded."""
    out = os.path.join(TOP, "build/demo")
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    say("This kernel does not have canary.ko, and it is left alone: the demonstration runs in a")
    say("guest with Debian's kernel and this machine's files (QEMU without KVM, so it takes some")
    say("minutes; its clock counts instructions).")
    command = [GUEST, "--icount", "--mem", "2G", "--timeout", str(args.patience), "--out", out]
    for name in ENVIRONMENT:
        if name in os.environ:
            command += ["--env", name]
    # The guest's clock may leap while it waits for a file, so the runner limits the time.
    command += ["--", "/usr/bin/python3", os.path.abspath(__file__), "--inside", "--engine", "kernel",
                "--patience", "1000000",
                "--switch-timeout", args.switch_timeout, "--rate", args.rate, "--epochs", str(args.epochs),
                "--gradients", args.gradients,
                "--json", os.path.join(out, "demo.json")]
    done = subprocess.run(command, check=False)
    try:
        with open(os.path.join(out, "demo.json"), encoding="utf-8") as file:
            return json.load(file)
    except (FileNotFoundError, ValueError):
        say(f"The guest ended with status {done.returncode} and left no result.")
        return None


def load_module(path):
    if not module_loaded():
        say(f"Loading {os.path.relpath(path, TOP)} into the guest's kernel.")
        needs = system.run(["modinfo", "-F", "depends", path], check=True,
                           capture_output=True, text=True).stdout.strip()
        for module in filter(None, needs.split(",")):
            system.run(["modprobe", module], check=True)
        system.run(["insmod", path], check=True)


def train(testbed, args, work, title):
    say(title)
    job = jobs.DigitsJob(work, ["--timeout", "3600s"],
                         ["--epochs", args.epochs, "--gradients", args.gradients])
    ranks = experiment.place(testbed.net, engine=args.engine)
    result = experiment.run(testbed, job, ranks, args.patience)
    for line in result["wrong"]:
        say(f"  WRONG: {line}")
    result["reference_hash"] = job.reference["weights_hash"]
    result["hashes"] = job.hashes()
    say(f"  {result['seconds']:.1f} s; a leader received {result['contributions_per_block']} "
        f"contributions per block; the links carried {result['link_packets']} packets, "
        f"{result['link_bytes']} bytes")
    return result


def demonstrate(args, work):
    """Train twice: over the switches, then over the same routers."""
    say(f"Starting {SPINES} spines, {LEAVES} leaves, {LEAVES * HOSTS} hosts; links of {args.rate}.")
    topo = LeafSpine(SPINES, LEAVES, HOSTS)
    with experiment.Testbed(topo, rate=parse_rate(args.rate), timeout=args.switch_timeout,
                            logs=work) as testbed:
        ranks = LEAVES * HOSTS
        switched = train(testbed, args, os.path.join(work, "switched"),
                         f"Training on {ranks} ranks, all {SPINES + LEAVES} switches adding up:")
        for switch in testbed.net.switches:
            switch.stop_program()
        routed = train(testbed, args, os.path.join(work, "routed"),
                       "The same again with the switch programs stopped, as plain routers:")
    return summary(switched, routed)


def summary(switched, routed):
    first = switched["ranks"][0]["output"]
    hashes = switched["hashes"] + routed["hashes"]
    saved = {name: routed[f"link_{name}"] - switched[f"link_{name}"] for name in ("packets", "bytes")}
    return {
        "accuracy": first.get("accuracy"),
        "gradients": first.get("gradients"),
        "digest": first.get("weights_hash"),
        "ranks_identical": len(set(hashes)) == 1,
        "reference_identical": set(hashes) == {switched["reference_hash"]},
        "contributions_per_block": switched["contributions_per_block"],
        "contributions_per_block_without": routed["contributions_per_block"],
        "engine": first.get("engine"),
        "engine_reason": first.get("engine_reason"),
        "engines": sorted({rank["engine"] for rank in switched["ranks"]}),
        "guest": False,
        "ranks": switched["members"],
        "seconds": switched["seconds"],
        "seconds_without": routed["seconds"],
        "packets_saved": saved["packets"],
        "bytes_saved": saved["bytes"],
        "bytes_with": switched["link_bytes"],
        "bytes_without": routed["link_bytes"],
        "right": switched["right"] and routed["right"],
        "switched": switched,
        "routed": routed,
    }


def tell(result):
    share = 100 * result["bytes_saved"] / max(1, result["bytes_without"])
    say()
    say(f"test accuracy                         {result['accuracy']}, {result['gradients']} gradients")
    say(f"digest of the weights                 {result['digest']}")
    say(f"all ranks have the same weights       {'yes' if result['ranks_identical'] else 'NO'}")
    say(f"and the same as a single process      {'yes' if result['reference_identical'] else 'NO'}")
    say(f"contributions per block at a leader   {result['contributions_per_block']} with switches, "
        f"{result['contributions_per_block_without']} without")
    say(f"saved on the links                    {result['packets_saved']} packets, "
        f"{result['bytes_saved']} bytes ({share:.0f} %)")
    say(f"engine                                {result['engine']}"
        f"{', in the guest' if result['guest'] else ''}")


def is_good(result):
    few = (result["engine"] != "kernel"
           or (result["contributions_per_block"] or 99) <= CONTRIBUTIONS_AT_MOST)
    return bool(few and result["right"] and result["ranks_identical"]
                and result["reference_identical"] and (result["accuracy"] or 0) >= ACCURACY_AT_LEAST)


def run_here(args):
    system.sweep()
    work = system.work_directory()
    try:
        if args.inside:
            load_module(MODULE)
        result = demonstrate(args, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    result["guest"] = args.inside
    return result


def parse(argv):
    parser = arguments.Parser(__doc__)
    add = parser.add_argument
    add("--engine", choices=["kernel", "user"], default="kernel")
    add("--rate", type=arguments.taken_by(parse_rate), default="100mbit",
        help="of all links, 1kbit to 1000gbit (%(default)s)")
    add("--epochs", type=arguments.number(int, 1, 10000), default=30,
        help="times through the data, 1 to 10000 (%(default)s)")
    add("--gradients", choices=["float32", "bfloat16", "int32"], default="float32",
        help="the type that they are added up in (%(default)s)")
    add("--switch-timeout", type=arguments.taken_by(arguments.switch_option("timeout")), default="1ms",
        help="how long a switch waits for more (%(default)s)")
    add("--json", type=arguments.taken_by(arguments.writable),
        default=os.path.join(TOP, "build/demo.json"), help="file for the result (build/demo.json)")
    add("--patience", type=arguments.number(int, 1, 1000000), default=540,
        help="seconds until it is given up (%(default)s)")
    add("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def write(path, what):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(what, file, indent=1)
        file.write("\n")


def main(argv=None):
    args = parse(argv)
    system.end_by_signals(signal.SIGTERM, signal.SIGHUP)
    if args.engine == "kernel" and not args.inside and not module_loaded():
        result = in_guest(args)
    else:
        result = run_here(args)
    if result is None:
        return 1
    if args.inside:
        write(args.json, result)
        return 0
    runs = args.json.removesuffix(".json") + "-runs.json"
    write(runs, {name: result.pop(name) for name in ("switched", "routed")})
    write(args.json, result)
    tell(result)
    say(f"written to {os.path.relpath(args.json)}; counters of all ranks, switches and links to "
        f"{os.path.relpath(runs)}")
    return 0 if is_good(result) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, OSError) as error:
        print(f"demo.py: {error}", file=sys.stderr)
        sys.exit(2)
