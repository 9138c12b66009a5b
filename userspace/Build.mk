# SPDX-License-Identifier: BSD-2-Clause
# What runs in user space: the switch daemon, the library.

-include userspace/switchd/Build.mk userspace/lib/Build.mk
