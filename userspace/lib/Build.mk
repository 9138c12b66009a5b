# SPDX-License-Identifier: BSD-2-Clause
# libcanary: the API, two engines, and the protocol core that the user engine drives.
LIBCANARY_SRC := $(wildcard userspace/lib/*.c) $(wildcard kmod/core/*.c)
LIBCANARY_OBJ := $(LIBCANARY_SRC:%.c=$(B)/%.o)
LIBCANARY_SO := $(B)/lib/libcanary.so.$(VERSION)

LIBCANARY_SONAME := libcanary.so.$(basename $(basename $(VERSION)))

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

$(B)/lib/libcanary.pc: userspace/lib/libcanary.pc.in Makefile
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' $< > $@

.PHONY: install install-lib
install:: install-lib ## library, headers, tool and man pages below PREFIX (/usr/local), DESTDIR

install-lib: $(B)/lib/libcanary.so $(B)/lib/libcanary.a $(B)/lib/libcanary.pc
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/linux
	install -m 644 $(B)/lib/libcanary.a $(DESTDIR)$(PREFIX)/lib/
	install -m 755 $(LIBCANARY_SO) $(DESTDIR)$(PREFIX)/lib/
	cp -P $(B)/lib/$(LIBCANARY_SONAME) $(B)/lib/libcanary.so $(DESTDIR)$(PREFIX)/lib/
	install -m 644 $(B)/lib/libcanary.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig/
	install -m 644 userspace/include/canary.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 kmod/uapi/linux/canary.h kmod/uapi/linux/canary_wire.h \
		$(DESTDIR)$(PREFIX)/include/linux/
