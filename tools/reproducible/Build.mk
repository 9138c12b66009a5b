# SPDX-License-Identifier: BSD-2-Clause
# Are sums of floating-point numbers the same bits, whatever the network does?

REPRODUCIBLE_NEEDS := $(B)/bin/canary $(B)/bin/canary-sim module

TESTS += reproducible

.PHONY: reproducible test-reproducible
reproducible: $(REPRODUCIBLE_NEEDS) ## sums of floats are the same bits in 100 simulated networks and by both engines, beside Open MPI (QUICK=1: a part)
	@tools/reproducible/run.py $(if $(QUICK),--quick)

test-reproducible: $(REPRODUCIBLE_NEEDS) ## a part of that: both engines, a few networks; a changed bit is noticed
	@selftests/net/reproducible.sh
