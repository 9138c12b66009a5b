/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The component coll/canary of Open MPI 4.1: it puts itself before the collective functions that a
 * communicator would have without it, and calls those for everything that Canary does not do.
 */
#ifndef CANARY_OPENMPI_COMPONENT_H
#define CANARY_OPENMPI_COMPONENT_H

#include <pthread.h>

#include "ompi_config.h"
#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/coll.h"

#include "userspace/mpi/cmpi.h"

struct coll_module;

/**
 * struct coll_late - an allreduce that has its place among the calls, and begins later or never
 * @sbuf, @rbuf, @count, @dtype, @op: of the call
 * @m, @tag:	what is reserved
 * @request:	of Open MPI, while it is under way
 * @begun:	coll_late_begin() was called
 */
struct coll_late {
	struct coll_module	*m;
	const void		*sbuf;
	void			*rbuf;
	int			count;
	struct ompi_datatype_t	*dtype;
	struct ompi_op_t	*op;
	int32_t			tag;
	ompi_request_t		*request;
	bool			begun;
};

/**
 * struct coll_request - an allreduce that goes on behind the program's back
 *
 * It belongs to the program until it is complete and freed. Until it is complete, its module's
 * queue has it.
 *
 * @late:	if the communicator was not formed when it came. It keeps the type
 * @host_error:	of @late
 */
struct coll_request {
	ompi_request_t		super;
	struct cmpi_request	r;
	struct coll_late	late;
	int			host_error;
};

/**
 * struct coll_module - what the component keeps of a communicator
 *
 * Open MPI makes it with the communicator, and releases it after coll_module_disable().
 *
 * @comm:	valid until coll_module_disable()
 * @c:		what is common to MPI libraries
 * @queue:	requests that are not complete
 * @next:	of the component's list of modules with something to do, if @listed
 * @listed:	protected by queue.lock
 * @exchange, @agreement: of forming.c, while it is being formed
 * @copy, @copy_users: of late.c
 * @formed, @next_formed, @formed_taken: for coll_forming_ended()
 * @previous_*:	the functions that are replaced, and the modules that they belong to
 */
struct coll_module {
	mca_coll_base_module_t	super;
	ompi_communicator_t	*comm;
	struct cmpi_comm	c;
	struct cmpi_queue	queue;
	struct coll_module	*next;
	bool			listed;
	ompi_request_t		*exchange;
	struct coll_late	agreement;
	ompi_communicator_t	*copy;
	int32_t			copy_users;
	struct cmpi_forming	*formed;
	struct coll_module	*next_formed;
	bool			formed_taken;
	mca_coll_base_module_allreduce_fn_t previous_allreduce;
	mca_coll_base_module_iallreduce_fn_t previous_iallreduce;
	mca_coll_base_module_reduce_fn_t previous_reduce;
	mca_coll_base_module_barrier_fn_t previous_barrier;
	mca_coll_base_module_t	*previous_allreduce_module;
	mca_coll_base_module_t	*previous_iallreduce_module;
	mca_coll_base_module_t	*previous_reduce_module;
	mca_coll_base_module_t	*previous_barrier_module;
};

/* Open MPI makes names of classes from names of types. */
typedef struct coll_module coll_module_t;
typedef struct coll_request coll_request_t;
OBJ_CLASS_DECLARATION(coll_module_t);
OBJ_CLASS_DECLARATION(coll_request_t);

/* component.c */
extern mca_coll_base_component_t mca_coll_canary_component;

/* settings.c: constant after the component was opened; the number of the job, for cmpi_form() */
#define COLL_PREFIX "coll_canary_"
extern struct cmpi_settings coll_settings;
extern int coll_priority;
uint32_t coll_job(void);

/* module.c */
mca_coll_base_module_t *coll_comm_query(struct ompi_communicator_t *comm, int *priority);

/*
 * use.c
 *
 * coll_form() - form the communicator, at all ranks. Return: an error of Open MPI, or OMPI_SUCCESS
 */
int coll_form(struct coll_module *m);

/* coll_use() - cmpi_use() with the functions that were there before. Return: likewise */
int coll_use(struct coll_module *m, const struct cmpi_args *args, enum cmpi_why *why);

/* Return: the call as libcanary takes it; @sbuf may be MPI_IN_PLACE */
struct canary_call coll_describe(const struct cmpi_args *args, const void *sbuf, void *rbuf);

/* peers.c: what processes tell each other when they start */

/* coll_peers_tell() - @wrong: why this process cannot use Canary, or "" */
int coll_peers_tell(const char *wrong);

/* Is the component at all ranks of @comm, with the same fingerprint? */
bool coll_peers_alike(struct ompi_communicator_t *comm);

/* Are all ranks of @comm on one host? */
bool coll_peers_one_host(struct ompi_communicator_t *comm);

void coll_peers_forget(void);

/* types.c. Return: enum canary_dtype, enum canary_operator, or 0 if there is none */
uint32_t coll_dtype(struct ompi_datatype_t *dtype);
uint32_t coll_operator(struct ompi_op_t *op);

/* request.c */

/*
 * coll_run() - carry out a call and wait for it
 * @result:	as for cmpi_run()
 * Return: an error of Open MPI, or OMPI_SUCCESS
 */
int coll_run(struct coll_module *m, const struct cmpi_args *args, const struct canary_call *what,
	     bool result);

/* coll_start() - begin a call. @late: the same for Open MPI. Return: likewise */
int coll_start(struct coll_module *m, const struct canary_call *what, const struct coll_late *late,
	       ompi_request_t **request);

/* coll_watch() - there is something to do for a module, in Open MPI's progress engine */
void coll_watch(struct coll_module *m);

/* coll_by_host() - for struct cmpi_queue */
bool coll_by_host(struct cmpi_request *request);

/*
 * coll_forget() - look at its requests no more. They keep their communicator, so it has some only
 * where MPI_Finalize takes MPI_COMM_WORLD away from a program that did not wait.
 */
void coll_forget(struct coll_module *m);

void coll_requests_init(void);
void coll_requests_fini(void);

/* forming.c */
extern const struct cmpi_later coll_later;

/* coll_forming_began() - it goes on once coll_watch() is called */
void coll_forming_began(struct coll_module *m);

/* coll_forming_ended() - free what is left. The module may be gone then. No lock is held. */
void coll_forming_ended(struct coll_module *m);

/* late.c. Errors are those of Open MPI. */

/* coll_late_possible() - have Open MPI's functions on this communicator reserved places? */
bool coll_late_possible(const struct coll_module *m);

/*
 * coll_late_reserve() - reserve the place of this call, which is needed if it does not go through
 * canary at all ranks. @l has what is to be carried out
 */
void coll_late_reserve(struct coll_late *l, struct coll_module *m);

/* coll_late_begin() - one thread at a time */
int coll_late_begin(struct coll_late *l);

/* coll_late_ended() - Return: false: not yet, or it has not begun; true: *@err says how */
bool coll_late_ended(struct coll_late *l, int *err);

/* coll_late_forget() - when a module ends */
void coll_late_forget(struct coll_module *m);

/* allreduce.c, reduce.c, barrier.c */
int coll_canary_allreduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *dtype,
			  struct ompi_op_t *op, struct ompi_communicator_t *comm,
			  mca_coll_base_module_t *module);
int coll_canary_iallreduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *dtype,
			   struct ompi_op_t *op, struct ompi_communicator_t *comm,
			   ompi_request_t **request, mca_coll_base_module_t *module);
int coll_canary_reduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *dtype,
		       struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
		       mca_coll_base_module_t *module);
int coll_canary_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module);

#endif /* CANARY_OPENMPI_COMPONENT_H */
