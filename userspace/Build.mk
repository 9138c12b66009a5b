# SPDX-License-Identifier: BSD-2-Clause
# User space: the switch daemon, the library, and their common code

-include userspace/common/Build.mk userspace/switchd/Build.mk userspace/lib/Build.mk
-include userspace/mpi/Build.mk userspace/openmpi/Build.mk
-include userspace/mpich/Build.mk userspace/torch/Build.mk userspace/xgboost/Build.mk
