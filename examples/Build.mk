# SPDX-License-Identifier: BSD-2-Clause
# Examples use libcanary as anybody would: canary.h and the shared library.
DIGITS_OBJ := $(patsubst %,$(B)/examples/%.o,digits dataset softmax gradients)
DIGITS_DATA := $(B)/data/digits.csv.gz
DIGITS_DEBIAN := usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz

all:: $(B)/bin/digits $(B)/examples/socket $(B)/examples/library $(B)/examples/table

# The kernel's headers and nothing else
$(B)/examples/socket: examples/socket.c kmod/uapi/linux/canary.h | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $<

$(B)/examples/library $(B)/examples/table: %: %.o $(B)/lib/libcanary.so
	$(CC) $(LDFLAGS) -o $@ $< -L$(B)/lib -lcanary -Wl,-rpath,'$$ORIGIN/../lib'

# Other processors than x86 would else round a * b + c once.
$(B)/examples/softmax.o: CFLAGS += -ffp-contract=off

$(B)/bin/digits: $(DIGITS_OBJ) $(B)/lib/libcanary.so
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $(DIGITS_OBJ) -L$(B)/lib -lcanary -lz -lm -Wl,-rpath,'$$ORIGIN/../lib'

# One file out of Debian's python3-sklearn: not worth its dependencies of some 100 MB.
$(DIGITS_DATA):
	@mkdir -p $(@D)
	if [ -e /$(DIGITS_DEBIAN) ]; then cp /$(DIGITS_DEBIAN) $@; else \
		rm -rf $(@D)/sklearn && mkdir -p $(@D)/sklearn/root && cd $(@D)/sklearn && \
		apt-get -qq -o APT::Sandbox::User=root download python3-sklearn && dpkg-deb -x python3-sklearn_*.deb root && \
		cp root/$(DIGITS_DEBIAN) .. && cd .. && rm -rf sklearn; fi

data: $(DIGITS_DATA) ## the handwritten digits that demo and tests learn
.PHONY: data
