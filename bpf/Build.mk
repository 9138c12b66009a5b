# SPDX-License-Identifier: BSD-2-Clause
# The switch's programs and their tests.

BPF_CLANG ?= $(firstword $(shell command -v clang-14 clang-19 clang 2>/dev/null) clang)
# Headers of the machine that the programs run on, for <asm/types.h>
BPF_ASM ?= /usr/include/$(shell $(CC) -print-multiarch)
BPF_ARCH := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
BPF_CFLAGS = -target bpf -mcpu=v3 -g -O2 -std=gnu11 -fno-strict-aliasing -Wall -Wextra -Werror \
	-Wno-unused-parameter -Wno-sign-compare -Wno-missing-declarations \
	-D__TARGET_ARCH_$(BPF_ARCH) -I$(B)/bpf -Ikmod/uapi -Ikmod -Ibpf -I. -I$(BPF_ASM)

all:: $(B)/bpf/canary_switch.bpf.o $(B)/bpf/canary_switch.skel.h $(B)/bpf/canary_backlog.skel.h

# The programs do not depend on the running kernel: they are the same on all machines.
$(B)/bpf/%.bpf.o: bpf/%.bpf.c | $(B)/.setup
	@mkdir -p $(@D)
	$(BPF_CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

$(B)/bpf/%.skel.h: $(B)/bpf/%.bpf.o
	bpftool gen skeleton $< name $(subst -,_,$*) > $@.tmp
	mv $@.tmp $@

# Otherwise make removes it as an intermediate file, and builds it again each time.
.SECONDARY: $(B)/bpf/canary_backlog.bpf.o

-include bpf/fault/Build.mk

# Tests: the logic as a native program (also with sanitizers), the programs in this kernel
SW_TEST := selftests/bpf
SW_TEST_HDR := $(wildcard $(SW_TEST)/*.h bpf/*.h bpf/ctx/*.h bpf/lib/*.h) selftests/tap.h \
	kmod/core/parse.h kmod/kinds.h kmod/reduce.h kmod/uapi/linux/canary_wire.h userspace/common/siphash.h
SW_TEST_CFLAGS = $(CPPFLAGS) $(CFLAGS) -Wno-missing-field-initializers -I$(B)/bpf -I$(B)/$(SW_TEST)
SW_TEST_WORLD := $(SW_TEST)/world.c $(SW_TEST)/payload.c userspace/lib/siphash.c
SW_TEST_COMMON := $(SW_TEST_WORLD) $(wildcard $(SW_TEST)/*_cases.c) \
	$(SW_TEST)/bad_frames.c $(SW_TEST)/native.c $(SW_TEST)/choice.c $(SW_TEST)/ports.c $(SW_TEST)/queue.c \
	$(SW_TEST)/stopped.c $(SW_TEST)/copies.c \
	$(SW_TEST)/test_switch.c
SW_TEST_KERNEL := $(SW_TEST)/kernel.c $(SW_TEST)/kernel_maps.c
SW_TEST_SKEL := $(B)/bpf/canary_switch.skel.h $(B)/$(SW_TEST)/inject.skel.h

$(B)/$(SW_TEST)/%.bpf.o: $(SW_TEST)/%.bpf.c | $(B)/.setup
	@mkdir -p $(@D)
	$(BPF_CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

$(B)/$(SW_TEST)/%.skel.h: $(B)/$(SW_TEST)/%.bpf.o
	bpftool gen skeleton $< name $* > $@.tmp
	mv $@.tmp $@

$(B)/$(SW_TEST)/test_switch: $(SW_TEST_COMMON) $(SW_TEST_KERNEL) $(SW_TEST_HDR) $(SW_TEST_SKEL)
	@mkdir -p $(@D)
	$(CC) $(SW_TEST_CFLAGS) -DKERNEL_TOO -o $@ $(filter %.c,$^) -lbpf

$(B)/$(SW_TEST)/test_switch_sanitized: $(SW_TEST_COMMON) $(SW_TEST_HDR) | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(SW_TEST_CFLAGS) -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined \
		-o $@ $(filter %.c,$^)

# Helpers that the benchmarks share with the tests are in kernel.c.
BENCH_BPF := $(patsubst %,$(B)/bin/bench_%,switch block scaling)

$(BENCH_BPF): $(B)/bin/%: $(SW_TEST)/%.c $(SW_TEST)/bench_run.c $(SW_TEST_WORLD) $(SW_TEST_KERNEL) \
		$(SW_TEST_HDR) $(SW_TEST_SKEL) $(B)/$(SW_TEST)/bench.skel.h
	@mkdir -p $(@D)
	$(CC) $(SW_TEST_CFLAGS) -pthread -o $@ $(filter %.c,$^) -lbpf

.SECONDARY: $(B)/$(SW_TEST)/inject.bpf.o $(B)/$(SW_TEST)/bench.bpf.o
all:: $(BENCH_BPF)

$(B)/$(SW_TEST)/stress_switch: $(SW_TEST)/stress_switch.c $(SW_TEST_WORLD) $(SW_TEST_KERNEL) \
		$(SW_TEST_HDR) $(SW_TEST_SKEL)
	@mkdir -p $(@D)
	$(CC) $(SW_TEST_CFLAGS) -pthread -o $@ $(filter %.c,$^) -lbpf

# Loads all programs into the running kernel: see selftests/vm/kernels.sh
$(B)/$(SW_TEST)/load_programs: $(SW_TEST)/load_programs.c selftests/tap.h $(B)/bpf/canary_switch.skel.h \
		$(B)/bpf/canary_backlog.skel.h $(B)/bpf/fault.skel.h
	@mkdir -p $(@D)
	$(CC) $(SW_TEST_CFLAGS) -o $@ $< -lbpf

SW_TESTS := $(BPF_PROGRAMS:%=$(B)/$(SW_TEST)/%)
TESTS += bpf
TEST_DEPS += $(SW_TESTS)

.PHONY: test-bpf
test-bpf: $(SW_TESTS) ## switch logic and programs
	for t in $^; do $$t || exit; done
