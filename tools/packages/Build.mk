# SPDX-License-Identifier: BSD-2-Clause
# Debian packages. They are built in a copy of the tree, which has tools/packages/debian as debian/.

.PHONY: packages lint-packages
packages: $(B)/setup.mk ## Debian packages, in build/packages
	tools/packages/build.sh $(B)/packages

lint-packages: packages ## lintian looks at the Debian packages
	lintian --fail-on error,warning,info --tag-display-limit 0 $(B)/packages/*.changes

# Not a part of `make test`, as it downloads a Debian and two kernels' headers.
.PHONY: test-packages
test-packages: packages $(B)/bin/canary $(B)/guest/config.mk ## install, use, upgrade and purge the packages in a Debian of their own
	@bad=0; selftests/packages/install.sh || bad=1; \
	selftests/vm/run.sh -- selftests/packages/unit_guest.sh || bad=1; exit $$bad
