// SPDX-License-Identifier: GPL-2.0
/*
 * CANARY_TABLE: the addresses of all members, so that connect() needs no rendezvous (core/table.c).
 *
 * A table may have as many entries as there can be members. It is copied and checked under no lock.
 * It counts as memory of the namespace, and of the caller's control group. From connect() on, it is
 * the core's table of members.
 */

#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "canary.h"

/* Copy the head of the option, and find how many members follow. */
static int canary_table_head(struct canary_table_req *req, u32 *members, sockptr_t val,
			     unsigned int len)
{
	if (len < sizeof(*req) || (len - sizeof(*req)) % sizeof(req->peer[0]))
		return -EINVAL;
	*members = (len - sizeof(*req)) / sizeof(req->peer[0]);
	if (*members > CANARY_MEMBERS_MAX)
		return -E2BIG;
	if (copy_from_sockptr(req, val, sizeof(*req)))
		return -EFAULT;
	if (req->start_within > CNR_START_WITHIN_MAX ||
	    memchr_inv(req->reserved, 0, sizeof(req->reserved)))
		return -EINVAL;
	return 0;
}

static int canary_table_check(struct canary_table *t)
{
	u16 *room = kvzalloc(cnr_table_room(t->of.members), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	u32 rank;
	int err;

	if (!room)
		return -ENOBUFS;
	err = cnr_table_check(&t->of, room, &rank);
	if (err)
		pr_debug("canary: table: entry of rank %u: %d\n", rank, err);
	kvfree(room);
	return err;
}

void canary_table_free(const struct net *net, struct canary_table *t)
{
	if (!t)
		return;
	canary_memory_give(net, t->size);
	kvfree(t);
}

/*
 * Copy and check a table. Context: process; no lock is held. Return: the table, or an error pointer
 */
struct canary_table *canary_table_copy(const struct net *net, sockptr_t val, unsigned int len)
{
	struct canary_table_req req;
	struct canary_table *t;
	u32 members;
	size_t size;
	int err;

	err = canary_table_head(&req, &members, val, len);
	if (err)
		return ERR_PTR(err);
	size = struct_size(t, peer, members);
	err = canary_memory_take(net, size);
	if (err)
		return ERR_PTR(err);
	t = kvzalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!t) {
		canary_memory_give(net, size);
		return ERR_PTR(-ENOBUFS);
	}
	t->size = size;
	t->of.peer = t->peer;
	t->of.members = members;
	t->of.epoch = req.epoch;
	t->of.start_within = req.start_within * CNR_MSEC;
	memcpy(t->of.salt, req.salt, sizeof(t->of.salt));
	get_random_bytes(t->of.seed, sizeof(t->of.seed));
	if (copy_from_sockptr_offset(t->peer, val, sizeof(req), members * sizeof(t->peer[0])))
		err = -EFAULT;
	else
		err = canary_table_check(t);
	if (!err)
		return t;
	canary_table_free(net, t);
	return ERR_PTR(err);
}

/*
 * Replace the table of @comm by @t, which may be NULL. Context: lock_sock is held, or the engine
 * ends; no core uses the table.
 */
void canary_table_set(struct canary_comm *comm, struct canary_table *t)
{
	struct canary_table *old = comm->table;

	/* Under the lock: /proc counts it. */
	spin_lock_bh(&comm->lock);
	comm->table = t;
	spin_unlock_bh(&comm->lock);
	canary_table_free(comm->net, old);
}

/* Return: bytes that the table takes. Context: canary_comm.lock is held. */
size_t canary_table_bytes(const struct canary_comm *comm)
{
	return comm->table ? comm->table->size : 0;
}
