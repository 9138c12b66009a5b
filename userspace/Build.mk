# SPDX-License-Identifier: BSD-2-Clause
# What runs in user space: the switch daemon, the library, and what they share.

-include userspace/common/Build.mk userspace/switchd/Build.mk userspace/lib/Build.mk
