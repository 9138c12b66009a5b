# SPDX-License-Identifier: BSD-2-Clause
# What is common to MPI libraries. Components link it, and what it needs of the common code.
MPI_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard userspace/mpi/*.c)) \
	$(patsubst %,$(B)/userspace/common/%.o,parse address own_address)

$(B)/selftests/user/cmpi_test $(B)/selftests/user/cmpi_later_test: $(wildcard userspace/mpi/*)
