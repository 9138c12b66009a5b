# SPDX-License-Identifier: BSD-2-Clause
# Unmodified trainings of XGBoost over a switch. Only this asks for XGBoost's packages.
$(B)/.setup-xgboost: tools/setup/xgboost.txt tools/setup/setup.sh | $(B)/.setup
	tools/setup/setup.sh list xgboost
	@touch $@

TESTS += xgboost
TEST_DEPS += $(B)/.setup-xgboost

.PHONY: test-xgboost
test-xgboost: $(B)/bin/canary $(XGBOOST_SO) $(B)/.setup-xgboost ## unmodified trainings of XGBoost; installs XGBoost
	@bad=0; for t in $(XGBOOST_SCRIPTS); do selftests/xgboost/$$t || bad=1; done; exit $$bad
