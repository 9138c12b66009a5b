// SPDX-License-Identifier: BSD-2-Clause
/*
 * Forming a communicator while the program goes on: the steps of form.h, each of them taken when
 * nobody has to wait for it. MPI_Iallreduce begins, and the MPI library's progress goes on.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "form.h"

enum stage {
	EXCHANGE,
	TRIAL,
	AGREEMENT,
};

/* @failed: a member that cmpi_forming_free() has to close; @node: it has to free that */
struct cmpi_forming {
	struct cmpi_attempt	*a;
	struct cmpi_host	host;
	enum stage		stage;
	struct canary		*failed;
	struct cmpi_node	*node;
	pid_t			pid;
};

int cmpi_forming_begin(struct cmpi_comm *c, const struct cmpi_settings *s,
		       const struct cmpi_host *host, uint32_t job)
{
	struct cmpi_forming *f = calloc(1, sizeof(*f));
	int err;

	/* As in cmpi_form(). A child of fork() has not begun what its parent did. */
	c->state = CMPI_FAILED;
	if (!f)
		return -ENOMEM;
	f->host = *host;
	f->pid = getpid();
	f->a = cmpi_attempt_new(c, s, job);
	if (!f->a) {
		free(f);
		return -ENOMEM;
	}
	err = host->later->exchange(host->arg, &f->a->mine, f->a->all, sizeof(f->a->mine),
				    &f->a->wrong_at);
	if (err) {
		cmpi_attempt_free(f->a);
		free(f);
		return err;
	}
	/* It must not change when this rank learns that it is formed, as others learn it later. */
	c->min_bytes = CMPI_UNMEASURED;
	c->forming = f;
	c->state = CMPI_FORMING;
	return 0;
}

static void conclude(struct cmpi_forming *f, bool formed)
{
	struct cmpi_comm *c = f->a->c;

	if (!formed) {
		f->failed = c->canary;
		f->node = c->node;
		c->canary = NULL;
		c->node = NULL;
	}
	/* Another thread may wait for this, without a lock. */
	__atomic_store_n(&c->state, formed ? CMPI_FORMED : CMPI_FAILED, __ATOMIC_RELEASE);
	cmpi_count_formed(formed, c->node);
}

/* The stage has ended, without an error. Return: an error of the MPI library, or 0 */
static int next(struct cmpi_forming *f)
{
	struct cmpi_attempt *a = f->a;

	switch (f->stage) {
	case EXCHANGE:
		f->stage = TRIAL;
		if (!cmpi_attempt_try(a))
			conclude(f, cmpi_attempt_agreed(a));
		/* Other ranks of this host need this one, whatever it does meanwhile. */
		else if (a->c->node)
			cmpi_node_drive(a->c->node);
		return 0;
	case TRIAL:
		f->stage = AGREEMENT;
		return f->host.later->agree(f->host.arg);
	default:
		conclude(f, cmpi_attempt_agreed(a));
		return 0;
	}
}

struct cmpi_forming *cmpi_forming_advance(struct cmpi_comm *c)
{
	struct cmpi_forming *f = c->forming;
	bool ended = true;
	int err = 0;

	while (c->state == CMPI_FORMING && ended && !err) {
		if (f->stage == TRIAL)
			ended = cmpi_attempt_tried(f->a, 0);
		else
			err = f->host.later->ended(f->host.arg, &ended);
		if (!err && ended)
			err = next(f);
	}
	/* Whatever the others do, calls on this communicator have errors of the MPI library now. */
	if (err)
		conclude(f, false);
	if (c->state == CMPI_FORMING)
		return NULL;
	c->forming = NULL;
	return f;
}

void cmpi_forming_free(struct cmpi_forming *f)
{
	if (!f)
		return;
	if (f->node && f->pid == getpid())
		cmpi_node_stop(f->node);
	if (f->failed && f->pid == getpid())
		canary_close(f->failed);
	cmpi_node_free(f->node);
	cmpi_attempt_free(f->a);
	free(f);
}
