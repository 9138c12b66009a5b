#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A worker of a distributed training, as XGBoost's users write it. It knows nothing of Canary.

    train.py METHOD ROUNDS MODEL

METHOD is a tree method. The model is written to MODEL.RANK. Where the tracker is, and which worker
this is, come from the environment (DMLC_...)."""
import sys

import numpy
import xgboost
from xgboost import collective

ROWS, COLUMNS = 8000, 20


def main():
    """Train on every N-th row."""
    method, rounds, model = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    random = numpy.random.default_rng(7)
    data = random.normal(size=(ROWS, COLUMNS)).astype(numpy.float32)
    label = (data[:, 0] * data[:, 1] + data[:, 2] > 0).astype(numpy.float32)
    # Small leaves would make ties, which the last bit of a sum decides.
    params = {"tree_method": method, "objective": "binary:logistic", "max_depth": 4,
              "min_child_weight": 8, "nthread": 1}
    with collective.CommunicatorContext():
        rank, workers = collective.get_rank(), collective.get_world_size()
        mine = xgboost.DMatrix(data[rank::workers], label=label[rank::workers])
        booster = xgboost.train(params, mine, rounds)
        booster.save_model(f"{model}.{rank}.json")


if __name__ == "__main__":
    main()
