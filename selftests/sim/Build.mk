# SPDX-License-Identifier: BSD-2-Clause
# Tests of the simulator: the same scenarios with three builds of it

SIM_TEST := $(B)/selftests/sim
SIM_BUILDS := $(SIM_TEST)/canary-sim-O0 $(SIM_TEST)/canary-sim-sanitized
SIM_TEST_FLAGS := $(CPPFLAGS) $(SIM_FLAGS) $(CFLAGS) -Wno-missing-field-initializers

$(SIM_TEST)/canary-sim-O0: $(SIM_SRC) $(SIM_HDR) | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(SIM_TEST_FLAGS) -O0 -o $@ $(SIM_SRC) -lm

$(SIM_TEST)/canary-sim-sanitized: $(SIM_SRC) $(SIM_HDR) | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(SIM_TEST_FLAGS) -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined \
		-o $@ $(SIM_SRC) -lm

TESTS += sim
TEST_DEPS += $(SIM_BUILDS) $(B)/bin/canary-sim

.PHONY: test-sim
test-sim: $(SIM_BUILDS) $(B)/bin/canary-sim ## the simulator: sanitizers, same output from all builds
	@bad=0; for t in $(SIM_SCRIPTS); do selftests/sim/$$t || bad=1; done; exit $$bad
