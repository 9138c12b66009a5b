# SPDX-License-Identifier: BSD-2-Clause
# Testbeds: the fault injector's test, Mininet topologies, experiments, the demo.

FAULT_NEEDS := $(B)/bin/canary

TESTS += fault fault-guest
.PHONY: test-fault test-fault-guest

test-fault: $(FAULT_NEEDS) ## fault injector on this machine's kernel
	@selftests/net/fault.sh

# The guest is slower: fewer packets, and fewer a second
test-fault-guest: $(FAULT_NEEDS) ## fault injector in the guest
	@selftests/vm/run.sh --timeout 300 --env FAULT_COUNT=1000 --env FAULT_RATE=1000 -- \
		selftests/net/fault.sh
