# SPDX-License-Identifier: BSD-2-Clause
"""What the testbed asks of the kernel: work inside a node's namespace, and processes that do not
outlive the testbed. Every wait here has a limit."""
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

# Prefixes of names of switches and files of a testbed, and the variable that every process of a
# testbed has in its environment
TESTBED_VARIABLE = "CANARY_TESTBED"
TESTBED_PREFIX = "cny"
RUN_DIRECTORY = "/run/canary"
WORK_PREFIX = "canary-topology-"

# Seconds to wait for something that ends by itself, however busy the machine is. In a guest it is
# unlimited, as the clock may leap while a program is read. The runner limits the guest's own time.
PATIENCE = 1000000 if os.environ.get("CANARY_GUEST") else 120
# Seconds before a signal is repeated
AGAIN = 0.01


def end_by_signals(*numbers):
    """Make these signals end the process as sys.exit() does, so that it cleans up. Python discards
    an exception that is raised in a destructor. Then SIGALRM repeats it, with the status of the
    first signal."""
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
    """subprocess.run() with a time limit. RuntimeError if it takes longer."""
    words = [str(word) for word in words]
    try:
        return subprocess.run(words, timeout=patience, check=kwargs.pop("check", False), **kwargs)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{' '.join(words)[:200]}: no end after {patience} s") from None


def wait_until(condition, what, patience=PATIENCE):
    """Wait until CONDITION() is true, and return its value. RuntimeError names WHAT if it takes too
    long."""
    end = time.monotonic() + patience
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not after {patience} s")
        time.sleep(0.02)


def testbed_name():
    """Name of this process's testbed. No other running testbed has it."""
    return f"{TESTBED_PREFIX}{os.getpid()}"


def work_directory():
    """Make a directory for files of this process's testbed."""
    return tempfile.mkdtemp(prefix=f"{WORK_PREFIX}{os.getpid()}.")


def _setns(fd):
    if _libc.setns(fd, _CLONE_NEWNET):
        err = ctypes.get_errno()
        raise OSError(err, f"setns: {os.strerror(err)}")


# Namespace in which this process began. A thread may be in another one when somebody asks.
_HOME = os.stat("/proc/self/ns/net")


def own_namespace(pid):
    """Has PID another network namespace than this process?"""
    return not os.path.samestat(os.stat(f"/proc/{pid}/ns/net"), _HOME)


def check_node_starter():
    """Raise an error if mnexec does not work: Mininet would wait for a node's shell for ever."""
    try:
        done = run(["mnexec", "-n", "true"], capture_output=True, text=True)
    except FileNotFoundError:
        raise RuntimeError("mnexec is missing (package mininet)") from None
    if done.returncode:
        raise RuntimeError("mnexec cannot make a network namespace (in a chroot, its root has to be "
                           f"a mount point): {(done.stdout + done.stderr).strip()}")


@contextlib.contextmanager
def namespace(pid):
    """Put this thread, and what it starts, into the network namespace of PID."""
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
    """Give lines to `ip` or `tc` in one run. Every refusal is an error."""
    if not lines:
        return
    done = run([program, "-batch", "-"], input="\n".join(lines) + "\n", capture_output=True,
               text=True)
    if done.returncode:
        raise RuntimeError(f"{program}: {done.stderr.strip()}")


def sysctl(values):
    """Set {"net/ipv4/ip_forward": 1, ...} in the namespace of this thread."""
    for name, value in values.items():
        with open(f"/proc/sys/{name}", "w", encoding="ascii") as file:
            file.write(f"{value}\n")


def receive_offload(devices):
    """Switch on GRO. Without it a veth drops, uncounted, what its peer redirects by XDP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for device in devices:
            value = ctypes.create_string_buffer(struct.pack("II", _ETHTOOL_SGRO, 1))
            request = struct.pack("16sP", device.encode(), ctypes.addressof(value))
            fcntl.ioctl(sock, _SIOCETHTOOL, request)


def _die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def start(command, pid=None, **kwargs):
    """Start COMMAND, in the namespace of PID if it is given. It ends when this process ends,
    however that happens."""
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    with contextlib.ExitStack() as stack:
        if pid is not None:
            stack.enter_context(namespace(pid))
        return subprocess.Popen([str(word) for word in command],
                                preexec_fn=_die_with_parent, **kwargs)


def stop(process, patience=5):
    """Send TERM, and KILL if that does not help. Return: the exit status"""
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
    """End what remains of testbeds whose owner is gone: processes (and so their namespaces and
    links), sockets, files. Return: what was ended"""
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
