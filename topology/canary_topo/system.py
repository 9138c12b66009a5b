# SPDX-License-Identifier: BSD-2-Clause
"""What the testbed asks of the kernel: work inside a node's namespace, and
processes that do not outlive the testbed. Nothing here is waited for without a limit."""
import contextlib
import ctypes
import fcntl
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_SIOCETHTOOL = 0x8946
_ETHTOOL_SGRO = 0x2C

# Names that belong to a testbed: of switches, and of the variable that every
# process of it has in its environment.
TESTBED_VARIABLE = "CANARY_TESTBED"
TESTBED_PREFIX = "cny"
RUN_DIRECTORY = "/run/canary"
WORK_PREFIX = "canary-topology-"

# Seconds that what ends by itself may take, however busy the machine is. A guest's clock may leap
# while a program is read; there the guest's own time is limited.
PATIENCE = 1000000 if os.environ.get("CANARY_GUEST") else 120
# Before a signal comes again
AGAIN = 0.01


def end_by_signals(*numbers):
    """Signals that end this process as sys.exit() does, so that it cleans up. Python swallows what
    is raised while a destructor runs: then it comes again, as SIGALRM, and the status is still that
    of the first one."""
    status = [128 + signal.SIGALRM]

    def end(number, _frame):
        if number != signal.SIGALRM:
            status[0] = 128 + number
        sys.exit(status[0])

    def swallowed(what):
        if issubclass(what.exc_type, SystemExit):
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
        else:
            sys.__unraisablehook__(what)

    sys.unraisablehook = swallowed
    for number in (signal.SIGALRM, *numbers):
        signal.signal(number, end)


def run(words, patience=PATIENCE, **kwargs):
    """subprocess.run() with a limit; RuntimeError if it takes longer."""
    words = [str(word) for word in words]
    try:
        return subprocess.run(words, timeout=patience, check=kwargs.pop("check", False), **kwargs)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{' '.join(words)[:200]}: no end after {patience} s") from None


def wait_until(condition, what, patience=PATIENCE):
    """Until CONDITION() holds, and what it returned; RuntimeError names WHAT if it never does."""
    end = time.monotonic() + patience
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not after {patience} s")
        time.sleep(0.02)


def testbed_name():
    """The name of this process's testbed; no other running one has it."""
    return f"{TESTBED_PREFIX}{os.getpid()}"


def work_directory():
    """A directory for files of this process's testbed."""
    return tempfile.mkdtemp(prefix=f"{WORK_PREFIX}{os.getpid()}.")


def _setns(fd):
    if _libc.setns(fd, _CLONE_NEWNET):
        err = ctypes.get_errno()
        raise OSError(err, f"setns: {os.strerror(err)}")


# Where this process began: a thread of it may be elsewhere when another one asks
_HOME = os.stat("/proc/self/ns/net")


def own_namespace(pid):
    """Whether PID has a network namespace other than this process's."""
    return not os.path.samestat(os.stat(f"/proc/{pid}/ns/net"), _HOME)


def check_node_starter():
    """Mininet waits for ever for a node's shell that mnexec could not start."""
    try:
        done = run(["mnexec", "-n", "true"], capture_output=True, text=True)
    except FileNotFoundError:
        raise RuntimeError("mnexec is missing (package mininet)") from None
    if done.returncode:
        raise RuntimeError("mnexec cannot make a network namespace (in a chroot, its root has to be "
                           f"a mount point): {(done.stdout + done.stderr).strip()}")


@contextlib.contextmanager
def namespace(pid):
    """This thread, and what it starts, in the network namespace of PID."""
    if not own_namespace(pid):
        raise RuntimeError(f"process {pid} has no network namespace of its own")
    back = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    try:
        _setns(there)
        try:
            yield
        finally:
            _setns(back)
    finally:
        os.close(there)
        os.close(back)


def batch(program, lines):
    """Lines for `ip` or `tc`, in one go; every refusal is an error."""
    if not lines:
        return
    done = run([program, "-batch", "-"], input="\n".join(lines) + "\n", capture_output=True,
               text=True)
    if done.returncode:
        raise RuntimeError(f"{program}: {done.stderr.strip()}")


def sysctl(values):
    """{"net/ipv4/ip_forward": 1, ...} in the namespace that this thread is in"""
    for name, value in values.items():
        with open(f"/proc/sys/{name}", "w", encoding="ascii") as file:
            file.write(f"{value}\n")


def receive_offload(devices):
    """Without GRO a veth drops, uncounted, what its peer redirects by XDP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for device in devices:
            value = ctypes.create_string_buffer(struct.pack("II", _ETHTOOL_SGRO, 1))
            request = struct.pack("16sP", device.encode(), ctypes.addressof(value))
            fcntl.ioctl(sock, _SIOCETHTOOL, request)


def _die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def start(command, pid=None, **kwargs):
    """A Popen of COMMAND, in the namespace of PID if given, that is ended when
    this process ends, however that comes."""
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    with contextlib.ExitStack() as stack:
        if pid is not None:
            stack.enter_context(namespace(pid))
        return subprocess.Popen([str(word) for word in command],
                                preexec_fn=_die_with_parent, **kwargs)


def stop(process, patience=5):
    """TERM, KILL if that does not help; the exit status."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait(PATIENCE)


def _owner_is_dead(name, prefix=TESTBED_PREFIX):
    digits = re.split("[-.]", name[len(prefix):])[0]
    return (name.startswith(prefix) and digits.isdigit()
            and not os.path.exists(f"/proc/{digits}"))


def _testbed_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            for item in file.read().split(b"\0"):
                name, _, value = item.partition(b"=")
                if name.decode(errors="replace") == TESTBED_VARIABLE:
                    return value.decode(errors="replace")
    except OSError:
        pass
    return ""


def sweep():
    """Ends what testbeds left behind whose owner is gone: processes (and with
    them their namespaces and links), sockets, files. Returns what it ended."""
    ended = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if _owner_is_dead(_testbed_of(pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
                ended.append(f"process {pid}")
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(RUN_DIRECTORY):
            if name.startswith("switch-") and _owner_is_dead(name[len("switch-"):]):
                os.unlink(os.path.join(RUN_DIRECTORY, name))
                ended.append(name)
    for name in os.listdir(tempfile.gettempdir()):
        if _owner_is_dead(name, WORK_PREFIX):
            shutil.rmtree(os.path.join(tempfile.gettempdir(), name), ignore_errors=True)
            ended.append(name)
    return ended
