# SPDX-License-Identifier: BSD-2-Clause
# PyTorch's process group "canary": build/lib/python/canary_torch, for PYTHONPATH. PyTorch is large,
# so only `make torch` asks for its packages. `make test` tests it where they are installed.
TORCH := $(B)/lib/python/canary_torch
TORCH_PYTHON := /usr/bin/python3
TORCH_ABI := $(B)/userspace/torch/flags
TORCH_SRC := $(wildcard userspace/torch/*.cpp)
TORCH_OBJ := $(TORCH_SRC:%.cpp=$(B)/%.o)
TORCH_PY := $(patsubst userspace/torch/%,$(B)/lib/python/%,$(wildcard userspace/torch/canary_torch/*.py))

# Its headers are not free of these warnings. They are system headers here.
TORCH_FLAGS = -std=c++17 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra -Werror -Wno-unused-parameter \
	-Wno-missing-field-initializers -D_GNU_SOURCE -Ikmod/uapi -Iuserspace/include \
	@$(TORCH_ABI)

.PHONY: torch
torch: $(TORCH)/_C.so $(TORCH_PY) ## PyTorch's process group, for PYTHONPATH=build/lib/python; installs PyTorch

$(B)/.setup-torch: tools/setup/torch.txt tools/setup/setup.sh | $(B)/.setup
	tools/setup/setup.sh list torch
	@touch $@

$(TORCH_ABI): userspace/torch/flags.py $(B)/.setup-torch
	@mkdir -p $(@D)
	$(TORCH_PYTHON) $< > $@

$(TORCH_OBJ): $(B)/%.o: %.cpp $(TORCH_ABI)
	@mkdir -p $(@D)
	g++ $(CPPFLAGS) $(CXXFLAGS) $(TORCH_FLAGS) $(DEPFLAGS) -c $< -o $@

# It finds libcanary by the path from the module, as in the rest of build/. Empty: as others do.
TORCH_RPATH ?= $$ORIGIN/../..

# It reads values as the rest does.
TORCH_COMMON := $(B)/userspace/common/parse.o

$(TORCH)/_C.so: $(TORCH_OBJ) $(TORCH_COMMON) $(B)/lib/libcanary.so
	@mkdir -p $(@D)
	g++ $(LDFLAGS) -shared $(if $(TORCH_RPATH),-Wl$(comma)-rpath$(comma)'$(TORCH_RPATH)') -o $@ \
		$(TORCH_OBJ) $(TORCH_COMMON) -L$(B)/lib -lcanary -ltorch_python -ltorch_cpu -lc10 -pthread

$(TORCH_PY): $(B)/lib/python/%: userspace/torch/%
	@mkdir -p $(@D)
	cp $< $@

# For all users of this Python, beside libcanary of `make install`
TORCH_DIR ?= $(shell $(TORCH_PYTHON) -c "import sysconfig; print(sysconfig.get_path('platlib'))")

.PHONY: install-torch uninstall-torch
install-torch: torch install-lib ## PyTorch's process group for all users of /usr/bin/python3; needs ldconfig
	install -d $(DESTDIR)$(TORCH_DIR)/canary_torch
	install -m 644 $(TORCH)/_C.so $(TORCH_PY) $(DESTDIR)$(TORCH_DIR)/canary_torch/

uninstall-torch:
	rm -rf $(DESTDIR)$(TORCH_DIR)/canary_torch

TESTS += torch
TORCH_HERE := $(wildcard /usr/include/torch/csrc/distributed/c10d)
TORCH_NEEDS := $(B)/bin/canary $(B)/data/digits.csv.gz $(if $(TORCH_HERE),torch)
TEST_DEPS += $(TORCH_NEEDS)

.PHONY: test-torch
test-torch: $(TORCH_NEEDS) ## PyTorch's sums through switches; skipped if PyTorch is not installed
	@selftests/torch/torch.sh || [ $$? -eq 4 ]
