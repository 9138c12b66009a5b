# SPDX-License-Identifier: BSD-2-Clause
# Manual pages and the tools; `make install` says where they go.
MAN_PAGES := $(wildcard tools/man/*.[1-8])

.PHONY: install-tool install-man uninstall-tool uninstall-man
install:: install-tool install-man

install-tool: $(B)/bin/canary $(B)/bin/canary-sim
	install -d $(DESTDIR)$(PREFIX)/sbin $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(B)/bin/canary $(DESTDIR)$(PREFIX)/sbin/
	install -m 755 $(B)/bin/canary-sim $(DESTDIR)$(PREFIX)/bin/

install-man: $(MAN_PAGES)
	for page in $^; do \
		dir=$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}; \
		install -d $$dir && install -m 644 $$page $$dir/; \
	done

uninstall:: uninstall-tool uninstall-man

uninstall-tool:
	rm -f $(DESTDIR)$(PREFIX)/sbin/canary $(DESTDIR)$(PREFIX)/bin/canary-sim

uninstall-man:
	for page in $(MAN_PAGES); do \
		rm -f $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}; \
	done
