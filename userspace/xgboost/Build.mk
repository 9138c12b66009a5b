# SPDX-License-Identifier: BSD-2-Clause
# What is loaded before a program of XGBoost 1.7, so that its workers sum up through Canary. Neither
# XGBoost nor its headers are needed to build it.
XGBOOST_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard userspace/xgboost/*.c))
XGBOOST_SO := $(B)/lib/canary/libcanary_xgboost.so

# It finds libcanary in the folder above: in build/lib, and in LIBDIR. Empty: as others do.
XGBOOST_RPATH ?= $$ORIGIN/..

# An exception of rabit passes through.
$(XGBOOST_OBJ): CFLAGS += -fexceptions -fvisibility=hidden

$(XGBOOST_SO): $(XGBOOST_OBJ) $(MPI_OBJ) $(B)/lib/libcanary.so userspace/xgboost/rabit.map
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared $(if $(XGBOOST_RPATH),-Wl$(comma)-rpath$(comma)'$(XGBOOST_RPATH)') \
		-Wl,-z,defs -Wl,--version-script=userspace/xgboost/rabit.map -o $@ \
		$(XGBOOST_OBJ) $(MPI_OBJ) -L$(B)/lib -lcanary -pthread

all:: $(XGBOOST_SO)

install:: $(XGBOOST_SO)
	install -d $(DESTDIR)$(LIBDIR)/canary
	install -m 755 $(XGBOOST_SO) $(DESTDIR)$(LIBDIR)/canary/

uninstall::
	rm -f $(DESTDIR)$(LIBDIR)/canary/libcanary_xgboost.so
