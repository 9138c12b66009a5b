# SPDX-License-Identifier: BSD-2-Clause
# All tests, by folder: the one list for kselftest (FOLDER/Makefile) and for `make test` (Build.mk
# of the part that is tested). FOLDER_PROGRAMS are compiled, FOLDER_SCRIPTS are not.

TESTS_HERE := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))

CORE_PROGRAMS := $(patsubst $(TESTS_HERE)/core/%.c,%,$(wildcard $(TESTS_HERE)/core/*_test.c))
FUZZ_PROGRAMS := fuzz_parse fuzz_core
FUZZ_SCRIPTS := run.sh
BPF_PROGRAMS := test_switch_sanitized test_switch stress_switch

USER_PROGRAMS := siphash_test address_test parse_test json_test option_test params_test socket_test \
	payload_test buffers_test engine_test types_test vectors_test share_test table_test watch_test launcher_test \
	kernel_test engine_tsan share_tsan table_tsan setting_test rtnl_test cmpi_test cmpi_later_test \
	threshold_test
USER_SCRIPTS := install.sh usage.sh user.sh types.sh examples.sh try.sh launchers.sh machines.sh \
	docs.sh

# These run in the guest, as they need the module. One of them loads and unloads it.
KMOD_API := $(patsubst $(TESTS_HERE)/kmod/%.c,%,$(wildcard $(TESTS_HERE)/kmod/api_*.c))
KMOD_PROGRAMS := $(KMOD_API) zerocopy queued
KMOD_LOAD := load.sh
KMOD_SCRIPTS := allreduce.sh rules.sh path.sh $(KMOD_LOAD)

# SWITCH: all in one target, test-switch. DAEMON: a target each, test-NAME. GUEST: in the guest
NET_SWITCH := switch.sh switch_sums.sh switch_kinds.sh switch_follow.sh switch_guard.sh switch_end.sh switch_grey.sh \
	switch_groups.sh
NET_DAEMON := backlog.sh settings.sh config.sh unit.sh recover.sh share.sh
NET_GUEST := switch_devices.sh timeout.sh
NET_TESTBED := fault.sh topology.sh matrix.sh congestion.sh reproducible.sh
NET_SCRIPTS := $(NET_SWITCH) $(NET_DAEMON) $(NET_GUEST) $(NET_TESTBED)

# A sample of what `make kinds` runs
KINDS_PROGRAMS := reference_test
KINDS_SCRIPTS := table_test.py sample.sh

# Skipped where PyTorch is not installed
TORCH_SCRIPTS := torch.sh

SIM_SCRIPTS := run.sh types.sh
VM_SCRIPTS := selftest.sh kernels.sh

# Programs of MPI, which scripts run
MPI_PROGRAMS := types calls trouble columns corners careless only node
OPENMPI_SCRIPTS := openmpi.sh openmpi_only.sh openmpi_trouble.sh openmpi_node.sh openmpi_apps.sh
MPICH_SCRIPTS := mpich.sh mpich_trouble.sh mpich_node.sh
MPI_SCRIPTS := $(OPENMPI_SCRIPTS) $(MPICH_SCRIPTS)

# Trainings of XGBoost
XGBOOST_SCRIPTS := xgboost.sh

# What judges unmodified programs. `make apps` runs them
APPS_SCRIPTS := judge_test.py

# Measurements assert nothing. This is about how they are made.
BENCH_SCRIPTS := quiet.sh
