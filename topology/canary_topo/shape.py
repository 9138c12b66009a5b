# SPDX-License-Identifier: BSD-2-Clause
"""Reads the descriptions in topology/shapes. canary-sim reads them, too (tools/sim/topo.c): same
switches, same hosts, same order of links. Their rates and queues are for fast networks and ignored
here. A testbed's links have rates and queues of its own."""
import re

NUMBERS = {"hosts": (1, 65536), "leaves": (1, 8192), "spines": (1, 64), "levels": (2, 3),
           "radix": (2, 128), "oversubscription": (1, 63)}
UNITS = {
    "rate": {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12},
    "latency": {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12},
    "queue": {"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30},
}
UNITS["uplink_rate"] = UNITS["rate"]
KINDS = ("star", "leaf_spine", "fat_tree")


def _value(key, text):
    if key == "kind":
        if text not in KINDS:
            raise ValueError(f"kind: '{text}' is none of: {', '.join(KINDS)}")
        return text
    if key in NUMBERS:
        low, high = NUMBERS[key]
        if not text.isdigit() or not low <= int(text) <= high:
            raise ValueError(f"{key}: '{text}' is no number from {low} to {high}")
        return int(text)
    if key in UNITS:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]*)", text.lower())
        if not match or match[2] not in UNITS[key]:
            raise ValueError(f"{key}: '{text}' has no such unit")
        return float(match[1]) * UNITS[key][match[2]]
    raise ValueError(f"unknown key '{key}'")


def read_shape(path):
    """Return: {key: value}. ValueError says file, line and reason."""
    shape = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.partition("#")[0].replace("=", " ").split(None, 1)
            if not words:
                continue
            try:
                if len(words) < 2:
                    raise ValueError(f"{words[0]}: no value")
                shape[words[0]] = _value(words[0], words[1].strip())
            except ValueError as error:
                raise ValueError(f"{path}:{number}: {error}") from None
    try:
        _check(shape)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return shape


def _check(shape):
    needs = {"star": {"hosts"}, "leaf_spine": {"hosts", "leaves", "spines"},
             "fat_tree": {"levels", "radix"}}
    if "kind" not in shape or "rate" not in shape:
        raise ValueError("no kind" if "kind" not in shape else "no rate")
    kind, given = shape["kind"], set(shape)
    if needs[kind] - given:
        raise ValueError(f"{kind} needs {', '.join(sorted(needs[kind]))}")
    others = set().union(*needs.values()) - needs[kind]
    if others & given:
        raise ValueError(f"{kind} has no {', '.join(sorted(others & given))}")
    if kind == "fat_tree":
        if shape["radix"] % 2:
            raise ValueError("radix: a fat tree's switches have an even number of ports")
        if shape["radix"] % (shape.get("oversubscription", 1) + 1):
            raise ValueError("oversubscription: radix must be divisible by it plus 1")


def _two(spines, leaves, hosts, upper, lower):
    spine = [f"{upper}{i + 1}" for i in range(spines)]
    links = []
    for i in range(leaves):
        leaf = f"{lower}{i + 1}"
        links += [(leaf, name) for name in spine]
        links += [(leaf, f"h{i * hosts + j + 1}") for j in range(hosts)]
    return links


def _three(radix, up, down):
    half, links, host = radix // 2, [], 0
    for pod in range(1, radix + 1):
        upper = [f"sagg{pod}x{i + 1}" for i in range(up)]
        for i, agg in enumerate(upper):
            links += [(agg, f"score{i * half + j + 1}") for j in range(half)]
        for i in range(half):
            edge = f"sedge{pod}x{i + 1}"
            links += [(edge, agg) for agg in upper]
            links += [(edge, f"h{host + j + 1}") for j in range(down)]
            host += down
    return links


def shape_links(shape):
    """Return: (node, node) of all links, in the order of the ports"""
    if shape["kind"] == "star":
        return [("s1", f"h{i + 1}") for i in range(shape["hosts"])]
    if shape["kind"] == "leaf_spine":
        return _two(shape["spines"], shape["leaves"], shape["hosts"], "sspine", "sleaf")
    radix = shape["radix"]
    up = radix // (shape.get("oversubscription", 1) + 1)
    if shape["levels"] == 2:
        return _two(up, radix, radix - up, "score", "sedge")
    return _three(radix, up, radix - up)


def shape_spread(shape, name):
    """What block numbers are divided by where packets choose for the second time on their way up"""
    if shape.get("levels") == 3 and name.startswith("sagg"):
        return shape["radix"] // (shape.get("oversubscription", 1) + 1)
    return None
