# SPDX-License-Identifier: BSD-2-Clause
# canary.ko and its tests. Kbuild puts its products beside the sources. So it gets a tree of links
# to the sources, below build/.

KMOD_SRC := Kbuild $(wildcard kmod/*.[ch] kmod/core/*.[ch] kmod/uapi/linux/*.h)

# kmod_build DIRECTORY HEADERS: takes a lock, since several makes may run
define kmod_build
	@mkdir -p $(1)
	+@exec 9>$(1)/.lock && flock 9 && \
	for f in $(KMOD_SRC); do \
		[ -e $(1)/$$f ] || { mkdir -p $(1)/$$(dirname $$f) && ln -sfn $(CURDIR)/$$f $(1)/$$f; }; \
	done && find $(1) -xtype l -delete && \
	$(MAKE) -s -C $(2) M=$(CURDIR)/$(1) W=1 modules 2>&1 9>&- | \
		{ grep -v -e '^Skipping BTF' -e '^warning: the compiler differs' \
		  -e '^  The kernel was built by' -e '^  You are using' || :; }
endef

$(B)/guest/config.mk: tools/setup/setup.sh tools/setup/packages.txt
	tools/setup/setup.sh kernel
	@touch $@

$(B)/kmod/canary.ko: $(KMOD_SRC) $(B)/guest/config.mk
	$(call kmod_build,$(B)/kmod,$$(. $(B)/guest/config.mk && echo $$GUEST_KDIR))

# For other kernel series than the guest's, with headers that the set-up has downloaded
$(B)/kmod-6.12/canary.ko: $(KMOD_SRC) $(B)/guest/other-6.12.mk
	$(call kmod_build,$(B)/kmod-6.12,$$(. $(B)/guest/other-6.12.mk && echo $$GUEST_KDIR))

.PHONY: module
ifeq ($(HOST),1)
module: ## the module for the guest's kernel; HOST=1: for the running one, in build/kmod-host
	@[ -d /lib/modules/$$(uname -r)/build ] || { echo "no headers of the running kernel: install linux-headers-$$(uname -r)" >&2; exit 1; }
	$(call kmod_build,$(B)/kmod-host,/lib/modules/$$(uname -r)/build)
else
module: $(B)/kmod/canary.ko
endif

# Tests run in the guest. Programs are static where that loads faster there.
KMOD_TESTS := $(patsubst %,$(B)/selftests/kmod/%,$(KMOD_PROGRAMS))
KMOD_TOOLS := $(B)/selftests/kmod/worker $(KMOD_TESTS)
KMOD_TEST_HDR := $(wildcard selftests/kmod/*.h kmod/uapi/linux/*.h)

$(B)/selftests/kmod/worker: selftests/kmod/worker.c $(KMOD_TEST_HDR) | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -static -o $@ $(filter %.c,$^) -lpthread

# kselftest_harness.h is the kernel's. Functions that its macros define have no prototypes.
$(KMOD_TESTS): $(B)/selftests/kmod/%: selftests/kmod/%.c selftests/kmod/common.c $(KMOD_TEST_HDR) \
		$(B)/linux-parts/stamp | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -I$(B)/linux-parts/tools/testing/selftests $(CFLAGS) -Wno-missing-prototypes \
		-static -o $@ $(filter %.c,$^) -lpthread

$(patsubst %,$(B)/selftests/kmod/%,zerocopy queued api_types api_floats api_kept): selftests/kmod/pinned.c

# The same reference of operators as in canary perf
$(B)/selftests/kmod/api_floats: $(wildcard tools/canary/reference*)

TESTS += kmod kmod-smp
TEST_DEPS += $(B)/kmod/canary.ko $(KMOD_TOOLS)
.PHONY: test-kmod test-kmod-smp
test-kmod: $(B)/kmod/canary.ko $(KMOD_TOOLS) $(B)/selftests/user/types_test $(B)/selftests/user/share_test $(B)/selftests/user/table_test $(B)/selftests/user/cmpi_test $(B)/examples/library $(B)/examples/socket ## socket calls and sums through AF_CANARY, in the guest
	selftests/vm/run.sh --timeout 1800 -- selftests/kmod/guest.sh $(KMOD_PROGRAMS) \
		$(filter-out $(KMOD_LOAD),$(KMOD_SCRIPTS)) ../user/types_test ../user/share_test \
		../user/table_test ../user/cmpi_test ../user/examples.sh

test-kmod-smp: $(B)/kmod/canary.ko $(KMOD_TOOLS) ## load, use, unload, in the guest with two processors
	selftests/vm/run.sh --smp2 --timeout 1800 -- selftests/kmod/$(KMOD_LOAD)
