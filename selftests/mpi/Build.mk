# SPDX-License-Identifier: BSD-2-Clause
# Unmodified MPI programs over switches, with the component of Open MPI

MPI_TEST_BIN := $(MPI_PROGRAMS:%=$(B)/selftests/mpi/%)

$(MPI_TEST_BIN): $(B)/selftests/mpi/%: selftests/mpi/%.c selftests/mpi/program.h | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(OPENMPI_INCLUDE:%=-isystem %) $(CFLAGS) -o $@ $< \
		$(shell pkg-config --libs ompi-c) -pthread

# Without Open MPI's headers, the tests say so and are skipped.
MPI_TEST_NEEDS := $(if $(OPENMPI_THERE),$(OPENMPI_SO) $(MPI_TEST_BIN))

TESTS += openmpi
TEST_DEPS += $(MPI_TEST_NEEDS)

.PHONY: test-openmpi
test-openmpi: $(B)/bin/canary $(MPI_TEST_NEEDS) ## unmodified MPI programs: types, operators, requests, communicators, trouble
	@bad=0; for t in $(MPI_SCRIPTS); do selftests/mpi/$$t || bad=1; done; exit $$bad
