# SPDX-License-Identifier: BSD-2-Clause
"""Open MPI's allreduce over TCP on the same hosts and links, to compare with."""
import json
import os
import shutil
import subprocess

from . import system
from .node import TOP

RANK = os.path.join(TOP, "topology/mpi_rank.py")

# mpirun starts the daemon of a node with this script, and names the node by its address. Daemons
# with the same host name remove each other's directories. They take a name up to its first dot.
AGENT = """#!/bin/sh
node=$1
shift
pid=$(grep "^$node " "{nodes}" | cut -d' ' -f2)
exec nsenter --net=/proc/$pid/ns/net unshare --uts sh -c 'hostname "$0" && exec sh -c "$*"' \
	"n$(echo "$node" | tr . -)" "$@"
"""

# Values of coll_tuned_allreduce_algorithm. None: Open MPI chooses.
ALGORITHMS = {"default": None, "recursive-doubling": 3, "ring": 4, "segmented-ring": 5,
              "rabenseifner": 6}


def available():
    """Return: None, or why Open MPI cannot be used"""
    if not shutil.which("mpirun"):
        return "mpirun is missing (package openmpi-bin)"
    done = system.run(["/usr/bin/python3", "-c", "import mpi4py, numpy"], capture_output=True)
    return None if done.returncode == 0 else "mpi4py is missing (package python3-mpi4py)"


class NotDone(RuntimeError):
    """The run took too long and was ended."""


def command(work, hosts, algorithm, program):
    """Words of mpirun for one PROGRAM on each of HOSTS, to be started on the first one"""
    nodes, agent = os.path.join(work, "nodes"), os.path.join(work, "agent")
    with open(nodes, "w", encoding="ascii") as file:
        file.writelines(f"{host.address} {host.pid}\n" for host in hosts)
    with open(agent, "w", encoding="ascii") as file:
        file.write(AGENT.replace("{nodes}", nodes))
    os.chmod(agent, 0o755)
    parameters = {"plm_rsh_agent": agent, "plm_rsh_no_tree_spawn": 1, "btl": "tcp,self", "pml": "ob1",
                  "btl_tcp_if_include": "10.64.0.0/16", "oob_tcp_if_include": "10.64.0.0/16",
                  # mpirun notices a daemon that ends, and cleans up after it
                  "orte_leave_session_attached": 1, "orte_tmpdir_base": work,
                  # processors are shared, so waiting ranks must not spin
                  "mpi_yield_when_idle": 1}
    if ALGORITHMS[algorithm]:
        parameters.update({"coll_tuned_use_dynamic_rules": 1,
                           "coll_tuned_allreduce_algorithm": ALGORITHMS[algorithm]})
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe",
             "--host", ",".join(f"{host.address}:1" for host in hosts)]
    for name, value in parameters.items():
        words += ["--mca", name, value]
    return [*words, *program]


def measure(work, hosts, algorithm, size, iterations, warmup, patience):
    """Seconds that an operation of SIZE bytes takes. RuntimeError says why there is no result."""
    program = ["/usr/bin/python3", RANK, size, iterations, warmup]
    process = system.start(command(work, hosts, algorithm, program), hosts[0].pid,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        said, complaints = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        system.stop(process, 2)
        raise NotDone(f"Open MPI, {algorithm}: not done after {patience} s") from None
    for line in said.splitlines():
        if line.startswith("{"):
            result = json.loads(line)
            if result["wrong"]:
                raise RuntimeError(f"Open MPI, {algorithm}: {result['wrong']} elements are wrong")
            return result["seconds"]
    raise RuntimeError(f"Open MPI, {algorithm}: {complaints.strip()[-2000:]}")
