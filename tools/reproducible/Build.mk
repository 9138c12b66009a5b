# SPDX-License-Identifier: BSD-2-Clause
# Are sums of floating-point numbers the same bits, whatever the network does?

REPRODUCIBLE_NEEDS := $(B)/bin/canary $(B)/bin/canary-sim module

.PHONY: reproducible
reproducible: $(REPRODUCIBLE_NEEDS) ## sums of floats are the same bits in 100 simulated networks and by both engines, beside Open MPI (QUICK=1: a part)
	@tools/reproducible/run.py $(if $(QUICK),--quick)
