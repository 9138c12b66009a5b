# SPDX-License-Identifier: BSD-2-Clause
# Unmodified MPI programs over switches, with the component of Open MPI, and with what is loaded before
# programs of MPICH. Both have their own headers, whatever mpi.h and mpicc of the machine are.

OPENMPI_TEST_BIN := $(MPI_PROGRAMS:%=$(B)/selftests/mpi/%)
MPICH_TEST_BIN := $(MPI_PROGRAMS:%=$(B)/selftests/mpich/%)

$(OPENMPI_TEST_BIN): $(B)/selftests/mpi/%: selftests/mpi/%.c selftests/mpi/program.h | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(OPENMPI_INCLUDE:%=-isystem %) $(CFLAGS) -o $@ $< \
		$(shell pkg-config --libs ompi-c) -pthread

# GCC takes MPI_STATUSES_IGNORE for an array that is too short.
$(MPICH_TEST_BIN): $(B)/selftests/mpich/%: selftests/mpi/%.c selftests/mpi/program.h | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(MPICH_INCLUDE:%=-isystem %) $(CFLAGS) -Wno-stringop-overflow -o $@ $< \
		$(MPICH_LIBS) -pthread

# Without headers, the tests say so and are skipped.
OPENMPI_TEST_NEEDS := $(if $(OPENMPI_THERE),$(OPENMPI_SO) $(OPENMPI_TEST_BIN))
MPICH_TEST_NEEDS := $(if $(MPICH_THERE),$(MPICH_SO) $(MPICH_TEST_BIN))

TESTS += openmpi mpich
TEST_DEPS += $(OPENMPI_TEST_NEEDS) $(MPICH_TEST_NEEDS)

.PHONY: test-openmpi test-mpich
test-openmpi: $(B)/bin/canary $(OPENMPI_TEST_NEEDS) ## unmodified programs of Open MPI: types, operators, requests, communicators, trouble
	@bad=0; for t in $(APPS_SCRIPTS:%=apps/%) $(OPENMPI_SCRIPTS:%=mpi/%); do selftests/$$t || [ $$? -eq 4 ] || bad=1; done; \
		exit $$bad

test-mpich: $(B)/bin/canary $(MPICH_TEST_NEEDS) ## unmodified programs of MPICH: likewise
	@bad=0; for t in $(MPICH_SCRIPTS); do selftests/mpi/$$t || [ $$? -eq 4 ] || bad=1; done; exit $$bad
