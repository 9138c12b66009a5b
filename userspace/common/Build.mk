# SPDX-License-Identifier: BSD-2-Clause
# Code that all programs of user space share: parsing and printing of values, options, JSON.

COMMON_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard userspace/common/*.c))

$(B)/lib/libcommon.a: $(COMMON_OBJS)
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $^
