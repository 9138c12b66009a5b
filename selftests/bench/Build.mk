# SPDX-License-Identifier: BSD-2-Clause
# Measurements: their programs, and `make bench`.

BENCH_TOOLS := $(patsubst %,$(B)/selftests/bench/%,emission exchange softirq float_errors float_speed)

$(B)/selftests/bench/%: selftests/bench/%.c kmod/uapi/linux/canary_wire.h bpf/shared.h | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $< -lbpf

.SECONDARY: $(B)/selftests/bench/softirq.bpf.o

$(B)/selftests/bench/%.bpf.o: selftests/bench/%.bpf.c selftests/bench/%.h | $(B)/.setup
	@mkdir -p $(@D)
	$(BPF_CLANG) $(BPF_CFLAGS) -I. -c $< -o $@

$(B)/selftests/bench/%.skel.h: $(B)/selftests/bench/%.bpf.o
	bpftool gen skeleton $< name $* > $@.tmp
	mv $@.tmp $@

$(B)/selftests/bench/softirq: selftests/bench/softirq.c $(B)/selftests/bench/softirq.skel.h $(B)/lib/libcanary.a
	$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-missing-field-initializers -I$(B)/selftests/bench -o $@ \
		$(filter %.c %.a,$^) -lbpf -lpthread

FLOAT_LANES := $(patsubst %,kmod/core/%.c,float float_lanes float_packet float_avx2 float_avx512 float_neon) \
	userspace/lib/payload.c userspace/lib/vectors.c

$(B)/selftests/bench/float_errors: selftests/bench/float_errors.c $(FLOAT_LANES) $(CORE_HDR) | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-missing-field-initializers -o $@ $(filter %.c,$^) -lm

$(B)/selftests/bench/float_speed: selftests/bench/float_speed.c $(FLOAT_LANES) $(CORE_HDR) | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-missing-field-initializers -o $@ $(filter %.c,$^)

.PHONY: bench
bench: all module $(BENCH_TOOLS) $(FAULT_TOOLS) $(OPENMPI_TEST_NEEDS) $(MPICH_TEST_NEEDS) ## measurements; build/bench.json: {name, value, unit, baseline, ratio, command}
	@selftests/bench/run.sh --out $(B)/bench.json

TESTS += bench
.PHONY: test-bench
test-bench: ## do measurements know that the machine is busy?
	selftests/bench/quiet.sh
