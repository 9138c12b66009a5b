#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Numbered datagrams, to see what a link does to them.

send ADDRESS sends them. receive prints one line for each datagram that came, "NUMBER MICROSECONDS
ok|corrupt", with the time that it was on its way. Both ends must share a clock. SIGTERM ends the
receiver when no more come.
"""
import argparse
import signal
import socket
import struct
import sys
import time

HEAD = struct.Struct("<QQ")
QUIET = 0.5     # seconds without a datagram after which none is on its way any more


def body(number, size):
    """Content of datagram NUMBER after its head"""
    return bytes((number + i) & 255 for i in range(size - HEAD.size))


def send(args):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # With a checksum the kernel would drop a datagram with a flipped bit.
    sock.setsockopt(socket.SOL_SOCKET, 11, 1)  # SO_NO_CHECK
    gap = 1 / args.rate if args.rate else 0
    bodies = [body(n, args.size) for n in range(256)]
    start = time.monotonic()
    for number in range(args.count):
        if gap:
            ahead = start + number * gap - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)
        now = time.monotonic_ns()
        sock.sendto(HEAD.pack(number, now) + bodies[number & 255], (args.address, args.port))


def receive(args):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)  # SO_RCVBUFFORCE
    sock.bind(("", args.port))
    sock.settimeout(QUIET)
    ending = []
    signal.signal(signal.SIGTERM, lambda *_: ending.append(1))
    print("ready", flush=True)
    got = []
    while True:
        try:
            data = sock.recv(65535)
        except socket.timeout:
            if ending:
                break
            continue
        got.append((time.monotonic_ns(), data))
    for now, data in got:
        if len(data) < HEAD.size:
            print("- - corrupt")
            continue
        number, sent = HEAD.unpack_from(data)
        if number < 1 << 32 and data[HEAD.size:] == body(number, len(data)) and sent <= now:
            print(number, (now - sent) // 1000, "ok")
        else:
            print("- - corrupt")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["send", "receive"])
    parser.add_argument("address", nargs="?")
    parser.add_argument("--port", type=int, default=22600)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--rate", type=float, default=0, help="datagrams a second, 0: all one can")
    args = parser.parse_args()
    if args.what == "send":
        if not args.address:
            parser.error("send needs an address")
        send(args)
    else:
        receive(args)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
