# SPDX-License-Identifier: BSD-2-Clause
# What programs of user space share: values as people write them.

COMMON_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard userspace/common/*.c))

$(B)/lib/libcommon.a: $(COMMON_OBJS)
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $^
