/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library that is loaded before a program of MPICH 4.0 (LD_PRELOAD). It takes the place of some
 * functions MPI_*, carries out some calls by libcanary, and passes all others to PMPI_*.
 *
 * MPICH itself never calls a name MPI_*, and this library only calls PMPI_*. So nothing recurses.
 */
#ifndef CANARY_MPICH_PRELOAD_H
#define CANARY_MPICH_PRELOAD_H

#include <mpi.h>
#include <sys/queue.h>

#include "userspace/mpi/cmpi.h"

/**
 * struct preload_comm - what is kept of a communicator
 *
 * An attribute of the communicator, made by the first call on it. MPICH tells when it is freed.
 * Requests may outlive it.
 *
 * @comm:	valid until it is freed
 * @inter:	an intercommunicator, of which nothing else is set
 * @queue:	requests that are not complete
 * @users:	the communicator, requests, threads; changed under process-wide lock of comm.c
 * @posting:	a thread posts what had no room; protected by queue.lock
 * @all:	of all communicators; likewise
 */
struct preload_comm {
	MPI_Comm		comm;
	bool			inter;
	struct cmpi_comm	c;
	struct cmpi_queue	queue;
	unsigned int		users;
	bool			posting;
	LIST_ENTRY(preload_comm) all;
};

/**
 * struct preload_call - a call of the program
 * @root:	of CMPI_REDUCE
 * @request:	of CMPI_IALLREDUCE; receives it
 */
struct preload_call {
	enum cmpi_call	call;
	const void	*sendbuf;
	void		*recvbuf;
	MPI_Count	count;
	MPI_Datatype	type;
	MPI_Op		op;
	int		root;
	MPI_Comm	comm;
	MPI_Request	*request;
};

/* settings.c: constant after MPI_Init */
extern struct cmpi_settings preload_settings;
extern bool preload_on;		/* between MPI_Init and MPI_Finalize, and not switched off */
extern uint32_t preload_job;	/* for cmpi_form() */

/* process.c */
void preload_before_init(void);
void preload_after_init(void);
void preload_before_finalize(void);

/* peers.c: what processes of a job tell each other, by their rank in MPI_COMM_WORLD */

/*
 * preload_peers_tell() - before MPICH starts
 * @wrong:	why this process cannot use Canary, or ""
 * Return: false if the launcher has no exchange
 */
bool preload_peers_tell(const char *wrong);

/* preload_peers_ask() - when MPICH has started. It sets preload_job. */
void preload_peers_ask(unsigned int rank, unsigned int members);

/* preload_peer_alike() - has this process the library, with the same version and settings? */
bool preload_peer_alike(int process);

/* preload_peers_one_host() - are two processes on one host? */
bool preload_peers_one_host(int a, int b);

/* comm.c */
bool preload_comms_init(void);

/* preload_comm_find() - what is kept of @comm; NULL: not a communicator for this, or no memory */
struct preload_comm *preload_comm_find(MPI_Comm comm);

/* preload_comm_get(), preload_comm_put() - one user more; one less, and the last one ends it */
void preload_comm_get(struct preload_comm *m);
void preload_comm_put(struct preload_comm *m);

/* preload_comm_host() - MPICH's functions on a communicator */
struct cmpi_host preload_comm_host(struct preload_comm *m);

/* preload_comm_form() - form it at once. Return: an error of MPI, or MPI_SUCCESS */
int preload_comm_form(struct preload_comm *m);

/* preload_comms_end() - end all. Return: false if there is one with users besides it */
bool preload_comms_end(void);

/* preload_progress() - let MPICH make progress */
void preload_progress(void);

/* request.c */

/* preload_start() - begin a call. Return: an error of MPI, or MPI_SUCCESS */
int preload_start(struct preload_comm *m, const struct canary_call *what, MPI_Request *request);

/* preload_settle() - if it is a request of this library, wait until it has ended */
void preload_settle(MPI_Request request);

/* preload_look() - if it is a request of this library that has ended, tell MPICH so */
void preload_look(MPI_Request request);

/* preload_error() - Return: an error of canary as one of MPI */
int preload_error(int err);

/* call.c */

/*
 * preload_call() - carry out a call, if it is for canary
 * @err:	receives an error of MPI, for which the error handler was called, or MPI_SUCCESS
 * Return: false if it is for MPICH
 */
bool preload_call(const struct preload_call *call, int *err);

/* types.c. Return: enum canary_dtype, enum canary_operator on it, or 0 if there is none */
uint32_t preload_dtype(MPI_Datatype type);
uint32_t preload_operator(MPI_Datatype type, MPI_Op op);

#endif /* CANARY_MPICH_PRELOAD_H */
