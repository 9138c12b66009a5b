// SPDX-License-Identifier: BSD-2-Clause
/* Communicators: what is kept of them, and MPICH's functions on them */
#include <stdlib.h>
#include <unistd.h>

#include "preload.h"

#define PATIENCE	1000	/* ms */

/*
 * Communicators that have been used. The lock protects the list and users; none is taken under it.
 */
static struct {
	pthread_mutex_t		lock;
	LIST_HEAD(comm_list, preload_comm) list;
	int			keyval;
} comms = { .lock = PTHREAD_MUTEX_INITIALIZER, .keyval = MPI_KEYVAL_INVALID };

/* ---- MPICH's functions ---- */

static int host_allgather(void *arg, const void *mine, void *all, size_t bytes)
{
	const struct preload_comm *m = arg;

	return PMPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, m->comm);
}

static int host_least(void *arg, int *value)
{
	const struct preload_comm *m = arg;

	return PMPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INT, MPI_MIN, m->comm);
}

static int host_sum(void *arg, double *v, size_t count)
{
	const struct preload_comm *m = arg;

	return PMPI_Allreduce(MPI_IN_PLACE, v, count, MPI_DOUBLE, MPI_SUM, m->comm);
}

/*
 * A request that never ends until MPI_Finalize. MPICH makes progress when somebody asks for it, and
 * nothing else happens. (MPI_Iprobe makes none on MPI_COMM_SELF, and may find a message on others.)
 */
static MPI_Request idle = MPI_REQUEST_NULL;

void preload_progress(void)
{
	int flag;

	PMPI_Request_get_status(idle, &flag, MPI_STATUS_IGNORE);
}

static int idle_query(void *state, MPI_Status *status)
{
	PMPI_Status_set_elements(status, MPI_BYTE, 0);
	PMPI_Status_set_cancelled(status, 0);
	return MPI_SUCCESS;
}

static int idle_free(void *state)
{
	return MPI_SUCCESS;
}

static int idle_cancel(void *state, int complete)
{
	return MPI_SUCCESS;
}

static void idle_end(void)
{
	PMPI_Grequest_complete(idle);
	PMPI_Wait(&idle, MPI_STATUS_IGNORE);
}

struct cmpi_host preload_comm_host(struct preload_comm *m)
{
	return (struct cmpi_host) {
		.allgather = host_allgather,
		.least = host_least,
		.sum = host_sum,
		.progress = preload_progress,
		.arg = m,
	};
}

int preload_comm_form(struct preload_comm *m)
{
	const struct cmpi_host host = preload_comm_host(m);

	return cmpi_form(&m->c, &preload_settings, &host, preload_job);
}

/* ---- their lives ---- */

void preload_comm_get(struct preload_comm *m)
{
	pthread_mutex_lock(&comms.lock);
	m->users++;
	pthread_mutex_unlock(&comms.lock);
}

void preload_comm_put(struct preload_comm *m)
{
	bool last;

	pthread_mutex_lock(&comms.lock);
	last = !--m->users;
	if (last)
		LIST_REMOVE(m, all);
	pthread_mutex_unlock(&comms.lock);
	if (!last)
		return;
	cmpi_close(&m->c);
	cmpi_queue_destroy(&m->queue);
	free(m);
}

/* MPICH calls this when the program frees the communicator, and in MPI_Finalize. */
static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
	preload_comm_put(value);
	return MPI_SUCCESS;
}

bool preload_comms_init(void)
{
	return !PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &comms.keyval, NULL) &&
	       !PMPI_Grequest_start(idle_query, idle_free, idle_cancel, NULL, &idle);
}

/* Look up the members in MPI_COMM_WORLD. Those of MPI_Comm_spawn() are not in it. */
static int look_up(struct preload_comm *m)
{
	MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
	int *local = calloc(2 * m->c.members, sizeof(*local));
	int *global = local + m->c.members;
	int i, err = local ? MPI_SUCCESS : MPI_ERR_NO_MEM;

	for (i = 0; local && i < m->c.members; i++)
		local[i] = i;
	err = err ?: PMPI_Comm_group(MPI_COMM_WORLD, &world);
	err = err ?: PMPI_Comm_group(m->comm, &group);
	err = err ?: PMPI_Group_translate_ranks(group, m->c.members, local, world, global);
	m->c.peers = !err;
	m->c.one_host = !err;
	for (i = 0; !err && i < m->c.members; i++) {
		m->c.peers &= preload_peer_alike(global[i]);
		m->c.one_host &= preload_peers_one_host(global[0], global[i]);
	}
	if (world != MPI_GROUP_NULL)
		PMPI_Group_free(&world);
	if (group != MPI_GROUP_NULL)
		PMPI_Group_free(&group);
	free(local);
	return err;
}

static int fill(struct preload_comm *m)
{
	int err, inter, rank, size;

	err = PMPI_Comm_test_inter(m->comm, &inter);
	if (err || inter) {
		m->inter = true;
		return err;
	}
	err = PMPI_Comm_rank(m->comm, &rank) ?: PMPI_Comm_size(m->comm, &size);
	if (err)
		return err;
	m->c.members = size;
	m->c.rank = rank;
	return look_up(m);
}

static struct preload_comm *make(MPI_Comm comm)
{
	struct preload_comm *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->comm = comm;
	m->users = 1;
	if (fill(m)) {
		free(m);
		return NULL;
	}
	cmpi_queue_init(&m->queue, &m->c);
	pthread_mutex_lock(&comms.lock);
	LIST_INSERT_HEAD(&comms.list, m, all);
	pthread_mutex_unlock(&comms.lock);
	if (!PMPI_Comm_set_attr(comm, comms.keyval, m))
		return m;
	preload_comm_put(m);
	return NULL;
}

struct preload_comm *preload_comm_find(MPI_Comm comm)
{
	struct preload_comm *m;
	int found;

	if (comm == MPI_COMM_NULL || PMPI_Comm_get_attr(comm, comms.keyval, &m, &found))
		return NULL;
	if (!found)
		m = make(comm);
	return m && !m->inter ? m : NULL;
}

static bool close_unused(void)
{
	struct preload_comm *m;
	bool all = true;

	pthread_mutex_lock(&comms.lock);
	LIST_FOREACH(m, &comms.list, all) {
		if (m->users == 1)
			cmpi_close(&m->c);
		else
			all = false;
	}
	pthread_mutex_unlock(&comms.lock);
	return all;
}

bool preload_comms_end(void)
{
	unsigned int ms = 0;

	idle_end();
	/* A thread of request.c may be about to end. Requests that nobody waited for never do. */
	while (!close_unused())
		if (ms++ == PATIENCE || usleep(1000))
			return false;
	return true;
}
