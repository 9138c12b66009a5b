#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Are two models of XGBoost the same? alike.py MODEL MODEL

The trees have to be the same: who splits by which feature. Numbers are float32, made of sums that may
differ in their last bits: cuts, weights and sums of hessians may differ by 1e-5 of their value, gains,
which are differences, by 1e-4."""
import json
import sys

NUMBERS = {"split_conditions": 1e-5, "base_weights": 1e-5, "sum_hessian": 1e-5, "loss_changes": 1e-4}
SAME = ("split_indices", "left_children", "right_children", "default_left")


def trees(path):
    """The trees of a model"""
    with open(path, encoding="utf-8") as file:
        return json.load(file)["learner"]["gradient_booster"]["model"]["trees"]


def differences(first, second):
    """What is not alike"""
    one, other = trees(first), trees(second)
    if len(one) != len(other) or not one:
        yield f"{len(one)} trees, {len(other)} trees"
    for i, (a, b) in enumerate(zip(one, other)):
        for name in SAME:
            if a[name] != b[name]:
                yield f"tree {i}: {name}"
        for name, most in NUMBERS.items():
            for node, (x, y) in enumerate(zip(a[name], b[name])):
                if abs(x - y) > most * max(abs(x), abs(y), 1e-3):
                    yield f"tree {i}, node {node}: {name} {x}, {y}"


def main():
    """Print some differences."""
    found = list(differences(*sys.argv[1:3]))
    print("\n".join(found[:10]))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
