# SPDX-License-Identifier: BSD-2-Clause
# The tool: one binary of all commands that there are.

CANARY_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard tools/canary/*.c))
ifeq ($(wildcard bpf/Build.mk),)
CANARY_OBJS := $(filter-out %/switch.o,$(CANARY_OBJS))
endif
# The library, once it is part of the tree
CANARY_LIBS := $(if $(wildcard bpf/Build.mk),$(B)/lib/libswitchd.a) $(if $(wildcard userspace/lib/Build.mk),$(B)/lib/libcanary.a)

$(B)/bin/canary: $(CANARY_OBJS) $(CANARY_LIBS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lbpf -lmnl -lm -lpthread

all:: $(B)/bin/canary
