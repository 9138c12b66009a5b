// SPDX-License-Identifier: BSD-2-Clause
/*
 * A communicator formed from a table of its members, in place of a rendezvous. For both engines,
 * the table is checked here, and there is a sentence for each error.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "lib.h"

/* Say which entry is wrong, and why. */
static int refuse(const struct cnr_table *t, u32 rank, int err)
{
	u32 first;

	if (rank == t->members)
		return lib_error(err, "table: no epoch");
	switch (err) {
	case -EAFNOSUPPORT:
		return lib_error(err, "table: rank %u: %s: IPv6 is not supported yet", rank,
				 lib_peer(&t->peer[rank]));
	case -ENOTUNIQ:
		for (first = 0; !canary_peer_equal(&t->peer[first], &t->peer[rank]); first++)
			;
		return lib_error(err, "table: ranks %u and %u are both at %s", first, rank,
				 lib_peer(&t->peer[rank]));
	default:
		return lib_error(err, "table: rank %u: no member can be at %s", rank,
				 lib_peer(&t->peer[rank]));
	}
}

static int check(struct cnr_table *t)
{
	u16 *room = calloc(1, cnr_table_room(t->members));
	u32 rank = t->members;
	int err;

	if (!room)
		return lib_error(-ENOMEM, "out of memory");
	if (getrandom(t->seed, sizeof(t->seed), 0) != sizeof(t->seed))
		err = lib_error(-EIO, "no random numbers");
	else
		err = cnr_table_check(t, room, &rank);
	free(room);
	return err == -EIO || !err ? err : refuse(t, rank, err);
}

static int form_error(struct canary *c, const struct cnr_table *t, int err)
{
	switch (err) {
	case -EADDRNOTAVAIL:
		return lib_error(err, "table: rank %u is at %s, which is not where this member is",
				 c->params.rank, lib_peer(&t->peer[c->params.rank]));
	case -ENOKEY:
		return lib_error(err, "table: a key needs a salt, drawn at random: it is 0");
	case -EADDRINUSE:
		return lib_error(err, "table: communicator %u, epoch %u, is at this port already",
				 c->params.comm, t->epoch);
	case -EMSGSIZE:
		return lib_error(err, "mtu: the path to rank %u takes no packets of %u bytes",
				 c->params.rank ? 0 : 1, c->params.mtu);
	case -EISCONN:
		return lib_error(err, "communicator %u has been formed", c->params.comm);
	default:
		return lib_comm_error(c, err);
	}
}

CANARY_EXPORT int canary_form(struct canary *c, const struct canary_table *table)
{
	struct cnr_table t = {
		.peer = (struct canary_peer *)table->peer,
		.members = c->params.members,
		.epoch = table->epoch,
		.start_within = table->start_within * CNR_MSEC,
	};
	int err;

	if (!c->params.table)
		return lib_error(-EINVAL, "table: canary_open() was not told (params.table)");
	if (table->reserved[0] | table->reserved[1] | table->reserved[2] | table->reserved[3])
		return lib_error(-EINVAL, "table: reserved: has to be 0");
	if (table->start_within > CNR_START_WITHIN_MAX)
		return lib_error(-ERANGE, "start-within: %u ms is out of range, 0 to %u",
				 table->start_within, CNR_START_WITHIN_MAX);
	memcpy(t.salt, table->salt, sizeof(t.salt));
	err = check(&t);
	if (err)
		return err;
	err = c->ops->form(c->engine, &t);
	return err ? form_error(c, &t, err) : 0;
}
