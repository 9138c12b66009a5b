# SPDX-License-Identifier: BSD-2-Clause
# The component coll/canary of Open MPI 4.1. `make` builds it if Open MPI's headers are there.
OPENMPI_SRC := $(wildcard userspace/openmpi/*.c)
OPENMPI_OBJ := $(OPENMPI_SRC:%.c=$(B)/%.o)
OPENMPI_SO := $(B)/lib/openmpi/mca_coll_canary.so
OPENMPI_INCLUDE := $(patsubst -I%,%,$(shell pkg-config --cflags-only-I ompi-c 2>/dev/null))
OPENMPI_THERE := $(wildcard $(OPENMPI_INCLUDE:%=%/ompi/mca/coll/coll.h))

# It finds the library in the folder above: in build/lib, and below PREFIX. Empty: as others do.
OPENMPI_RPATH ?= $$ORIGIN/..

$(OPENMPI_OBJ): CPPFLAGS += $(OPENMPI_INCLUDE:%=-isystem %)

$(OPENMPI_SO): $(OPENMPI_OBJ) $(MPI_OBJ) $(B)/lib/libcanary.so userspace/openmpi/component.map
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared $(if $(OPENMPI_RPATH),-Wl$(comma)-rpath$(comma)'$(OPENMPI_RPATH)') \
		-Wl,--version-script=userspace/openmpi/component.map -o $@ \
		$(OPENMPI_OBJ) $(MPI_OBJ) -L$(B)/lib -lcanary \
		$(shell pkg-config --libs ompi-c) -lopen-rte -lopen-pal -pthread

comma := ,

.PHONY: openmpi
openmpi: $(if $(OPENMPI_THERE),$(OPENMPI_SO),openmpi-missing) ## component of Open MPI: unmodified programs sum up through Canary

.PHONY: openmpi-missing
openmpi-missing:
	@echo "openmpi: Open MPI's headers are missing (Debian's package libopenmpi-dev)" >&2; exit 1

ifneq ($(OPENMPI_THERE),)
all:: $(OPENMPI_SO)
endif

# Below PREFIX, Open MPI has to be told where it is. `make install-openmpi` puts it where Open MPI
# looks by itself.
OPENMPI_DIR ?= $(shell ompi_info --parsable --path pkglibdir 2>/dev/null | sed -n 's/^path:pkglibdir://p')

.PHONY: install-openmpi uninstall-openmpi
ifneq ($(OPENMPI_THERE),)
install:: $(OPENMPI_SO)
	install -d $(DESTDIR)$(PREFIX)/lib/openmpi
	install -m 755 $(OPENMPI_SO) $(DESTDIR)$(PREFIX)/lib/openmpi/
endif

install-openmpi: openmpi ## component of Open MPI into Open MPI's own folder (OPENMPI_DIR); library below PREFIX
	@test -n "$(OPENMPI_DIR)" || { echo "install-openmpi: OPENMPI_DIR= is needed, as there is no ompi_info" >&2; exit 1; }
	install -d $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(OPENMPI_DIR)
	install -m 755 $(LIBCANARY_SO) $(DESTDIR)$(PREFIX)/lib/
	cp -P $(B)/lib/$(LIBCANARY_SONAME) $(DESTDIR)$(PREFIX)/lib/
	install -m 755 $(OPENMPI_SO) $(DESTDIR)$(OPENMPI_DIR)/

uninstall-openmpi:
	rm -f $(DESTDIR)$(OPENMPI_DIR)/mca_coll_canary.so

uninstall::
	rm -f $(DESTDIR)$(PREFIX)/lib/openmpi/mca_coll_canary.so
