# SPDX-License-Identifier: BSD-2-Clause
# libcanary: the API, two engines, and the protocol core that the user engine drives.
LIBCANARY_SRC := $(wildcard userspace/lib/*.c) $(wildcard kmod/core/*.c) $(patsubst %,userspace/common/%.c,address own_address parse pmi1)
LIBCANARY_OBJ := $(LIBCANARY_SRC:%.c=$(B)/%.o)
LIBCANARY_SO := $(B)/lib/libcanary.so.$(VERSION)

LIBCANARY_SONAME := libcanary.so.$(basename $(basename $(VERSION)))

# PMIx is loaded when it is needed (pmix.c). Its types are not in a usual folder.
PMIX_INCLUDE := $(patsubst -I%,%,$(shell pkg-config --cflags-only-I pmix 2>/dev/null))
$(addsuffix /userspace/lib/pmix.o,$(B) $(B)/sanitized $(B)/threaded): \
	private CPPFLAGS += $(PMIX_INCLUDE:%=-isystem %)

all:: $(B)/lib/libcanary.so $(B)/lib/libcanary.a $(B)/lib/libcanary.pc

$(B)/lib/libcanary.a: $(LIBCANARY_OBJ)
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $^

$(LIBCANARY_SO): $(LIBCANARY_OBJ) userspace/lib/libcanary.map
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,$(LIBCANARY_SONAME) -Wl,-z,defs \
		-Wl,--version-script=userspace/lib/libcanary.map -o $@ $(LIBCANARY_OBJ) -pthread

$(B)/lib/libcanary.so: $(LIBCANARY_SO)
	ln -sf $(notdir $<) $(B)/lib/$(LIBCANARY_SONAME)
	ln -sf $(LIBCANARY_SONAME) $@

# Always made again: nobody knows the PREFIX of the one that is there.
.PHONY: $(B)/lib/libcanary.pc
$(B)/lib/libcanary.pc: userspace/lib/libcanary.pc.in
	@mkdir -p $(@D)
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' \
		-e 's|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|' $< > $@

.PHONY: install install-lib
install:: install-lib ## library, headers, tool and man pages below PREFIX (/usr/local), DESTDIR

install-lib: $(B)/lib/libcanary.so $(B)/lib/libcanary.a $(B)/lib/libcanary.pc
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include/linux
	install -m 644 $(B)/lib/libcanary.a $(DESTDIR)$(LIBDIR)/
	install -m 755 $(LIBCANARY_SO) $(DESTDIR)$(LIBDIR)/
	cp -P $(B)/lib/$(LIBCANARY_SONAME) $(B)/lib/libcanary.so $(DESTDIR)$(LIBDIR)/
	install -m 644 $(B)/lib/libcanary.pc $(DESTDIR)$(LIBDIR)/pkgconfig/
	install -m 644 userspace/include/canary.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 kmod/uapi/linux/canary.h kmod/uapi/linux/canary_wire.h \
		$(DESTDIR)$(PREFIX)/include/linux/

.PHONY: uninstall-lib
uninstall:: uninstall-lib ## remove what install put there, with the same PREFIX, DESTDIR

# Folders are not removed, as others may have files in them.
uninstall-lib:
	rm -f $(DESTDIR)$(LIBDIR)/libcanary.a $(DESTDIR)$(LIBDIR)/libcanary.so \
		$(DESTDIR)$(LIBDIR)/libcanary.so.* $(DESTDIR)$(LIBDIR)/pkgconfig/libcanary.pc \
		$(DESTDIR)$(PREFIX)/include/canary.h $(DESTDIR)$(PREFIX)/include/linux/canary.h \
		$(DESTDIR)$(PREFIX)/include/linux/canary_wire.h

# Tests run with the address sanitizer. The engine is also tested with the thread sanitizer.
TESTS += user

USER_TEST_DEP := $(wildcard userspace/lib/*.h userspace/common/*.h userspace/include/*.h kmod/core/*.h kmod/uapi/linux/*.h selftests/user/*.h) selftests/tap.h
USER_TEST_BIN := $(USER_PROGRAMS:%=$(B)/selftests/user/%)

$(B)/selftests/user/%_test: selftests/user/%_test.c $(call sanitized,$(LIBCANARY_SRC)) $(USER_TEST_DEP) | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(SANITIZE) -o $@ $(filter %.c %.o,$^) -pthread

# The same reference of operators as in canary perf
$(B)/selftests/user/types_test $(B)/selftests/user/vectors_test: $(wildcard tools/canary/reference*)

# These tests need no library.
COMMON_TESTS := $(patsubst %,$(B)/selftests/user/%_test,address parse json option)

$(COMMON_TESTS): $(B)/selftests/user/%_test: selftests/user/%_test.c $(wildcard userspace/common/*) selftests/tap.h | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(SANITIZE) -o $@ $(filter %.c,$^)

# Tests of the switch daemon's settings table and of its rtnetlink code
SWITCHD_TESTS := $(patsubst %,$(B)/selftests/user/%_test,setting rtnl)

$(SWITCHD_TESTS): $(B)/selftests/user/%_test: selftests/user/%_test.c selftests/tap.h $(B)/lib/libswitchd.a $(B)/lib/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $(filter %.c %.a,$^) -lbpf -lmnl -lpthread

$(B)/selftests/user/%_tsan: selftests/user/%_test.c $(call threaded,$(LIBCANARY_SRC)) $(USER_TEST_DEP) | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) -fsanitize=thread -o $@ $(filter %.c %.o,$^) -pthread

.PHONY: test-user
test-user: $(USER_TEST_BIN) $(B)/bin/canary $(B)/bin/digits $(B)/examples/library $(B)/examples/socket $(B)/data/digits.csv.gz ## library, user engine, tool, digits between namespaces
	@bad=0; for t in $(USER_TEST_BIN) $(USER_SCRIPTS:%=selftests/user/%) selftests/kmod/path.sh; do \
		$$t || bad=1; done; exit $$bad
