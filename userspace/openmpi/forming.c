// SPDX-License-Identifier: BSD-2-Clause
/*
 * Forming a communicator without waiting, by the functions that were there before. It keeps the
 * communicator, which the program may free meanwhile.
 */

#include "component.h"
#include "opal/runtime/opal_progress.h"

static unsigned int under_way;	/* changed by atomic additions */

static int exchange(void *arg, const void *mine, void *all, size_t bytes, int *value)
{
	struct coll_module *m = arg;
	int err;

	err = m->comm->c_coll->coll_iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, m->comm,
					       &m->exchange,
					       m->comm->c_coll->coll_iallgather_module);
	if (err)
		return err;
	m->agreement = (struct coll_late) {
		.sbuf = MPI_IN_PLACE, .rbuf = value, .count = 1, .dtype = MPI_INT, .op = MPI_MIN,
	};
	coll_late_reserve(&m->agreement, m);
	return OMPI_SUCCESS;
}

static int agree(void *arg)
{
	struct coll_module *m = arg;

	return coll_late_begin(&m->agreement);
}

static int ended(void *arg, bool *ended)
{
	struct coll_module *m = arg;
	int err = OMPI_SUCCESS;

	if (!m->exchange) {
		*ended = coll_late_ended(&m->agreement, &err);
		return err;
	}
	*ended = REQUEST_COMPLETE(m->exchange);
	if (*ended) {
		err = m->exchange->req_status.MPI_ERROR;
		ompi_request_free(&m->exchange);
		m->exchange = NULL;
	}
	return err;
}

const struct cmpi_later coll_later = {
	.exchange = exchange,
	.agree = agree,
	.ended = ended,
};

/*
 * MPI_Finalize begins with this. Other ranks may need this one to go on, and a communicator has to
 * be there until then. A program whose ranks do not call alike must not wait for ever.
 */
static int settle(MPI_Comm comm, int keyval, void *value, void *extra)
{
	uint64_t until = cmpi_now_us() + (2ULL * coll_settings.trial + 1000) * 1000;

	while (__atomic_load_n(&under_way, __ATOMIC_RELAXED) && cmpi_now_us() < until)
		opal_progress();
	return MPI_SUCCESS;
}

/* An attribute of MPI_COMM_SELF is what MPI_Finalize deletes first. */
static void settle_in_finalize(void)
{
	static bool done;
	int keyval;

	if (__atomic_exchange_n(&done, true, __ATOMIC_RELAXED) ||
	    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, settle, &keyval, NULL))
		return;
	PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
	PMPI_Comm_free_keyval(&keyval);
}

void coll_forming_began(struct coll_module *m)
{
	__atomic_fetch_add(&under_way, 1, __ATOMIC_RELAXED);
	OBJ_RETAIN(m->comm);
	settle_in_finalize();
}

void coll_forming_ended(struct coll_module *m)
{
	struct cmpi_forming *f = m->formed;

	m->formed = NULL;
	cmpi_forming_free(f);
	__atomic_fetch_sub(&under_way, 1, __ATOMIC_RELAXED);
	OBJ_RELEASE(m->comm);
}
