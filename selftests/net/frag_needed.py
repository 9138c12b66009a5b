#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sends a forged ICMP "fragmentation needed" (RFC 792, 1191), as anybody off the path can.

usage: frag_needed.py MTU PROTOCOL SOURCE[:PORT] DESTINATION[:PORT]

It goes to SOURCE. It claims that a packet of PROTOCOL (udp, or icmp: an answer to a ping) from
there to DESTINATION did not fit a link with MTU bytes.
"""
import ipaddress
import socket
import struct
import sys


def checksum(data):
    """The checksum of RFC 1071 over an even number of bytes"""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def address(text):
    """Return: (4 bytes, port) of ADDRESS[:PORT]"""
    host, _, port = text.partition(":")
    return ipaddress.IPv4Address(host).packed, int(port or 0)


def quoted(protocol, source, destination):
    """The packet that is said to be too large: IP header and 8 bytes"""
    number = socket.getprotobyname(protocol)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 1500, 0, 0x4000, 60, number, 0,
                     source[0], destination[0])
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    if protocol == "udp":
        return ip + struct.pack("!HHHH", source[1], destination[1], 1480, 0)
    return ip + struct.pack("!BBHHH", 0, 0, 0, 1, 1)


def main():
    """Send one message."""
    mtu, protocol, source, destination = sys.argv[1:]
    source = address(source)
    body = quoted(protocol, source, address(destination))
    head = struct.pack("!BBHHH", 3, 4, 0, 0, int(mtu))
    head = struct.pack("!BBHHH", 3, 4, checksum(head + body), 0, int(mtu))
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        raw.sendto(head + body, (socket.inet_ntoa(source[0]), 0))


main()
