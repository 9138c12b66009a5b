# SPDX-License-Identifier: BSD-2-Clause
"""Nodes of a testbed, each with a network namespace of its own."""
import json
import os
import subprocess
import time
import zlib

from mininet.node import Host, Switch

from . import system

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CANARY = os.environ.get("CANARY", os.path.join(TOP, "build/bin/canary"))

# All nodes are routed, and answers may take another way than questions.
ROUTER_SYSCTLS = {
    "net/ipv4/ip_forward": 1,
    "net/ipv4/conf/all/rp_filter": 0,
    "net/ipv4/conf/default/rp_filter": 0,
    # Hash what packets say, as hardware does: addresses, protocol and ports. With policy 1 the
    # kernel would use the hash of the sender's socket if that is connected. It is random, and the
    # same at all routers. Flows that take one way at a switch would then never part at the next
    # one.
    "net/ipv4/fib_multipath_hash_policy": 3,
    "net/ipv4/fib_multipath_hash_fields": 0x37,
}
HOST_SYSCTLS = {
    "net/ipv4/conf/all/rp_filter": 0,
    "net/ipv4/conf/default/rp_filter": 0,
}
# Linux 6.10 and later; without it all routers choose alike
HASH_SEED = "net/ipv4/fib_multipath_hash_seed"
# For older kernels: half of the levels leave out the protocol, so that levels choose differently.
HASH_FIELDS_OF_OTHERS = {"net/ipv4/fib_multipath_hash_fields": 0x33}
QUIET_SYSCTLS = {"net/ipv6/conf/all/disable_ipv6": 1,
                 "net/ipv6/conf/default/disable_ipv6": 1}


class SwitchError(RuntimeError):
    """A switch did not start, or did not answer."""


class CanaryHost(Host):
    """A host. Ranks are processes in its namespace, and choose their engine."""

    sysctls = HOST_SYSCTLS

    @staticmethod
    def own_sysctls(_level):
        """The counterpart of a switch's method"""
        return {}

    @property
    def address(self):
        """The address of ranks on this host"""
        return self.params["address"]

    def start_process(self, command, **kwargs):
        """Start a process here that ends with the testbed."""
        return system.start(command, self.pid, **kwargs)


class XdpSwitch(Switch):
    """A router with a loopback address that runs the switch program on all its ports, unless
    PROGRAM is false. TIMEOUT is the program's. SPREAD divides block numbers before it chooses."""

    sysctls = ROUTER_SYSCTLS
    # On a slow machine it takes long to load and verify a program.
    patience = 300 if os.environ.get("CANARY_GUEST") else 60
    # Seconds for an answer. The guest's clock may leap while a program is read.
    answers = 1000000 if os.environ.get("CANARY_GUEST") else 30

    def __init__(self, name, program=True, mode="shaped", timeout="1ms",
                 options=(), log=None, spread=1, **params):
        # Mininet takes this number from the digits in a name. Names here may have none, and the
        # number is unused.
        params.setdefault("dpid", f"{abs(hash(name)) & 0xffffffff:x}")
        # Mininet's switches are in the machine's own namespace. Ours never are.
        params["inNamespace"] = True
        super().__init__(name, **params)
        self.program = program
        self.mode = mode
        self.timeout = timeout
        self.options = list(options)
        self.daemon = None
        self.log = log
        self.spread = spread

    def own_sysctls(self, level):
        """Sysctls that differ from switch to switch. LEVEL is the distance from hosts."""
        if not os.path.exists(f"/proc/sys/{HASH_SEED}"):
            return {} if level % 2 else HASH_FIELDS_OF_OTHERS
        return {HASH_SEED: zlib.crc32(self.name.encode()) | 1}

    @property
    def address(self):
        """The loopback address. It belongs to all ports."""
        return self.params["address"]

    @property
    def full_name(self):
        """Name of the daemon, unique on this machine"""
        return f"{system.testbed_name()}-{self.name}"

    def start(self, controllers):
        """Start the daemon. batchStartup() waits for it."""
        if not self.program or self.daemon:
            return
        ports = ",".join(f"{port}:{self.mode}" for port in self.intfNames() if port != "lo")
        command = [CANARY, "switch", "run", "--ports", ports, "--address", self.address,
                   "--mode", self.mode, "--timeout", self.timeout,
                   # many switches share this machine's memory
                   "--slots", "4096", "--spread", self.spread, "--name", self.full_name, *self.options]
        with open(self.log or os.devnull, "ab") as log:
            self.daemon = system.start(command, self.pid, stdout=subprocess.PIPE, stderr=log)
        os.set_blocking(self.daemon.stdout.fileno(), False)

    def wait_ready(self):
        """Wait until the daemon says that it is attached."""
        if not self.daemon:
            return
        said, end = b"", time.monotonic() + self.patience
        while b" ready" not in said:
            data = self.daemon.stdout.read()
            said += data or b""
            if self.daemon.poll() is not None:
                raise SwitchError(f"{self.name}: the switch ended with status "
                                  f"{self.daemon.returncode}{self._last_words()}")
            if time.monotonic() > end:
                raise SwitchError(f"{self.name}: the switch is not ready after "
                                  f"{self.patience} s{self._last_words()}")
            if not data:
                time.sleep(0.01)

    def _last_words(self):
        if not self.log:
            return ""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return ": " + " | ".join(file.read().strip().splitlines()[-3:])

    @classmethod
    def batchStartup(cls, switches):  # noqa: N802, Mininet's name
        """Start all daemons side by side."""
        for switch in switches:
            switch.wait_ready()
        return switches

    def stop_program(self):
        """Stop the daemon. What is left is a plain router."""
        status = 0
        if self.daemon:
            status = system.stop(self.daemon)
            self.daemon.stdout.close()
            self.daemon = None
        return status

    def stop(self, deleteIntfs=True):  # noqa: N803
        """Stop the program, then the node, as Mininet asks."""
        self.stop_program()
        super().stop(deleteIntfs)

    def _ask(self, *words):
        """Output of `canary switch WORDS` for the running daemon"""
        command = [CANARY, "switch", words[0], "--name", self.full_name, *map(str, words[1:])]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=self.answers,
                                  check=False)
        except subprocess.TimeoutExpired:
            raise SwitchError(f"{self.name}: switch {words[0]}: no answer in {self.answers} s") from None
        if done.returncode:
            raise SwitchError(f"{self.name}: switch {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def set(self, **settings):
        """Change settings of the running daemon: choice, trees, timeout, ..."""
        if self.daemon:
            self._ask("set", *(word for name, value in settings.items()
                               for word in (f"--{name}", value)))

    def show(self):
        """State of the daemon; None without a program"""
        if not self.daemon:
            return None
        shown = json.loads(self._ask("show", "-j"))
        return shown[0] if isinstance(shown, list) else shown


class PlainRouter(XdpSwitch):
    """A plain router."""

    def __init__(self, name, **params):
        params["program"] = False
        super().__init__(name, **params)
