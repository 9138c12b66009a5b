# SPDX-License-Identifier: BSD-2-Clause
# What is common to MPI libraries. Components link it, and what it needs of the common code.
MPI_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard userspace/mpi/*.c)) \
	$(patsubst %,$(B)/userspace/common/%.o,parse address own_address)

$(patsubst %,$(B)/selftests/user/%_test,cmpi cmpi_later threshold): $(wildcard userspace/mpi/* selftests/user/cmpi_ranks.h)
