# SPDX-License-Identifier: BSD-2-Clause
# Tests of the protocol core (native, with sanitizers, in simulated time), fuzzers, and `make test`.
# Each part of the project adds its own tests to TESTS.

CORE_SRC := $(filter-out $(VECTOR_SRC),$(wildcard kmod/core/*.c)) $(patsubst %,userspace/lib/%.c,siphash payload vectors)
CORE_HDR := $(wildcard kmod/core/*.h kmod/*.h kmod/uapi/linux/*.h userspace/common/*.h)
FUZZ_SECONDS ?= 60

TESTS += core fuzz vm
CORE_TESTS := $(CORE_PROGRAMS:%=$(B)/selftests/%)
FUZZ_TESTS := $(FUZZ_PROGRAMS:%=$(B)/selftests/%)
TEST_DEPS += $(CORE_TESTS) $(FUZZ_TESTS) \
	$(USER_TEST_BIN) $(B)/data/digits.csv.gz $(B)/kmod/canary.ko

# Each of these has the core compiled in its own way; see below.
OWN_CORE_TESTS := $(patsubst %,$(B)/selftests/%_test,kept lane_sums unmerged steps)
# These two share one, to which pairs.h adds a kind of lists.
LIST_TESTS := $(patsubst %,$(B)/selftests/%_test,lists shards)
TESTNET_SRC := $(wildcard selftests/core/testnet*.c)
CORE_TEST_SRC := $(TESTNET_SRC) $(CORE_SRC)

$(filter-out $(OWN_CORE_TESTS) $(LIST_TESTS),$(CORE_TESTS)): $(B)/selftests/%: selftests/core/%.c \
		$(call sanitized,$(CORE_TEST_SRC) $(VECTOR_SRC)) $(CORE_HDR) $(wildcard selftests/core/*.h) | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(SANITIZE) -o $@ $(filter %.c %.o,$^) $(LDLIBS)

$(OWN_CORE_TESTS): $(B)/selftests/%: selftests/core/%.c $(CORE_TEST_SRC) $(CORE_HDR) \
		$(wildcard selftests/core/*.h) | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(SANITIZE) -o $@ $(filter %.c %.o,$^) $(LDLIBS)

# steps_test counts vector code, too.
$(filter-out %/steps_test,$(OWN_CORE_TESTS)): $(VECTOR_OBJ)
$(B)/selftests/steps_test: $(VECTOR_SRC)

# The same reference of operators as in canary perf
$(B)/selftests/types_test $(B)/selftests/located_test $(B)/selftests/complex_test: $(wildcard tools/canary/reference*)

# This test adds a shape and an encoding to the tables of the core.
$(B)/selftests/kept_test: private CPPFLAGS += -include selftests/core/kept_rows.h

# These tests have switches of bpf/lib.
NATIVE_TESTS := $(B)/selftests/types_test $(B)/selftests/located_test \
	$(B)/selftests/unmerged_test
$(NATIVE_TESTS): selftests/core/native_switch.c $(wildcard bpf/*.h bpf/*/*.h)

.PRECIOUS: $(B)/pairs/%.o
$(B)/pairs/%.o: %.c | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -include selftests/core/pairs.h $(CFLAGS) $(TEST_FLAGS) $(SANITIZE) $(DEPFLAGS) -c $< -o $@

$(LIST_TESTS): $(B)/selftests/%: $(B)/pairs/selftests/core/%.o $(VECTOR_OBJ) \
		$(patsubst %.c,$(B)/pairs/%.o,$(CORE_TEST_SRC) selftests/core/native_switch.c selftests/core/pairs.c)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SANITIZE) -o $@ $^ $(LDLIBS)

# This one counts how often the vector unit is borrowed.
$(B)/selftests/lane_sums_test: $(wildcard tools/canary/reference*)
$(B)/selftests/lane_sums_test: private CPPFLAGS += -include selftests/core/vector_count.h
$(B)/selftests/lane_sums_test: private LDLIBS += -lm

# Floating-point sums are compared with rational numbers.
$(B)/selftests/floats_test: private LDLIBS += -lgmp
$(B)/selftests/double_test: private LDLIBS += -lmpfr -lgmp

# Complex products are compared with those of this processor.
$(B)/selftests/complex_test: private CFLAGS += -ffp-contract=off

# In this one, switches combine nothing.
$(B)/selftests/unmerged_test: private CPPFLAGS += -DCANARY_K_SWITCHES=0

# This test counts basic blocks. Sanitizers would add blocks of their own.
$(B)/selftests/steps_test: private SANITIZE := -fsanitize-coverage=trace-pc

.PHONY: test-core
test-core: $(CORE_TESTS) ## protocol core under simulated faults, with sanitizers
	@bad=0; for t in $^; do $$t || bad=1; done; exit $$bad

$(B)/selftests/fuzz_%: selftests/fuzz/fuzz_%.c selftests/fuzz/fuzz_numbers.h $(call fuzzed,$(CORE_SRC)) $(VECTOR_OBJ) $(CORE_HDR) | $(B)/.setup
	@mkdir -p $(@D)
	$(CLANG) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $(filter %.c %.o,$^)

.PHONY: test-fuzz fuzz-corpus
test-fuzz: $(FUZZ_TESTS) ## libFuzzer on parser and core, FUZZ_SECONDS (60) each
	selftests/fuzz/run.sh $(FUZZ_SECONDS) $^

TESTS += kselftest
.PHONY: test-kselftest
test-kselftest: all module $(USER_TEST_BIN) ## a few tests as kselftest has them, in the source of Debian's kernel, too
	selftests/kselftest.sh

TESTS += kernels
TEST_DEPS += $(B)/selftests/bpf/load_programs
.PHONY: test-kernels
test-kernels: $(B)/guest/config.mk $(B)/selftests/bpf/load_programs $(KMOD_TOOLS) ## programs and module in Linux 6.1, 6.12 and the kernel that runs
	selftests/vm/kernels.sh

.PHONY: test-vm
test-vm: $(B)/guest/config.mk ## the guest runner itself
	selftests/vm/selftest.sh
