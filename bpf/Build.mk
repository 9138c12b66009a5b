# SPDX-License-Identifier: BSD-2-Clause
# The switch's programs and their tests.

BPF_CLANG ?= $(firstword $(shell command -v clang-14 clang-19 clang 2>/dev/null) clang)
BPF_CFLAGS = -target bpf -mcpu=v3 -g -O2 -std=gnu11 -fno-strict-aliasing -Wall -Wextra -Werror \
	-Wno-unused-parameter -Wno-sign-compare -Wno-missing-declarations \
	-D__TARGET_ARCH_x86 -I$(B)/bpf -Ikmod/uapi -Ikmod -Ibpf

all:: $(B)/bpf/canary_switch.bpf.o $(B)/bpf/canary_switch.skel.h

$(B)/bpf/vmlinux.h: | $(B)/.setup
	@mkdir -p $(@D)
	bpftool btf dump file /sys/kernel/btf/vmlinux format c > $@.tmp
	mv $@.tmp $@

$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(B)/bpf/vmlinux.h
	@mkdir -p $(@D)
	$(BPF_CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

$(B)/bpf/%.skel.h: $(B)/bpf/%.bpf.o
	bpftool gen skeleton $< name $(subst -,_,$*) > $@.tmp
	mv $@.tmp $@

-include bpf/fault/Build.mk
