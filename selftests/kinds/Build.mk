# SPDX-License-Identifier: BSD-2-Clause
# The table of kinds: each type and operator, on each engine, through, past and without switches.

# The same programs, but no kind is combined by switches, and members know that
UNMERGED := -DCANARY_K_SWITCHES=0

.PHONY: unmerged unmerged-module
unmerged: $(B)/.setup
	+@CPPFLAGS="$(UNMERGED)" $(MAKE) -s B=$(B)/unmerged BPF_CLANG="$(BPF_CLANG) $(UNMERGED)" \
		$(B)/unmerged/bin/canary

unmerged-module: export KCFLAGS := $(UNMERGED)
unmerged-module: $(B)/guest/config.mk
	$(call kmod_build,$(B)/unmerged/kmod,$$(. $(B)/guest/config.mk && echo $$GUEST_KDIR))

# The core: what core tests have, without sanitizers
KINDS_CORE := $(B)/selftests/kinds/core $(B)/selftests/kinds/core_unmerged
KINDS_CORE_SRC := selftests/kinds/core.c $(wildcard selftests/core/testnet*.c) selftests/core/native_switch.c \
	$(wildcard tools/canary/reference*.c) $(CORE_SRC) $(VECTOR_OBJ)

$(KINDS_CORE): $(KINDS_CORE_SRC) $(CORE_HDR) $(wildcard selftests/core/*.h tools/canary/reference*.h) \
		$(wildcard bpf/*.h bpf/*/*.h) | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-missing-field-initializers -o $@ $(filter %.c %.o,$^)

$(B)/selftests/kinds/core_unmerged: private CPPFLAGS += $(UNMERGED)

# What judges is judged.
$(B)/selftests/kinds/reference_test: selftests/kinds/reference_test.c $(wildcard selftests/kinds/second.*) \
		$(wildcard tools/canary/reference*) $(CORE_SRC) $(VECTOR_OBJ) $(CORE_HDR) | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-missing-field-initializers -o $@ $(filter %.c %.o,$^) -lmpfr -lgmp

KINDS_NEEDS := unmerged unmerged-module $(B)/bin/canary $(KINDS_CORE) $(B)/kmod/canary.ko

.PHONY: kinds
kinds: $(KINDS_NEEDS) ## types x operators x engines x switch/past it/ring, all checked: build/kinds.json
	@selftests/kinds/kinds.sh --out $(B)/kinds.json

.PHONY: kinds-core
kinds-core: $(KINDS_CORE) ## make kinds for the core alone, in simulated time: 3 seconds
	@selftests/kinds/kinds.sh --out $(B)/kinds-core.json core

TESTS += kinds
TEST_DEPS += $(KINDS_NEEDS) $(B)/selftests/kinds/reference_test

# Of the core the whole table, of the others a sample: those take minutes.
.PHONY: test-kinds
test-kinds: $(KINDS_NEEDS) $(B)/selftests/kinds/reference_test ## a sample of make kinds, and its references
	@bad=0; for t in $(KINDS_PROGRAMS:%=$(B)/selftests/kinds/%) $(KINDS_SCRIPTS:%=selftests/kinds/%); do \
		$$t || bad=1; done; exit $$bad
