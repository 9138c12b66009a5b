# SPDX-License-Identifier: BSD-2-Clause
# arm64: library, command and tests, built by a cross compiler and run by an emulator of the
# processor. Libraries and headers are unpacked below build/arm64/root, so none is installed.

ARM64 := $(CURDIR)/build/arm64
ARM64_CC = aarch64-linux-gnu-gcc-12 --sysroot=$(ARM64)/root
# Sanitizers do not run in the emulator.
ARM64_MAKE = SANITIZE= $(MAKE) -s B=build/arm64 CC="$(ARM64_CC)" AR=aarch64-linux-gnu-ar BPF_ARCH=arm64 \
	BPF_ASM=$(ARM64)/root/usr/include/aarch64-linux-gnu
# What is on the wire, and what comes out of it: packets, types, operators, bits of sums
ARM64_TESTS := core kinds lanes lane_sums double located padding mixed

$(B)/arm64/root/stamp: tools/setup/setup.sh
	tools/setup/setup.sh arm64
	@touch $@

.PHONY: cross-arm64 test-cross-arm64
cross-arm64: $(B)/arm64/root/stamp ## library, command and some tests for arm64, in build/arm64
	@mkdir -p build/arm64 && touch build/arm64/setup.mk
	+$(ARM64_MAKE) build/arm64/lib/libcanary.so build/arm64/lib/libcanary.a build/arm64/bin/canary \
		$(ARM64_TESTS:%=build/arm64/selftests/%_test)

# Not a part of `make test`, as it needs another compiler.
test-cross-arm64: cross-arm64 $(B)/bin/canary ## arm64 in an emulator: tests of the core, and sums with this machine
	@bad=0; for t in $(ARM64_TESTS:%=build/arm64/selftests/%_test); do \
		qemu-aarch64-static -L build/arm64/root $$t || bad=1; done; \
	selftests/cross/sums.sh || bad=1; exit $$bad
