# SPDX-License-Identifier: BSD-2-Clause
# Unmodified programs with and without Canary. A short form is in test-openmpi.

# What cannot be had is a row "skipped".
.PHONY: apps-setup
apps-setup: $(B)/.setup
	-tools/setup/setup.sh list apps
	-tools/setup/setup.sh source mpi4py

.PHONY: apps
apps: apps-setup $(B)/bin/canary $(OPENMPI_TEST_NEEDS) $(XGBOOST_SO) $(B)/.setup-xgboost torch module \
		$(B)/data/digits.csv.gz ## unmodified programs with and without Canary: build/apps.json; installs them
	@selftests/apps/run.sh --out $(B)/apps.json
