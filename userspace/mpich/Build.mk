# SPDX-License-Identifier: BSD-2-Clause
# What is loaded before a program of MPICH 4.0, so that it sums up through Canary. `make` builds it if
# MPICH's headers are there.
MPICH_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard userspace/mpich/*.c)) $(B)/userspace/common/pmi1.o
MPICH_SO := $(B)/lib/canary/libcanary-mpich.so
MPICH_INCLUDE := $(patsubst -I%,%,$(shell pkg-config --cflags-only-I mpich 2>/dev/null))
MPICH_LIBS := $(shell pkg-config --libs-only-L mpich 2>/dev/null) -lmpich
MPICH_THERE := $(wildcard $(MPICH_INCLUDE:%=%/mpi.h))

# It finds libcanary in the folder above: in build/lib, and in LIBDIR. Empty: as others do.
MPICH_RPATH ?= $$ORIGIN/..

$(MPICH_OBJ): CPPFLAGS += $(MPICH_INCLUDE:%=-isystem %)

# Python loads MPICH late, and hides its symbols from others. So this names the library that it needs.
$(MPICH_SO): $(MPICH_OBJ) $(MPI_OBJ) $(B)/lib/libcanary.so userspace/mpich/preload.map
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared $(if $(MPICH_RPATH),-Wl$(comma)-rpath$(comma)'$(MPICH_RPATH)') \
		-Wl,-z,defs -Wl,--version-script=userspace/mpich/preload.map -o $@ \
		$(MPICH_OBJ) $(MPI_OBJ) -L$(B)/lib -lcanary \
		$(MPICH_LIBS) -pthread

.PHONY: mpich
mpich: $(if $(MPICH_THERE),$(MPICH_SO),mpich-missing) ## what is loaded before programs of MPICH, so that they sum up through Canary

.PHONY: mpich-missing
mpich-missing:
	@echo "mpich: MPICH's headers are missing (Debian's package libmpich-dev)" >&2; exit 1

.PHONY: install-mpich
install-mpich: mpich ## libcanary-mpich.so, and the library, below PREFIX
	install -d $(DESTDIR)$(LIBDIR)/canary
	install -m 755 $(LIBCANARY_SO) $(DESTDIR)$(LIBDIR)/
	cp -P $(B)/lib/$(LIBCANARY_SONAME) $(DESTDIR)$(LIBDIR)/
	install -m 755 $(MPICH_SO) $(DESTDIR)$(LIBDIR)/canary/

ifneq ($(MPICH_THERE),)
all:: $(MPICH_SO)

install:: $(MPICH_SO)
	install -d $(DESTDIR)$(LIBDIR)/canary
	install -m 755 $(MPICH_SO) $(DESTDIR)$(LIBDIR)/canary/
endif

uninstall::
	rm -f $(DESTDIR)$(LIBDIR)/canary/libcanary-mpich.so
