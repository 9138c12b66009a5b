# SPDX-License-Identifier: BSD-2-Clause
# Canary on Linux. `make help` lists what can be made; everything lands in build/.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

B := build
CC := gcc
CLANG ?= clang
VERSION := 0.1.0
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib

WARN := -Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare -Wmissing-prototypes -Wstrict-prototypes
CPPFLAGS += -D_GNU_SOURCE -DCANARY_VERSION_STRING='"$(VERSION)"' -Ikmod/uapi -Iuserspace/include -Ikmod -I.
CFLAGS += -O2 -g -std=gnu11 -fno-strict-aliasing $(WARN)

# What every C object needs to know about headers
DEPFLAGS = -MMD -MP

.PHONY: all help
all:: ## library, tool, switch programs, examples (module: make module)

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort -u | awk -F':.*## ' '{printf "  %-21s %s\n", $$1, $$2}'

# What is built needs the packages of the list. Being included, this is made before anything else,
# and make then starts over: what it asks compilers about, it asks those that are there now.
ifneq ($(filter-out help clean uninstall,$(or $(MAKECMDGOALS),all)),)
include $(B)/setup.mk
endif

$(B)/setup.mk: tools/setup/packages.txt tools/setup/setup.sh
	tools/setup/setup.sh packages
	@mkdir -p $(B) && touch $@

$(B)/.setup: $(B)/setup.mk
	@touch $@

# Without this, a machine that is refused (canary_wire.h) would get a list of errors for each file.
WIRE := kmod/uapi/linux/canary_wire.h
ifneq ($(filter-out help clean uninstall,$(or $(MAKECMDGOALS),all)),)
REFUSED := $(shell $(CC) $(CPPFLAGS) $(CFLAGS) -E -x c $(WIRE) 2>&1 >/dev/null | \
	sed -n '/\#error/{s/.*\#error "\(.*\)"/\1/p;q}')
ifneq ($(REFUSED),)
$(error $(REFUSED))
endif
endif

# Each part describes itself. Objects mirror the tree below build/.
include selftests/tests.mk selftests/sanitize.mk
-include kmod/Build.mk bpf/Build.mk userspace/Build.mk tools/Build.mk examples/Build.mk selftests/faults/Build.mk topology/Build.mk selftests/Build.mk
-include selftests/mpi/Build.mk selftests/bench/Build.mk selftests/sim/Build.mk selftests/kinds/Build.mk
-include selftests/xgboost/Build.mk selftests/apps/Build.mk

$(B)/%.o: %.c | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(DEPFLAGS) -fPIC -c $< -o $@

.PHONY: test test-built check bench clean install uninstall print-flags
# Two tests run at a time: what they need is built before, by this one make.
test: test-built ## all tests; the last line is "N passed, N failed"
	tools/test.sh $(TESTS)

test-built: all $(TEST_DEPS) ## what tests need, which may be built with -j

# For make -n: what `make test` runs. See selftests/kselftest.sh
.PHONY: test-commands
test-commands: $(TESTS:%=test-%)

# What no test runs has to compile all the same.
check: all $(BENCH_TOOLS) $(SIM_OBJ) $(B)/linux-parts/stamp $(B)/kmod/canary.ko ## checkpatch, sparse, gcc, clang, cppcheck, shellcheck, layers, documents
	tools/check.sh

# Sparse reads what canary.ko was compiled from. With the same W=1, nothing is compiled again.
.PHONY: module-sparse
module-sparse: $(B)/kmod/canary.ko
	@exec 9>$(B)/kmod/.lock && flock 9 && . $(B)/guest/config.mk && \
	$(MAKE) -C $$GUEST_KDIR M=$(CURDIR)/$(B)/kmod W=1 C=2 CF=-D__CHECK_ENDIAN__ modules 9>&-

$(B)/linux-parts/stamp: tools/setup/setup.sh
	tools/setup/setup.sh parts
	@touch $@

print-flags:
	@: $(info $(CPPFLAGS) -I$(B)/bpf $(addprefix -isystem ,$(PMIX_INCLUDE) \
		$(if $(MPICH),$(MPICH_INCLUDE),$(OPENMPI_INCLUDE))) $(CFLAGS))

clean: ## remove build products (keeps the guest image and debug kernels)
	find $(B) -mindepth 1 -maxdepth 1 ! -name guest ! -name linux-parts ! -name debug-kernel -exec rm -rf {} +

-include $(shell find $(B) -name '*.d' -type f -not -path '*/guest/*' -not -path '*/debug-kernel/*' 2>/dev/null)
