// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who carries out the calls on a communicator: its member of libcanary, or, with node leaders, that
 * of the lowest rank on the host, for all ranks there. There is neither after cmpi_queue_close().
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "cmpi.h"

bool cmpi_closed(const struct cmpi_comm *c)
{
	return !c->node && !c->canary;
}

void cmpi_close(struct cmpi_comm *c)
{
	/* The child of a fork() has no thread of the engine, and the parent goes on. */
	if (c->node && c->pid == getpid())
		cmpi_node_stop(c->node);
	if (c->canary && c->pid == getpid())
		canary_close(c->canary);
	c->canary = NULL;
	cmpi_node_free(c->node);
	c->node = NULL;
	c->forming = NULL;
	c->state = CMPI_FAILED;
}

/*
 * A call could not begin, for lack of memory. A later one must not, either: other ranks would take
 * it for this one.
 */
static void stop(struct cmpi_comm *c, int err)
{
	snprintf(c->why, sizeof(c->why), "%s", cmpi_errmsg(c));
	c->stopped = err;
	if (c->canary)
		cmpi_spoil(c->canary, 0);
}

int cmpi_post(struct cmpi_comm *c, const struct canary_call *call, uint64_t *id)
{
	int err;

	if (cmpi_closed(c))
		return -ESHUTDOWN;
	if (c->stopped)
		return c->stopped;
	err = c->node ? cmpi_node_post(c->node, call, id) :
			canary_post_call(c->canary, call, sizeof(*call), id);
	if (err == -ENOMEM || err == -ENOBUFS)
		stop(c, err);
	return err;
}

int cmpi_test(struct cmpi_comm *c, uint64_t id)
{
	if (cmpi_closed(c))
		return -ESHUTDOWN;
	return c->node ? cmpi_node_test(c->node, id) : canary_test(c->canary, id);
}

int cmpi_await(struct cmpi_comm *c, uint64_t id, unsigned int ms)
{
	if (cmpi_closed(c))
		return -ESHUTDOWN;
	return c->node ? cmpi_node_wait(c->node, id, ms) : canary_wait(c->canary, id, ms);
}

bool cmpi_doze(struct cmpi_comm *c, unsigned int ms)
{
	struct pollfd fd = { .events = POLLIN };

	if (c->node) {
		cmpi_node_doze(c->node, ms);
		return true;
	}
	if (cmpi_closed(c))
		return false;
	fd.fd = canary_poll_fd(c->canary);
	return fd.fd >= 0 && poll(&fd, 1, ms) >= 0;
}

int cmpi_room(struct cmpi_comm *c, unsigned int ms)
{
	if (cmpi_closed(c))
		return -ESHUTDOWN;
	return c->node ? 0 : canary_room(c->canary, ms);
}

const char *cmpi_errmsg(const struct cmpi_comm *c)
{
	const char *why = c->node ? cmpi_node_error(c->node) : NULL;

	if (cmpi_closed(c))
		why = "closed after an error before";
	else if (c->stopped)
		why = c->why;
	return why ? why : canary_errmsg();
}
