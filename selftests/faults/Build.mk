# SPDX-License-Identifier: BSD-2-Clause
# Programs of the fault experiments: a rank that checks its sums, and a forger of packets.

FAULT_TOOLS := $(B)/selftests/faults/worker $(B)/selftests/faults/forge

$(B)/selftests/faults/worker: selftests/faults/worker.c selftests/faults/worker_options.c selftests/faults/worker.h \
		$(B)/lib/libcanary.a | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $(filter %.c %.a,$^) -lpthread

$(B)/selftests/faults/forge: selftests/faults/forge.c selftests/faults/forge_packets.c selftests/faults/forge.h \
		kmod/uapi/linux/canary_wire.h | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $(filter %.c,$^)

# Debug kernels, and the module for them
DEBUG_KERNEL := $(B)/debug-kernel
DEBUG_KERNELS := kasan kcsan
.PHONY: debug-kernel $(DEBUG_KERNELS:%=debug-kernel-%) $(DEBUG_KERNELS:%=test-debug-%)

debug-kernel: $(DEBUG_KERNELS:%=debug-kernel-%) ## kernels with KASAN, lockdep, kmemleak and with KCSAN, and canary.ko for them; then: make test-debug-kasan test-debug-kcsan

$(DEBUG_KERNELS:%=debug-kernel-%): debug-kernel-%:
	@selftests/vm/debug-kernel.sh $*
	$(call kmod_build,$(DEBUG_KERNEL)/$*-module,$(CURDIR)/$(DEBUG_KERNEL)/$*)

# Runs in the guest with two processors. A message of the kernel is a failure:
# docs/results/faults.md.
$(DEBUG_KERNELS:%=test-debug-%): test-debug-%: debug-kernel-% $(KMOD_TOOLS)
	selftests/vm/run.sh --smp2 --mem 4G --timeout 7200 --kernel $(DEBUG_KERNEL)/$*/bzImage \
		--console $(DEBUG_KERNEL)/$*.console --append "kmemleak=on" --races '\[canary\]' \
		--env MODULE=$(CURDIR)/$(DEBUG_KERNEL)/$*-module/canary.ko -- \
		selftests/vm/debug-tests.sh $(DEBUG_TESTS)
