# SPDX-License-Identifier: BSD-2-Clause
# The tool: one binary with all commands.

CANARY_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard tools/canary/*.c))
CANARY_LIBS := $(B)/lib/libswitchd.a $(B)/lib/libcanary.a $(B)/lib/libcommon.a

$(B)/bin/canary: $(CANARY_OBJS) $(CANARY_LIBS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lbpf -lmnl -lm -lpthread

all:: $(B)/bin/canary

-include tools/sim/Build.mk tools/man/Build.mk tools/reproducible/Build.mk tools/packages/Build.mk tools/cross/Build.mk
