# SPDX-License-Identifier: BSD-2-Clause
# Common part of the Makefiles of all folders, around kselftest's lib.mk. A folder sets
#	TEST_PROGS	scripts, and TEST_GEN_PROGS: programs
#	TEST_FILES	what they need beside them
#	PROGRAM_DIR	where in build/ they are made, selftests/FOLDER by default
#	TREE_NEEDS	what else the tests use: targets of Canary's own Makefile
# Canary's own Makefile compiles the programs. Its tree is CANARY_TREE: the parent of selftests/,
# or, in a kernel's tree, a variable of the environment. Without a tree, each program is a script
# that says so and is skipped.
#
# CANARY_ONLY="NAME..." runs these tests, and skips all others.

TESTS_TOP := $(realpath $(dir $(lastword $(MAKEFILE_LIST))))
FOLDER := $(notdir $(CURDIR))
PROGRAM_DIR ?= selftests/$(FOLDER)

ifeq ($(CANARY_TREE),)
CANARY_TREE := $(if $(wildcard $(TESTS_TOP)/../PROTOCOL.md),$(realpath $(TESTS_TOP)/..))
endif
export CANARY_TREE

# In a kernel's tree this is tools/testing/selftests/net/canary/FOLDER. In Canary's tree, set-up
# unpacks lib.mk and its files around a link to selftests/. kselftest finds `settings` by the path
# that the shell has as its current directory.
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

# The inner make gets nothing from this one: neither its output directory nor its compiler flags
TREE_MAKE = env -u MAKEFLAGS -u MAKELEVEL -u OUTPUT -u O -u CFLAGS -u CC $(MAKE) -s -C $(CANARY_TREE)

# chosen NAME...: those of them that have to run
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
