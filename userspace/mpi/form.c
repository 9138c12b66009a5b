// SPDX-License-Identifier: BSD-2-Clause
/*
 * How a communicator of MPI gets one of libcanary: formed from a table (canary_form()) that the
 * ranks exchange by the host functions, tried out, and used only if it worked at all ranks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "form.h"

struct cmpi_attempt *cmpi_attempt_new(struct cmpi_comm *c, const struct cmpi_settings *s,
				      uint32_t job)
{
	struct cmpi_attempt *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->c = c;
	a->s = s;
	a->all = calloc(c->members, sizeof(*a->all));
	if (!a->all) {
		free(a);
		return NULL;
	}
	cmpi_hello_fill(&a->mine, c, s, job);
	return a;
}

void cmpi_attempt_free(struct cmpi_attempt *a)
{
	free(a->trial.v);
	explicit_bzero(a->all, a->c->members * sizeof(*a->all));
	free(a->all);
	explicit_bzero(a, sizeof(*a));
	free(a);
}

/* What all ranks know to be wrong at one. Return: NULL: nothing */
static const char *told_wrong(const struct cmpi_hello *all, unsigned int rank)
{
	if (!all[rank].willing)
		return all[rank].why[0] ? all[rank].why : "no reason given";
	if (all[rank].key_check != all[0].key_check)
		return "key_file: this is not the key of rank 0";
	return NULL;
}

bool cmpi_attempt_try(struct cmpi_attempt *a)
{
	unsigned int members = a->c->members, rank;

	for (rank = 0; rank < members; rank++) {
		const char *why = told_wrong(a->all, rank);

		if (!why)
			continue;
		a->wrong_at = rank;
		snprintf(a->why, sizeof(a->why), "%s", why);
		return false;
	}
	a->wrong_at = members;
	if (cmpi_node_join(a->c, &a->all->offer, sizeof(*a->all), a->why)) {
		a->wrong_at = a->c->rank;
	} else if (cmpi_member_open(a->c, a->s, a->all)) {
		snprintf(a->why, sizeof(a->why), "%s", canary_errmsg());
		a->wrong_at = a->c->rank;
	} else if (cmpi_trial_begin(&a->trial, a->c, a->s, a->why, sizeof(a->why))) {
		a->wrong_at = a->c->rank;
	}
	return true;
}

bool cmpi_attempt_tried(struct cmpi_attempt *a, int ms)
{
	int ret;

	if (a->wrong_at != a->c->members)
		return true;
	ret = cmpi_trial_wait(&a->trial, a->c, a->s, ms, a->why, sizeof(a->why));
	if (ret < 0)
		a->wrong_at = a->c->rank;
	return ret;
}

bool cmpi_attempt_agreed(const struct cmpi_attempt *a)
{
	cmpi_node_ready(a->c->node);
	if (a->wrong_at == a->c->rank)
		fprintf(stderr,
			"canary: a communicator of %u processes does without: rank %u: %s\n",
			a->c->members, a->c->rank, a->why);
	return a->wrong_at == a->c->members;
}

/*
 * Others would find that this one left, in place of what is wrong, if it closed before they agreed.
 */
static int form(struct cmpi_attempt *a, const struct cmpi_host *host)
{
	int err = 0;

	if (cmpi_attempt_try(a)) {
		while (!cmpi_attempt_tried(a, 1))
			if (host->progress)
				host->progress();
		err = host->least(host->arg, &a->wrong_at);
	}
	if (cmpi_attempt_agreed(a) && !err) {
		if (!a->s->min_bytes)
			err = cmpi_measure(a->c, a->s, host);
		if (!err && !cmpi_closed(a->c))
			a->c->state = CMPI_FORMED;
	}
	if (a->c->state != CMPI_FORMED)
		cmpi_close(a->c);
	cmpi_count_formed(a->c->state == CMPI_FORMED, a->c->node);
	return err;
}

int cmpi_form(struct cmpi_comm *c, const struct cmpi_settings *s, const struct cmpi_host *host,
	      uint32_t job)
{
	struct cmpi_attempt *a;
	int err;

	/* Until it is formed. Errors of the MPI library end it here, whatever the others do. */
	c->state = CMPI_FAILED;
	a = cmpi_attempt_new(c, s, job);
	/* Without it, nothing can be said to the others. */
	if (!a)
		return -ENOMEM;
	err = host->allgather(host->arg, &a->mine, a->all, sizeof(a->mine));
	if (!err)
		err = form(a, host);
	cmpi_attempt_free(a);
	return err;
}
