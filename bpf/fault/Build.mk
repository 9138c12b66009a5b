# SPDX-License-Identifier: GPL-2.0
# The fault injector: a separate tc program. It needs no vmlinux.h.

FAULT_BPF_FLAGS = -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter \
	-Ikmod/uapi -I$(BPF_ASM)

all:: $(B)/bpf/fault.skel.h

$(B)/bpf/fault.bpf.o: bpf/fault/fault.bpf.c bpf/fault/fault.h kmod/uapi/linux/canary_wire.h | $(B)/.setup
	@mkdir -p $(@D)
	$(BPF_CLANG) $(FAULT_BPF_FLAGS) -c $< -o $@

$(B)/bpf/fault.skel.h: $(B)/bpf/fault.bpf.o
	bpftool gen skeleton $< name fault > $@.tmp
	mv $@.tmp $@

$(B)/tools/canary/fault.o: $(B)/bpf/fault.skel.h
$(B)/tools/canary/fault.o: CPPFLAGS += -I$(B)/bpf
