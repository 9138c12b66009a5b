# SPDX-License-Identifier: BSD-2-Clause
# What the Makefiles of all folders have in common, around kselftest's lib.mk. A folder sets
#
#	TEST_PROGS	scripts, and TEST_GEN_PROGS: programs
#	TEST_FILES	what they need beside them
#	PROGRAM_DIR	where in build/ they are made, selftests/FOLDER by default
#	TREE_NEEDS	what else the tests use: targets of Canary's own Makefile
#
# Programs are compiled by Canary's own Makefile, which knows how. Its tree is CANARY_TREE: the
# parent of selftests/, or, when this folder is in a kernel's tree, a variable of the environment.
# Without one, each program is a script that says so and is skipped.
#
# CANARY_ONLY="NAME..." runs these tests, and skips all others.

TESTS_TOP := $(realpath $(dir $(lastword $(MAKEFILE_LIST))))
FOLDER := $(notdir $(CURDIR))
PROGRAM_DIR ?= selftests/$(FOLDER)

ifeq ($(CANARY_TREE),)
CANARY_TREE := $(if $(wildcard $(TESTS_TOP)/../PROTOCOL.md),$(realpath $(TESTS_TOP)/..))
endif
export CANARY_TREE

# In a kernel's tree this is tools/testing/selftests/net/canary/FOLDER. In Canary's, set-up unpacks
# lib.mk and what belongs to it around a link to selftests/. Where the shell believes to be is how
# kselftest finds `settings`.
LIB_MK := $(wildcard $(TESTS_TOP)/../../lib.mk)
ifeq ($(LIB_MK),)
KSELFTEST := $(CANARY_TREE)/build/linux-parts/tools/testing/selftests
LIB_MK := $(KSELFTEST)/lib.mk
OUTPUT ?= $(CANARY_TREE)/build/kselftest/$(FOLDER)
export PWD := $(realpath $(KSELFTEST))/net/canary/$(FOLDER)

$(LIB_MK): $(CANARY_TREE)/tools/setup/setup.sh
	$< parts
	@touch $@
endif

# Nothing of this make: where it puts things, and what it compiles for
TREE_MAKE = env -u MAKEFLAGS -u MAKELEVEL -u OUTPUT -u O -u CFLAGS -u CC $(MAKE) -s -C $(CANARY_TREE)

# chosen NAME...: those of them that are to run
chosen = $(if $(CANARY_ONLY),$(filter $(CANARY_ONLY),$(1)),$(1))
PROGRAMS := $(call chosen,$(TEST_GEN_PROGS))
ifneq ($(CANARY_TREE),)
MADE := $(if $(PROGRAMS)$(call chosen,$(TEST_PROGS)),$(TREE_NEEDS)) \
	$(PROGRAMS:%=build/$(PROGRAM_DIR)/%)
endif

include $(LIB_MK)

.PHONY: tree
tree:
	$(if $(strip $(MADE)),@$(TREE_MAKE) $(MADE))

all: tree

# A program of the tree, or a script that says why there is none
$(TEST_GEN_PROGS): tree
	@mkdir -p $(@D)
	@rm -f $@
ifeq ($(CANARY_TREE),)
	@sh $(TESTS_TOP)/skipped.sh $@ "needs the tree of Canary: set CANARY_TREE"
else
	@if [ -n "$(filter $(@F),$(PROGRAMS))" ]; then \
		ln -s $(CANARY_TREE)/build/$(PROGRAM_DIR)/$(@F) $@; \
	else \
		sh $(TESTS_TOP)/skipped.sh $@ "not one of CANARY_ONLY"; \
	fi
endif
