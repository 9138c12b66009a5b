# SPDX-License-Identifier: BSD-2-Clause
# The simulator: protocol core and switch logic, compiled for switches with up to 64 ports and for
# packets as small as the paper's.

SIM_SRC := $(wildcard tools/sim/*.c) $(wildcard kmod/core/*.c) userspace/lib/siphash.c
SIM_HDR := $(wildcard tools/sim/*.h bpf/*.h bpf/lib/*.h bpf/ctx/*.h kmod/core/*.h kmod/*.h kmod/uapi/linux/*.h)
SIM_FLAGS := -Itools/sim -DCSW_CHILDREN_MAX=64 -DCSW_NEXTHOPS_MAX=64 -DCNR_MTU_LEAST=124

$(B)/bin/canary-sim: $(SIM_SRC) $(SIM_HDR) | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(SIM_FLAGS) $(CFLAGS) -O3 -flto=auto $(LDFLAGS) -o $@ $(SIM_SRC)

all:: $(B)/bin/canary-sim
