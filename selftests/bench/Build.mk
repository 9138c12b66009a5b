# SPDX-License-Identifier: BSD-2-Clause
# Measurements: what there is to build for them, and `make bench`.

BENCH_TOOLS := $(patsubst %,$(B)/selftests/bench/%,emission tcp_exchange)

$(B)/selftests/bench/%: selftests/bench/%.c kmod/uapi/linux/canary_wire.h bpf/shared.h | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $< -lbpf

.PHONY: bench
bench: all module $(BENCH_TOOLS) $(FAULT_TOOLS) ## measurements; build/bench.json: {name, value, unit, baseline, ratio, command}
	@selftests/bench/run.sh --out $(B)/bench.json
