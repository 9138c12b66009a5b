// SPDX-License-Identifier: BSD-2-Clause
/*
 * The functions of MPI that this library takes the place of. MPICH's libraries for Fortran and C++
 * call them by these names, too.
 */
#include "preload.h"

#define EXPORT	__attribute__((visibility("default")))

/* ---- the process ---- */

EXPORT int MPI_Init(int *argc, char ***argv)
{
	int err;

	preload_before_init();
	err = PMPI_Init(argc, argv);
	if (!err)
		preload_after_init();
	return err;
}

EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int err;

	preload_before_init();
	err = PMPI_Init_thread(argc, argv, required, provided);
	if (!err)
		preload_after_init();
	return err;
}

EXPORT int MPI_Finalize(void)
{
	preload_before_finalize();
	return PMPI_Finalize();
}

/* ---- sums ---- */

static bool allreduce(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type,
		      MPI_Op op, MPI_Comm comm, int *err)
{
	const struct preload_call call = {
		.call = CMPI_ALLREDUCE, .sendbuf = sendbuf, .recvbuf = recvbuf, .count = count,
		.type = type, .op = op, .comm = comm,
	};

	return preload_call(&call, err);
}

EXPORT int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
			 MPI_Op op, MPI_Comm comm)
{
	int err;

	if (allreduce(sendbuf, recvbuf, count, type, op, comm, &err))
		return err;
	return PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm);
}

EXPORT int MPI_Allreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type,
			   MPI_Op op, MPI_Comm comm)
{
	int err;

	if (allreduce(sendbuf, recvbuf, count, type, op, comm, &err))
		return err;
	return PMPI_Allreduce_c(sendbuf, recvbuf, count, type, op, comm);
}

static bool iallreduce(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type,
		       MPI_Op op, MPI_Comm comm, MPI_Request *request, int *err)
{
	const struct preload_call call = {
		.call = CMPI_IALLREDUCE, .sendbuf = sendbuf, .recvbuf = recvbuf, .count = count,
		.type = type, .op = op, .comm = comm, .request = request,
	};

	return preload_call(&call, err);
}

EXPORT int MPI_Iallreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
			  MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	int err;

	if (iallreduce(sendbuf, recvbuf, count, type, op, comm, request, &err))
		return err;
	return PMPI_Iallreduce(sendbuf, recvbuf, count, type, op, comm, request);
}

EXPORT int MPI_Iallreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type,
			    MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	int err;

	if (iallreduce(sendbuf, recvbuf, count, type, op, comm, request, &err))
		return err;
	return PMPI_Iallreduce_c(sendbuf, recvbuf, count, type, op, comm, request);
}

static bool reduce(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type,
		   MPI_Op op, int root, MPI_Comm comm, int *err)
{
	const struct preload_call call = {
		.call = CMPI_REDUCE, .sendbuf = sendbuf, .recvbuf = recvbuf, .count = count,
		.type = type, .op = op, .root = root, .comm = comm,
	};

	return preload_call(&call, err);
}

EXPORT int MPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
		      int root, MPI_Comm comm)
{
	int err;

	if (reduce(sendbuf, recvbuf, count, type, op, root, comm, &err))
		return err;
	return PMPI_Reduce(sendbuf, recvbuf, count, type, op, root, comm);
}

EXPORT int MPI_Reduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type,
			MPI_Op op, int root, MPI_Comm comm)
{
	int err;

	if (reduce(sendbuf, recvbuf, count, type, op, root, comm, &err))
		return err;
	return PMPI_Reduce_c(sendbuf, recvbuf, count, type, op, root, comm);
}

EXPORT int MPI_Barrier(MPI_Comm comm)
{
	const struct preload_call call = { .call = CMPI_BARRIER, .comm = comm };
	int err;

	return preload_call(&call, &err) ? err : PMPI_Barrier(comm);
}

/* ---- requests ---- */

EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	if (request)
		preload_settle(*request);
	return PMPI_Wait(request, status);
}

EXPORT int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	preload_look(request);
	return PMPI_Request_get_status(request, flag, status);
}
