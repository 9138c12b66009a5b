// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions of Fortran's module mpi_f08 that call PMPI_*. All others, and those of the module mpi
 * and of mpif.h, call MPI_*, so this library sees them there. A type of mpi_f08 is an integer in a
 * struct.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload.h"

#define EXPORT	__attribute__((visibility("default")))

EXPORT void mpi_init_f08_(int *error);
EXPORT void mpi_init_thread_f08_(const int *required, int *provided, int *error);
EXPORT void mpi_finalize_f08_(int *error);
EXPORT void mpi_barrier_f08_(const MPI_Fint *comm, int *error);
EXPORT void mpi_wait_f08_(MPI_Fint *request, void *status, int *error);
EXPORT void mpi_request_get_status_f08_(const MPI_Fint *request, int *flag, void *status,
					int *error);

/* The argument may be missing. */
static void tell(int *error, int value)
{
	if (error)
		*error = value;
}

void mpi_init_f08_(int *error)
{
	tell(error, MPI_Init(NULL, NULL));
}

void mpi_init_thread_f08_(const int *required, int *provided, int *error)
{
	tell(error, MPI_Init_thread(NULL, NULL, *required, provided));
}

void mpi_finalize_f08_(int *error)
{
	tell(error, MPI_Finalize());
}

void mpi_barrier_f08_(const MPI_Fint *comm, int *error)
{
	tell(error, MPI_Barrier(MPI_Comm_f2c(*comm)));
}

/*
 * MPICH's function, which also knows what Fortran has for MPI_STATUS_IGNORE. @known: where it is
 * kept. Threads that look for it at a time find the same.
 */
static void next(const char *name, void **known, void *function)
{
	void *found = __atomic_load_n(known, __ATOMIC_RELAXED);

	if (!found)
		found = dlsym(RTLD_NEXT, name);
	if (!found) {
		fprintf(stderr, "canary: this MPICH has no %s\n", name);
		abort();
	}
	__atomic_store_n(known, found, __ATOMIC_RELAXED);
	memcpy(function, &found, sizeof(found));
}

void mpi_wait_f08_(MPI_Fint *request, void *status, int *error)
{
	void (*wait)(MPI_Fint *request, void *status, int *error);
	static void *known;

	preload_settle(MPI_Request_f2c(*request));
	next("mpi_wait_f08_", &known, &wait);
	wait(request, status, error);
}

void mpi_request_get_status_f08_(const MPI_Fint *request, int *flag, void *status, int *error)
{
	void (*get)(const MPI_Fint *request, int *flag, void *status, int *error);
	static void *known;

	preload_look(MPI_Request_f2c(*request));
	next("mpi_request_get_status_f08_", &known, &get);
	get(request, flag, status, error);
}
