# SPDX-License-Identifier: BSD-2-Clause
"""Nodes of a testbed: each has a network namespace of its own."""
import json
import os
import subprocess
import time
import zlib

from mininet.node import Host, Switch

from . import system

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CANARY = os.environ.get("CANARY", os.path.join(TOP, "build/bin/canary"))

# Everything here is routed, and answers may take another way than questions.
ROUTER_SYSCTLS = {
    "net/ipv4/ip_forward": 1,
    "net/ipv4/conf/all/rp_filter": 0,
    "net/ipv4/conf/default/rp_filter": 0,
    # By what packets say, as hardware does: addresses, protocol and ports. Policy 1 would take
    # the hash of the sender's socket if that is connected: a random one, and the same for all
    # routers, so that flows that took one way at a switch never part at the next one.
    "net/ipv4/fib_multipath_hash_policy": 3,
    "net/ipv4/fib_multipath_hash_fields": 0x37,
}
HOST_SYSCTLS = {
    "net/ipv4/conf/all/rp_filter": 0,
    "net/ipv4/conf/default/rp_filter": 0,
}
# Since Linux 6.10: or all routers choose alike
HASH_SEED = "net/ipv4/fib_multipath_hash_seed"
# Before it the levels of a network choose differently, for half of them leave out the protocol
HASH_FIELDS_OF_OTHERS = {"net/ipv4/fib_multipath_hash_fields": 0x33}
QUIET_SYSCTLS = {"net/ipv6/conf/all/disable_ipv6": 1,
                 "net/ipv6/conf/default/disable_ipv6": 1}


class SwitchError(RuntimeError):
    """A switch did not start, or did not answer."""


class CanaryHost(Host):
    """A host. Ranks are processes in its namespace; their engine is theirs to
    choose."""

    sysctls = HOST_SYSCTLS

    @staticmethod
    def own_sysctls(_level):
        """As a switch has them"""
        return {}

    @property
    def address(self):
        """The address that ranks here are members with."""
        return self.params["address"]

    def start_process(self, command, **kwargs):
        """A process here that ends with the testbed."""
        return system.start(command, self.pid, **kwargs)


class XdpSwitch(Switch):
    """A router with a loopback address that runs the switch program on all its
    ports, unless PROGRAM is false. TIMEOUT is the program's; SPREAD is what
    block numbers are divided by before it chooses."""

    sysctls = ROUTER_SYSCTLS
    # A switch program is loaded and verified, on a slow machine for long.
    patience = 300 if os.environ.get("CANARY_GUEST") else 60
    # Seconds that it may take to answer; the guest's clock may leap while a program is read.
    answers = 1000000 if os.environ.get("CANARY_GUEST") else 30

    def __init__(self, name, program=True, mode="shaped", timeout="1ms",
                 options=(), log=None, spread=1, **params):
        # Names end in a number of their own or not at all: Mininet's is unused
        params.setdefault("dpid", f"{abs(hash(name)) & 0xffffffff:x}")
        # Mininet's switches are in the machine's own namespace: never ours
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
        """Those that differ from switch to switch; LEVEL is how far from hosts it is"""
        if not os.path.exists(f"/proc/sys/{HASH_SEED}"):
            return {} if level % 2 else HASH_FIELDS_OF_OTHERS
        return {HASH_SEED: zlib.crc32(self.name.encode()) | 1}

    @property
    def address(self):
        """The loopback address, the same on all ports."""
        return self.params["address"]

    @property
    def full_name(self):
        """What the daemon is called: unique on this machine."""
        return f"{system.testbed_name()}-{self.name}"

    def start(self, controllers):
        """Starts the daemon; batchStartup() waits for it."""
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
        """Until the daemon says that it is attached."""
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
        """All daemons start at the same time."""
        for switch in switches:
            switch.wait_ready()
        return switches

    def stop_program(self):
        """Stops the daemon: what is left is a plain router."""
        status = 0
        if self.daemon:
            status = system.stop(self.daemon)
            self.daemon.stdout.close()
            self.daemon = None
        return status

    def stop(self, deleteIntfs=True):  # noqa: N803
        """Mininet's stop."""
        self.stop_program()
        super().stop(deleteIntfs)

    def _ask(self, *words):
        """What `canary switch WORDS` of the running daemon says."""
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
        """Changes settings of the running daemon: choice, trees, timeout, ..."""
        if self.daemon:
            self._ask("set", *(word for name, value in settings.items()
                               for word in (f"--{name}", value)))

    def show(self):
        """The daemon's counters; None without a program."""
        if not self.daemon:
            return None
        shown = json.loads(self._ask("show", "-j"))
        return shown[0] if isinstance(shown, list) else shown


class PlainRouter(XdpSwitch):
    """A router as anybody has."""

    def __init__(self, name, **params):
        params["program"] = False
        super().__init__(name, **params)
