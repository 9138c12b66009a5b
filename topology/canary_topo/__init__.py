# SPDX-License-Identifier: BSD-2-Clause
"""Mininet testbeds for Canary: switches that run the XDP program, hosts that run ranks, and routed
topologies with shaped links."""
from .net import CanaryNet
from .node import CanaryHost, PlainRouter, XdpSwitch
from .topos import (BehindRouter, FatTree, LeafSpine, Star, ThroughRouter,
                    topology_by_name, whole_name)

__all__ = ["BehindRouter", "CanaryHost", "CanaryNet", "FatTree", "LeafSpine",
           "PlainRouter", "Star", "ThroughRouter", "XdpSwitch",
           "topology_by_name", "whole_name"]
