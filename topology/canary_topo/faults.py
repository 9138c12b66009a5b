# SPDX-License-Identifier: BSD-2-Clause
"""Faults, each as an experiment: what is done, and how the ranks have to end. The ranks' own
progress decides when something is done, and never a clock."""
import json
import os
import signal
import subprocess
import time

from . import system
from .node import TOP
from .trial import Failure, add_faults, remove_faults

FORGE = os.environ.get("CANARY_FAULT_FORGE", os.path.join(TOP, "build/selftests/faults/forge"))
# Rate of an attacker on links without a rate. In the guest, it is what the processor can send and
# still do the other work.
FORGE_RATE = 20_000_000 if os.environ.get("CANARY_GUEST") else 100_000_000
DEAD = ("EHOSTDOWN", "ECONNRESET")


class Fault:
    """No fault. All ranks have to finish without an error."""

    name = "none"
    help = "nothing goes wrong"
    rounds = 1
    # whether the fault happens in the middle of an operation, which needs long vectors
    long = False
    # least number of operations in a round
    least = 1
    # number of hosts, from the end, that have no rank
    spare = 0

    def possible(self, testbed, members):
        """Does this fault make sense on that testbed?"""
        return True

    def options(self, trial_members):
        """Further options of the worker"""
        return []

    def before(self, trial):
        """Called before the ranks start."""

    def during(self, trial):
        """Called while they run."""

    def after(self, trial):
        """Called at the end, whatever happened: leaves the testbed as it was."""

    def expected(self, trial):
        """Return: {round: Failure} of the rounds that must fail"""
        return {}

    def check(self, trial, result, baseline):
        """Return: further lines that say what is wrong. With trial.notes["strict"] they may include
        what only holds on a machine that is not too busy."""
        return []


class Links(Fault):
    """The injector on both ends of all links."""

    def __init__(self, name, faults, help_):
        self.name = name
        self.faults = faults
        self.help = help_
        self.seed = 1

    def before(self, trial):
        add_faults(trial.net, self.faults, trial.notes["seed"])

    def after(self, trial):
        trial.notes["injector"] = remove_faults(trial.net)

    def check(self, trial, result, baseline):
        return [] if trial.notes["injector"].get("seen") else ["the injector saw no packet"]


class Netem(Fault):
    """netem on both ends of all links, if the kernel has it."""

    def __init__(self, name, words, help_):
        self.name = name
        self.words = words
        self.help = help_

    def possible(self, testbed, members):
        return bool(os.environ.get("CANARY_GUEST")) and not testbed.net.rate

    def before(self, trial):
        for node, device in trial.net.ports():
            with system.namespace(node.pid):
                system.batch("tc", [f"qdisc replace dev {device} root netem limit 10000 {self.words}"])

    def after(self, trial):
        for node, device in trial.net.ports():
            with system.namespace(node.pid):
                system.batch("tc", [f"qdisc del dev {device} root"])


class Middle(Fault):
    """A fault that happens while blocks are under way. Rank 0 does not post its last operation
    before it has happened, so that it is never too late."""

    long = True
    least = 2

    def options(self, trial_members):
        return ["--plan", "0:0:last:hold"]

    @staticmethod
    def wait(trial, part=4):
        """Wait until rank 0 has done 1/PART of its first operation."""
        need = trial.notes["blocks_per_operation"] // part
        trial.until(lambda: trial.progress(0)["round_blocks"] >= max(1, need))
        now = trial.progress(0)
        trial.notes["at"] = {"round_blocks": now["round_blocks"], "completed": now["completed"]}


def running(net, prefix=""):
    """Switches that run the program, spines first"""
    found = [switch for switch in net.switches if switch.daemon and switch.name.startswith(prefix)]
    return found or [switch for switch in net.switches if switch.daemon]


class SwitchKill(Middle):
    """The daemon is killed. What is left is a plain router."""

    name = "switch-kill"
    help = "a switch daemon is killed in the middle of an operation (SIGKILL; a plain router is left)"
    prefix = "sspine"
    again = False

    def possible(self, testbed, members):
        return bool(running(testbed.net))

    def during(self, trial):
        self.wait(trial)
        switch = running(trial.net, self.prefix)[0]
        trial.notes["switch"] = switch
        switch.daemon.send_signal(signal.SIGKILL)
        switch.stop_program()
        if self.again:
            switch.start(None)
            switch.wait_ready()
        trial.release()

    def after(self, trial):
        switch = trial.notes.pop("switch", None)
        if switch and not switch.daemon:
            switch.start(None)
            switch.wait_ready()

    def check(self, trial, result, baseline):
        # The operation goes on. Only what the switch held, about a window, is done again.
        most = baseline["redone"] + result["blocks"] // 4 if baseline else None
        if trial.notes["strict"] and most is not None and result["redone"] > most:
            return [f"{result['redone']} blocks were redone, expected at most {most}"]
        return []


class SwitchReboot(SwitchKill):
    """The daemon is killed and started again, without its soft state."""

    name = "switch-reboot"
    help = "a switch loses all its soft state in the middle of an operation (daemon killed and started)"
    again = True


class LeafKill(SwitchKill):
    """A leaf fails: the ranks behind it lose their first aggregator."""

    name = "leaf-kill"
    help = "the same with the switch next to hosts"
    prefix = "sleaf"

    def possible(self, testbed, members):
        return any(switch.name.startswith("sleaf") for switch in running(testbed.net))


class LinkDown(Middle):
    """A link between switches fails. Routes follow when packets are stuck."""

    name = "link-down"
    help = "a link between two switches goes down in the middle of an operation, then routes change"

    def possible(self, testbed, members):
        return self.link(testbed.net) is not None

    @staticmethod
    def link(net):
        """A link that others can replace"""
        for switch in net.switches:
            inner = [port for port in net.plan.ports[switch.name]
                     if port.peer.node in net.plan.routers]
            if switch.name.startswith("sleaf") and len(inner) > 1:
                return inner[0]
        return None

    def during(self, trial):
        self.wait(trial)
        port = self.link(trial.net)
        trial.notes["port"] = port
        trial.net.link_down(port)
        trial.release()
        trial.net.reroute({port})

    def after(self, trial):
        port = trial.notes.pop("port", None)
        if port:
            trial.net.link_up(port)
            trial.net.reroute(set())


class MemberKill(Fault):
    """A rank is killed. The others are told which rank is missing. Then all join anew."""

    help = "a rank is killed in the middle (SIGKILL); the others name it; all form the communicator anew"
    rounds = 2
    least = 2

    def __init__(self, name="member-kill", victim=-1):
        self.name = name
        self.victim = victim

    def number(self, members):
        return self.victim % members

    def possible(self, testbed, members):
        return members >= 2

    def options(self, trial_members):
        return ["--plan", f"{self.number(trial_members)}:0:1:die", "--dead-after", "1s"]

    def expected(self, trial):
        victim = self.number(trial.members)
        return {0: Failure([victim], DEAD, exempt=[victim])}


class HostCut(Fault):
    """The link of a host goes down: for the others, all ranks there are dead."""

    name = "host-cut"
    help = "a host's link goes down until the others have named its ranks; then all form anew"
    rounds = 2
    least = 2

    def possible(self, testbed, members):
        return members >= 3

    def options(self, trial_members):
        return ["--dead-after", "1s", "--plan", "0:0:1:hold"]

    def during(self, trial):
        # all but rank 0 have posted the second operation
        trial.until(lambda: all(trial.progress(rank.number)["posted"] > (rank.number > 0)
                                for rank in trial.ranks))
        host = trial.ranks[-1].host
        port = trial.net.plan.ports[host.name][0]
        trial.notes["port"] = port
        trial.net.link_down(port)
        trial.release()
        trial.until(lambda: all(trial.progress(rank.number)["failed"] for rank in trial.ranks))
        self.after(trial)

    def after(self, trial):
        port = trial.notes.pop("port", None)
        if port:
            trial.net.link_up(port)
            trial.net.reroute(set())

    def expected(self, trial):
        host = trial.ranks[-1].host
        cut = [rank.number for rank in trial.ranks if rank.host is host]
        return {0: Failure(cut, DEAD, exempt=cut, some=True)}


class Slow(Fault):
    """A slow rank only costs waiting."""

    name = "slow"
    help = "a rank computes 300 ms longer than the rest: no attempt, no fallback, no error"
    least = 2
    milliseconds = 300

    def options(self, trial_members):
        return ["--plan", f"{trial_members - 1}:0:1:slow:{self.milliseconds}"]

    def check(self, trial, result, baseline):
        wrong = []
        if result["seconds"] < self.milliseconds / 1000:
            wrong.append(f"took {result['seconds']} s: nobody was slow")
        for name in ("redone", "bypass", "tag_mismatch"):
            if trial.notes["strict"] and result[name] and (not baseline or not baseline[name]):
                wrong.append(f"{name} is {result[name]}")
        return wrong


class Restart(Fault):
    """A job is killed and restarted. Packets of its past are still in the queues."""

    rounds = 3
    least = 3

    def __init__(self, name, links, help_):
        self.name = name
        self.links = links
        self.help = help_

    def options(self, trial_members):
        return ["--same-id", "--launched", "--plan", "all:0:1:die", "--plan", "all:1:2:die",
                "--inflight", "2"]

    def before(self, trial):
        add_faults(trial.net, self.links, trial.notes["seed"])

    def during(self, trial):
        trial.launch(self.rounds)

    def after(self, trial):
        trial.notes["injector"] = remove_faults(trial.net)

    def expected(self, trial):
        everybody = [rank.number for rank in trial.ranks]
        return {0: Failure(None, (), exempt=everybody), 1: Failure(None, (), exempt=everybody)}


class Mismatch(Fault):
    """One rank does something else than the others."""

    rounds = 2
    least = 2

    def __init__(self, name, plan, help_):
        self.name = name
        self.plan = plan
        self.help = help_

    def options(self, trial_members):
        return ["--plan", f"{trial_members - 1}:0:{self.plan}"]

    def expected(self, trial):
        odd = trial.members - 1
        named = [odd] if trial.members > 2 else [0, 1]
        return {0: Failure(named, ("EPROTO",))}


class Forge(Fault):
    """A host that is no member sends forged packets at its link's rate. That must cost no more than
    a flood. If it sees the packets of a member, switches are told whose contributions they may
    merge."""

    spare = 1
    long = True

    def __init__(self, kind, observed, name=None):
        self.kind = kind
        self.observed = observed
        self.name = name or f"forged-{kind}" + ("-observed" if observed else "")
        self.admission = observed
        what = "all messages" if kind == "all" else kind
        how = "headers seen on a member's link" if observed else "guessed headers"
        self.help = f"a storm of forged {what}, with {how}" + \
                    ("; switches admit members only" if observed else "")

    def possible(self, testbed, members):
        return members >= 2 and len(testbed.net.hosts) > 2

    def options(self, trial_members):
        hold = ["--plan", "0:0:last:hold"] if self.observed else []
        return ["--key", "00112233445566778899aabbccddeeff", *hold]

    def during(self, trial):
        if not self.observed:
            return
        # The last operation begins when the forger knows what it has seen.
        said = trial.notes["process"].stdout
        os.set_blocking(said.fileno(), False)
        trial.until(lambda: said.read(1))
        os.set_blocking(said.fileno(), True)
        trial.release()

    def before(self, trial):
        host = trial.net.hosts[-1]
        used = {rank.host.name for rank in trial.ranks}
        if host.name in used:
            raise RuntimeError(f"{self.name}: there is no host without a rank")
        command = [FORGE, "--kind", self.kind, "--comm", trial.comm, "--members", trial.members,
                   "--own", host.address, "--rate", trial.net.rate or FORGE_RATE,
                   "--seed", trial.notes["seed"]]
        for rank in trial.ranks:
            command += ["--member", rank.member]
        for switch in trial.net.switches:
            command += ["--switch", switch.address]
        if self.observed:
            victim = trial.ranks[-1].host
            device = trial.net.plan.ports[victim.name][0].device
            command += ["--sniff", f"/proc/{victim.pid}/ns/net:{device}"]
        if self.admission:
            trial.net.admit(trial.comm, used)
            trial.notes["refused"] = self.refused(trial)
        trial.notes["process"] = host.start_process(command, stdout=subprocess.PIPE)
        device = trial.net.plan.ports[host.name][0].device
        # The forger has to be at work before the ranks.
        end = time.monotonic() + system.PATIENCE
        while trial.net.link_bytes()[f"{host.name}:{device}"]["tx_packets"] < 100:
            if trial.notes["process"].poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{self.name}: the forger does not send")
            time.sleep(0.01)

    def after(self, trial):
        process = trial.notes.pop("process", None)
        if process:
            process.terminate()
            trial.notes["forged"] = json.loads(
                (process.communicate(timeout=system.PATIENCE)[0].splitlines() or ["{}"])[-1])
        if "refused" in trial.notes:
            trial.notes["refused"] = self.refused(trial) - trial.notes["refused"]
            trial.net.admit(None, None)

    @staticmethod
    def refused(trial):
        """Number of packets that switches did not admit"""
        states = [state for state in trial.testbed.switch_states().values() if state]
        return sum(state["counters"]["bypass-admission"] + state["counters"]["marked"] +
                   state["drops"]["admission"] for state in states)

    def check(self, trial, result, baseline):
        forged = trial.notes.get("forged", {})
        wrong = []
        if self.observed and not forged.get("observed"):
            wrong.append("the forger saw no packet")
        if forged.get("results_read"):
            wrong.append(f"{forged['results_read']} results were sent to the forger")
        if trial.notes.get("refused") == 0 and self.kind != "rendezvous":
            wrong.append("switches admitted everything")
        return wrong


class Hostile(Forge):
    """A host that sees a member's packets, and needs no answers, sends hostile packets of every
    type. Members are out of step meanwhile."""

    # packets of members for each of its packets
    most = 2

    def __init__(self, when, help_, plan):
        super().__init__("hostile", True, f"hostile-{when}")
        self.plan = plan
        self.help = f"random, replayed, altered and truncated packets of every type, {help_}; " \
                    "switches admit members only"

    def options(self, trial_members):
        plan = [word for text in self.plan(trial_members) for word in ("--plan", text)]
        return [*super().options(trial_members), *plan]

    def check(self, trial, result, baseline):
        wrong = super().check(trial, result, baseline)
        sent = trial.notes.get("forged", {}).get("sent")
        if sent and baseline:
            result["beyond"] = round((result["host_packets"] - baseline["host_packets"]) / sent, 4)
            if result["beyond"] > self.most:
                wrong.append(f"members sent {result['beyond']} packets for each hostile one, beyond those of a "
                             f"run without: more than {self.most}")
        return wrong


ALL = [
    Links("drop", "drop=1%", "1 % of packets are lost, on each link"),
    Links("drop-heavy", "drop=5%", "5 % of packets are lost, on each link"),
    Links("burst", "drop=2%,burst=8", "losses of eight packets in a row"),
    Links("duplicate", "duplicate=5%", "5 % of packets come twice"),
    Links("reorder", "reorder=5%", "5 % of packets come a millisecond late"),
    Links("corrupt", "corrupt=0.5%", "a bit of 0.5 % of packets is wrong"),
    Links("all-links", "drop=1%,duplicate=1%,reorder=1%,corrupt=0.1%,delay=1ms~500us", "all of that"),
    Netem("netem-loss", "loss gemodel 1% 25% 100% 0.1%", "netem: bursts of loss (Gilbert-Elliott)"),
    Netem("netem-mess", "delay 2ms 1ms reorder 10% duplicate 2% corrupt 0.2%",
          "netem: jitter, reordering, duplication, corruption"),
    SwitchKill(),
    SwitchReboot(),
    LeafKill(),
    LinkDown(),
    MemberKill(),
    MemberKill("root-kill", 0),
    HostCut(),
    Slow(),
    Restart("restart", "delay=20ms",
            "a job crashes and is launched again with the same id at once, with old packets still on links of 20 ms"),
    Restart("restart-drop", "delay=20ms,drop=5%",
            "the same where links also lose 5 %: ranks crash before others are connected"),
    Mismatch("lengths", "0:shift", "one rank posts 101 + 99 blocks where the others post 100 + 100"),
    Mismatch("longer", "1:longer", "one rank's vector is a block longer"),
    Mismatch("operation", "1:barrier", "one rank calls a barrier where the others sum"),
]
ALL += [Forge(kind, observed) for observed in (False, True)
        for kind in ("contributions", "results", "restorations", "rendezvous", "all")]
ALL.append(Forge("overtaking", True, "forged-overtaking"))
ALL += [
    Hostile("late", "while a member posts late", lambda members: [f"{members - 1}:0:1:slow:300"]),
    # rank 0 posts its last operation only when the hostile host has been at work for long
    Hostile("never", "while a member does not post for as long as it is watched", lambda members: []),
    Hostile("apart", "while members post out of step",
            lambda members: [f"{rank}:0:{rank % 2}:slow:{50 + 50 * (rank % 5)}" for rank in range(members)]),
]
FAULTS = {fault.name: fault for fault in ALL}
