# SPDX-License-Identifier: BSD-2-Clause
# Unmodified MPI programs over switches, with the component of Open MPI

MPI_TEST_BIN := $(MPI_PROGRAMS:%=$(B)/selftests/mpi/%)

$(MPI_TEST_BIN): $(B)/selftests/mpi/%: selftests/mpi/%.c selftests/mpi/program.h | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(OPENMPI_INCLUDE:%=-isystem %) $(CFLAGS) -o $@ $< \
		$(shell pkg-config --libs ompi-c) -pthread

ifneq ($(OPENMPI_THERE),)
TESTS += openmpi
TEST_DEPS += $(MPI_TEST_BIN) $(OPENMPI_SO)
endif

.PHONY: test-openmpi
test-openmpi: $(B)/bin/canary openmpi $(MPI_TEST_BIN) ## unmodified MPI programs: types, operators, requests, communicators, trouble
	@bad=0; for t in $(MPI_SCRIPTS); do selftests/mpi/$$t || bad=1; done; exit $$bad
