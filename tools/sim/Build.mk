# SPDX-License-Identifier: BSD-2-Clause
# The simulator: protocol core and switch logic, compiled for switches with up to 64 ports and for
# packets as small as the paper's.

SIM_SRC := $(filter-out $(VECTOR_SRC),$(wildcard tools/sim/*.c tools/canary/reference*.c kmod/core/*.c userspace/common/*.c)) \
	tools/values/values.c userspace/lib/payload.c userspace/lib/vectors.c $(VECTOR_OBJ)
SIM_HDR := $(wildcard tools/sim/*.h bpf/*.h bpf/lib/*.h bpf/ctx/*.h kmod/core/*.h kmod/*.h kmod/uapi/linux/*.h) \
	userspace/lib/siphash.h $(wildcard userspace/common/*.h tools/canary/reference*.h tools/values/*.h)
SIM_FLAGS := -Itools/sim -DCSW_ONE_THREAD -DCSW_NO_CHECKSUMS -DCSW_CHILDREN_MAX=64 -DCSW_NEXTHOPS_MAX=64 -DCNR_MTU_LEAST=124 -DCNR_WINDOW_MAX=4096 -DCNR_CWND_RING=64

# It runs on the machine where it is made. Its results do not depend on the instructions.
SIM_MARCH ?= -march=native

$(B)/bin/canary-sim: $(SIM_SRC) $(SIM_HDR) | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(SIM_FLAGS) $(CFLAGS) -O3 $(SIM_MARCH) -flto=auto $(LDFLAGS) -o $@ $(SIM_SRC) -lm

all:: $(B)/bin/canary-sim

# Objects that only tools/layers.py needs, to see which file calls which
SIM_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard tools/sim/*.c tools/values/*.c))

$(SIM_OBJ): CPPFLAGS += $(SIM_FLAGS)
$(SIM_OBJ): CFLAGS += -O0

.PHONY: figures figures-quick
figures: $(B)/bin/canary-sim $(B)/bin/bench_switch ## the papers' figures by simulation, five placements (FIGURES="7a,8": only those)
	tools/sim/figures/run.py --placements 5 $(if $(FIGURES),--only $(FIGURES))

figures-quick: $(B)/bin/canary-sim $(B)/bin/bench_switch ## the papers' figures by simulation, one placement (FIGURES="7a,8": only those)
	tools/sim/figures/run.py --placements 1 $(if $(FIGURES),--only $(FIGURES))
