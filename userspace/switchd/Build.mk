# SPDX-License-Identifier: BSD-2-Clause
# The switch daemon, as a library for the tool.

SWITCHD_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard userspace/switchd/*.c))

$(B)/userspace/switchd/dataplane.o $(B)/userspace/switchd/backlog.o: CPPFLAGS += -I$(B)/bpf
$(B)/userspace/switchd/backlog.o: $(B)/bpf/canary_backlog.skel.h
$(B)/userspace/switchd/dataplane.o: $(B)/bpf/canary_switch.skel.h

$(B)/lib/libswitchd.a: $(SWITCHD_OBJS)
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $^

all:: $(B)/lib/libswitchd.a

TESTS += switch

.PHONY: test-switch
test-switch: $(B)/bin/canary $(B)/selftests/net/fail_maps.so ## the switch daemon between namespaces
	@bad=0; for t in $(NET_SWITCH); do \
		CANARY=$(CURDIR)/$< selftests/net/$$t || bad=1; done; exit $$bad

TESTS += switch-guest

.PHONY: test-switch-guest
test-switch-guest: $(B)/bin/canary ## devices that are no ports, VLANs, in the guest
	@selftests/vm/run.sh --timeout 600 --env CANARY=$(CURDIR)/$< -- selftests/net/switch_devices.sh

TESTS += backlog

.PHONY: test-backlog
test-backlog: $(B)/bin/canary ## what waits at the ports of switches
	CANARY=$(CURDIR)/$< selftests/net/backlog.sh

TESTS += settings

.PHONY: test-settings
test-settings: $(B)/bin/canary $(B)/selftests/net/fail_maps.so ## settings of running switches
	CANARY=$(CURDIR)/$< selftests/net/settings.sh

TESTS += config

.PHONY: test-config
test-config: $(B)/bin/canary ## settings and rules in files, and the manager of a switch
	CANARY=$(CURDIR)/$< selftests/net/config.sh

TESTS += unit

.PHONY: test-unit
test-unit: $(B)/bin/canary ## the command line and the privileges of the switch's systemd unit
	CANARY=$(CURDIR)/$< selftests/net/unit.sh

TESTS += recover
TEST_DEPS += $(B)/selftests/net/fail_maps.so

$(B)/selftests/net/fail_maps.so: selftests/net/fail_maps.c | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $< -ldl

.PHONY: test-recover
test-recover: $(B)/bin/canary $(B)/selftests/net/fail_maps.so ## the switch daemon misses something
	CANARY=$(CURDIR)/$< selftests/net/recover.sh

TESTS += share

.PHONY: test-share
test-share: $(B)/bin/canary ## a TCP flow and the sums of one host share a short queue
	CANARY=$(CURDIR)/$< selftests/net/share.sh

TESTS += timeout

.PHONY: test-timeout
test-timeout: $(B)/bin/canary ## the switch's timeout follows its ports
	@selftests/vm/run.sh --timeout 600 --env CANARY=$(CURDIR)/$< -- selftests/net/timeout.sh
