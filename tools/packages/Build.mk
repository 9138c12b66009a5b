# SPDX-License-Identifier: BSD-2-Clause
# Debian packages. They are built in a copy of the tree, which has tools/packages/debian as debian/.

.PHONY: packages lint-packages
packages: $(B)/setup.mk ## Debian packages, in build/packages
	tools/packages/build.sh $(B)/packages

lint-packages: packages ## lintian looks at the Debian packages
	lintian --fail-on error,warning,info --tag-display-limit 0 $(B)/packages/*.changes
