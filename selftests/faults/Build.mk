# SPDX-License-Identifier: BSD-2-Clause
# What fault experiments run: a rank that checks its sums, and one who forges packets.

FAULT_TOOLS := $(B)/selftests/faults/worker $(B)/selftests/faults/forge

$(B)/selftests/faults/worker: selftests/faults/worker.c $(B)/lib/libcanary.a | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(B)/lib/libcanary.a -lpthread

$(B)/selftests/faults/forge: selftests/faults/forge.c kmod/uapi/linux/canary_wire.h | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $<
