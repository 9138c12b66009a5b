# SPDX-License-Identifier: BSD-2-Clause
# What is loaded before a program of XGBoost 1.7, so that its workers sum up through Canary. Neither
# XGBoost nor its headers are needed to build it.
XGBOOST_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard userspace/xgboost/*.c))
XGBOOST_SO := $(B)/lib/libcanary_xgboost.so

# An exception of rabit passes through.
$(XGBOOST_OBJ): CFLAGS += -fexceptions -fvisibility=hidden

# It finds the library in its own folder.
$(XGBOOST_SO): $(XGBOOST_OBJ) $(MPI_OBJ) $(B)/lib/libcanary.so userspace/xgboost/rabit.map
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -Wl,-rpath,'$$ORIGIN' -Wl,-z,defs \
		-Wl,--version-script=userspace/xgboost/rabit.map -o $@ $(XGBOOST_OBJ) $(MPI_OBJ) \
		-L$(B)/lib -lcanary -pthread

all:: $(XGBOOST_SO)

install:: $(XGBOOST_SO)
	install -d $(DESTDIR)$(PREFIX)/lib
	install -m 755 $(XGBOOST_SO) $(DESTDIR)$(PREFIX)/lib/

uninstall::
	rm -f $(DESTDIR)$(PREFIX)/lib/libcanary_xgboost.so
