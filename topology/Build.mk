# SPDX-License-Identifier: BSD-2-Clause
# Testbeds: the test of the fault injector, Mininet topologies, experiments, the demonstration.

FAULT_NEEDS := $(B)/bin/canary
DEMO_NEEDS := $(B)/bin/canary $(B)/bin/digits $(B)/data/digits.csv.gz

TESTS += fault fault-guest topology matrix matrix-guest fault-matrix hostile-guest
TEST_DEPS += $(DEMO_NEEDS)
.PHONY: test-fault test-fault-guest

test-fault: $(FAULT_NEEDS) ## fault injector on this machine's kernel
	@selftests/net/fault.sh

# The guest is slower, so it gets fewer packets, at a lower rate.
test-fault-guest: $(FAULT_NEEDS) ## fault injector in the guest
	@selftests/vm/run.sh --timeout 1200 --env FAULT_COUNT=800 --env FAULT_RATE=2000 -- \
		selftests/net/fault.sh

.PHONY: demo demo-user
demo: $(DEMO_NEEDS) module ## train on digits by 8 hosts behind 6 XDP switches, through AF_CANARY (in a guest if need be)
	@topology/demo.py

demo-user: $(DEMO_NEEDS) ## train on digits by 8 hosts behind 6 XDP switches, with the user engine on this machine's kernel
	@topology/demo.py --engine user

.PHONY: test-topology test-matrix test-matrix-guest

test-topology: $(B)/bin/canary ## testbeds: reachability, rates, clean ends
	@selftests/net/topology.sh

test-matrix: $(DEMO_NEEDS) ## one job, right bit for bit, whatever the switches, routers and links do
	@selftests/net/matrix.sh

test-matrix-guest: $(DEMO_NEEDS) module ## one job, right bit for bit, with AF_CANARY on all and on some hosts, in the guest
	@selftests/vm/run.sh --timeout 1800 -- selftests/net/matrix.sh engines

# Fault experiments. FAULT=NAME chooses one of `topology/fault.py list`.
FAULT ?= switch-kill
ENGINE ?= auto
BLOCKS ?= 1000000
GUEST_BLOCKS ?= 100000
SOAK_MINUTES ?= 30
TEST_DEPS += $(FAULT_TOOLS)
.PHONY: soak fault fault-matrix fault-matrix-guest test-fault-matrix test-hostile-guest

fault: $(B)/bin/canary $(FAULT_TOOLS) ## one fault experiment: FAULT=NAME (topology/fault.py list), ENGINE=user|kernel
	@topology/fault.py $(FAULT) --engine $(ENGINE)

fault-matrix: $(B)/bin/canary $(FAULT_TOOLS) ## all faults, topologies, sizes with the user engine until BLOCKS (1000000) are right; goes on where it was
	@topology/fault_matrix.py --engine user --blocks $(BLOCKS) --long 1000000 --state $(B)/fault-matrix

# All ranks and switches of the guest share one emulated processor, and this machine may have other
# work. So an answer may take longer than 5 s there. Faults that kill ranks set a shorter time.
GUEST_RANKS := --dead-after 60s
GUEST_FAULTS := selftests/faults/guest.sh topology/fault_matrix.py --engine kernel --stall 120

fault-matrix-guest: $(B)/bin/canary $(FAULT_TOOLS) module ## all faults, topologies, sizes through AF_CANARY in the guest until GUEST_BLOCKS (100000) are right
	@selftests/vm/run.sh --timeout 36000 --out $(B)/fault-matrix-guest -- $(GUEST_FAULTS) \
		--blocks $(GUEST_BLOCKS) --state $(B)/fault-matrix-guest -- $(GUEST_RANKS)

test-hostile-guest: $(B)/bin/canary $(FAULT_TOOLS) module ## packets of somebody hostile while members sum through AF_CANARY, in the guest
	@selftests/vm/run.sh --timeout 1100 -- $(GUEST_FAULTS) --tap --topology star:4 leaf_spine:2,2,2 --sizes 5000 \
		--long 60000 --faults hostile-late hostile-never hostile-apart -- $(GUEST_RANKS)

test-fault-matrix: $(B)/bin/canary $(FAULT_TOOLS) ## all faults with the user engine, small vectors on two topologies
	@topology/fault_matrix.py --tap --engine user --topology star:5 leaf_spine:2,2,2 --sizes 5000 --long 100000

TESTS += congestion
.PHONY: demo-congestion demo-congestion-guest test-congestion

# FORM: small or full; CONGESTION: further options of topology/congestion.py
FORM ?= small
demo-congestion: $(B)/bin/canary $(FAULT_TOOLS) ## dynamic trees against static ones, the ring and Open MPI under congestion: FORM=small|full (goes on if interrupted)
	@topology/congestion_demo.py --form $(FORM) -- $(CONGESTION)

demo-congestion-guest: $(B)/bin/canary $(FAULT_TOOLS) module ## the headline table by AF_CANARY in the instruction-counting guest, whatever else the machine does: FORM=small|full (goes on if interrupted)
	@topology/congestion_demo.py --form $(FORM) --parts guest -- --out $(B)/congestion-guest $(CONGESTION)

test-congestion: $(B)/bin/canary ## congestion experiments in small: right, kept, refused
	@selftests/net/congestion.sh

soak: $(B)/bin/canary $(FAULT_TOOLS) $(KMOD_TOOLS) module ## all faults in the guest for SOAK_MINUTES (30), sockets opened and closed meanwhile: nothing may leak
	@selftests/vm/run.sh --timeout $$(($(SOAK_MINUTES) * 60 * 2 + 1800)) -- selftests/faults/guest.sh \
		topology/soak.py --minutes $(SOAK_MINUTES) --stall 180 --sizes 1 5000 --long 100000 \
		-- $(GUEST_RANKS)
