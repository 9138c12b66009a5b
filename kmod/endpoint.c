// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints: a UDP port, and which of the engines that share it a packet is for.
 *
 * A port belongs to one engine, which gets all packets, until a second engine shares it
 * (CANARY_ENDPOINT). From then on, an engine has up to two names, and packets are for the engine
 * that they name:
 *
 *  - communicator and epoch, once its core knows the epoch. No two engines of a port have the same,
 *    since a packet does not say which rank it is for. Ranks that share a port cannot join the same
 *    session (next item), unless their rank 0 lies about the epoch. Nor can they be formed from
 *    tables with the same epoch;
 *  - the communicator alone, for packets before that. JOIN finds rank 0. COOKIE, WELCOME and
 *    REFUSED find the member that joins. So only one engine of a port may be in a rendezvous of a
 *    communicator. Others get EADDRINUSE. The engine that was last in one keeps the name. It also
 *    gets packets with an epoch that no engine here has: its core counts what is wrong with them.
 *
 * Nonces could tell apart members that join, but neither ranks 0 nor later packets.
 *
 * Engines share only the port. Each other engine sends from a socket of its own (port.c). So owner,
 * label, control group, mark and room in queues are its own, and so are its routes, which depend on
 * them.
 */

#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include "canary.h"

#define CANARY_NAMES	512	/* lists of names, a power of two */

/*
 * struct canary_names - engines by their names
 * @seed:	of the hash: users choose communicators, others choose epochs
 * @list:	lists of canary_name. Lock: canary_endpoint.lock; read under RCU
 */
struct canary_names {
	struct rcu_head		rcu;
	u32			seed;
	struct hlist_head	list[CANARY_NAMES];
};

/* The part of a header that is read to find the engine */
struct canary_named {
	u8	version;
	u8	type;
	u8	flags;
	u8	attempt;
	__be32	comm;
	__be32	epoch;
};

static struct hlist_head *canary_names_list(struct canary_names *names, u32 id, u32 epoch)
{
	return &names->list[jhash_2words(id, epoch, names->seed) & (CANARY_NAMES - 1)];
}

static struct canary_name *canary_names_find(struct canary_names *names, u32 id, u32 epoch)
{
	struct canary_name *name;

	/* A name may change meanwhile, and be read half changed. The core checks it again. */
	hlist_for_each_entry_rcu(name, canary_names_list(names, id, epoch), node)
		if (READ_ONCE(name->id) == id && READ_ONCE(name->epoch) == epoch)
			return name;
	return NULL;
}

static struct canary_names *canary_endpoint_names(const struct canary_endpoint *ep)
{
	return rcu_dereference_protected(ep->names, lockdep_is_held(&ep->lock));
}

static void canary_name_give(struct canary_endpoint *ep, struct canary_name *name, u32 id,
			     u32 epoch)
{
	struct canary_names *names = canary_endpoint_names(ep);

	WRITE_ONCE(name->id, id);
	WRITE_ONCE(name->epoch, epoch);
	name->given = true;
	if (names)
		hlist_add_head_rcu(&name->node, canary_names_list(names, id, epoch));
}

static void canary_name_take(struct canary_endpoint *ep, struct canary_name *name)
{
	lockdep_assert_held(&ep->lock);
	if (name->given && canary_endpoint_names(ep))
		hlist_del_init_rcu(&name->node);
	name->given = false;
}

/* Is the engine in a rendezvous, without knowing its session yet? */
static bool canary_name_joins(const struct canary_name *name)
{
	enum cnr_state state = READ_ONCE(name->comm->state);

	return !name->comm->session.given && state != CNR_FAILED && state != CNR_CLOSED;
}

/*
 * Does the engine still wait for a WELCOME? If not, a WELCOME with its epoch is for the one that
 * joins.
 */
static bool canary_name_waits(const struct canary_name *name)
{
	return READ_ONCE(name->comm->state) == CNR_JOINING;
}

/*
 * A rendezvous is going to begin (with a table there is none). Context: process; lock_sock is held.
 * Return: 0, or -EADDRINUSE if another engine of the port is in a rendezvous of the same
 * communicator
 */
int canary_endpoint_begin(struct canary_comm *comm)
{
	struct canary_endpoint *ep = comm->ep;
	struct canary_name *last = NULL;
	struct canary_names *names;
	int err = 0;

	spin_lock_bh(&ep->lock);
	names = canary_endpoint_names(ep);
	if (names)
		last = canary_names_find(names, comm->req.id, 0);
	if (last && canary_name_joins(last)) {
		err = -EADDRINUSE;
	} else {
		if (last)
			canary_name_take(ep, last);
		canary_name_give(ep, &comm->joining, comm->req.id, 0);
	}
	spin_unlock_bh(&ep->lock);
	return err;
}

/*
 * The core knows the epoch now. Context: canary_comm.lock is held. Return: false if another engine
 * of the port is a member of the same session
 */
bool canary_endpoint_know(struct canary_comm *comm, u32 epoch)
{
	struct canary_endpoint *ep = comm->ep;
	struct canary_names *names;
	bool taken;

	lockdep_assert_held(&comm->lock);
	spin_lock(&ep->lock);
	names = canary_endpoint_names(ep);
	taken = names && canary_names_find(names, comm->req.id, epoch);
	if (!taken)
		canary_name_give(ep, &comm->session, comm->req.id, epoch);
	spin_unlock(&ep->lock);
	return !taken;
}

/* The engine has no core any more. */
void canary_endpoint_forget(struct canary_comm *comm)
{
	struct canary_endpoint *ep = comm->ep;

	if (!ep)
		return;
	spin_lock_bh(&ep->lock);
	canary_name_take(ep, &comm->joining);
	canary_name_take(ep, &comm->session);
	spin_unlock_bh(&ep->lock);
}

/**
 * canary_endpoint_find() - which engine is a packet for?
 * @ep:		endpoint of the port that it came to
 * @skb:	data at the UDP header
 *
 * Context: in an RCU read section. Return: NULL if it is for none, which is counted.
 */
struct canary_comm *canary_endpoint_find(struct canary_endpoint *ep, const struct sk_buff *skb)
{
	struct canary_names *names = rcu_dereference(ep->names);
	const struct canary_named *h;
	struct canary_comm *only;
	struct canary_name *name;
	struct canary_named copy;

	if (likely(!names)) {
		only = rcu_dereference(ep->only);
		if (unlikely(!only))
			canary_count_stray(ep->net, CANARY_DROP_ENDED, 1);
		return only;
	}
	h = skb_header_pointer(skb, sizeof(struct udphdr), sizeof(copy), &copy);
	if (!h) {
		canary_count_stray(ep->net, CANARY_DROP_SHORT, 1);
		return NULL;
	}
	name = canary_names_find(names, be32_to_cpu(h->comm), be32_to_cpu(h->epoch));
	if (h->epoch && (!name || (h->type == CANARY_WELCOME && !canary_name_waits(name))))
		name = canary_names_find(names, be32_to_cpu(h->comm), 0);
	if (name)
		return name->comm;
	canary_count_stray(ep->net, CANARY_DROP_COMM, 1);
	return NULL;
}

/* Make the endpoint of @comm, which has no port yet. */
struct canary_endpoint *canary_endpoint_alloc(struct canary_comm *comm)
{
	struct canary_endpoint *ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);

	if (!ep)
		return NULL;
	spin_lock_init(&ep->lock);
	ep->net = comm->net;
	ep->engines = 1;
	RCU_INIT_POINTER(ep->only, comm);
	return ep;
}

/* Free the endpoint. Only a packet that is just being received may still look at it. */
void canary_endpoint_free(struct canary_endpoint *ep)
{
	struct canary_names *names = rcu_dereference_protected(ep->names, true);

	WARN_ON_ONCE(ep->engines);
	if (names)
		kfree_rcu(names, rcu);
	kfree_rcu(ep, rcu);
}

/* Give the engine that was alone so far its names. */
static void canary_endpoint_open(struct canary_endpoint *ep, struct canary_names *names)
{
	struct canary_comm *only = rcu_dereference_protected(ep->only, lockdep_is_held(&ep->lock));
	struct canary_name *all[] = { &only->joining, &only->session };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i]->given)
			hlist_add_head_rcu(&all[i]->node,
					   canary_names_list(names, all[i]->id, all[i]->epoch));
	rcu_assign_pointer(ep->names, names);
}

/**
 * canary_endpoint_hold() - one more engine is going to share a port
 * @ep:		endpoint of an engine that stays meanwhile
 *
 * Context: process. Return: 0, and canary_endpoint_put() has to follow; -EUSERS: there are enough;
 * -ENOMEM.
 */
int canary_endpoint_hold(struct canary_endpoint *ep)
{
	struct canary_names *names = NULL;
	int err = 0;

	might_sleep();
	if (!rcu_access_pointer(ep->names)) {
		names = kzalloc(sizeof(*names), GFP_KERNEL_ACCOUNT);
		if (!names)
			return -ENOMEM;
		names->seed = get_random_u32();
	}
	spin_lock_bh(&ep->lock);
	if (ep->engines >= CANARY_ENDPOINT_MAX) {
		err = -EUSERS;
	} else {
		WRITE_ONCE(ep->engines, ep->engines + 1);
		if (!canary_endpoint_names(ep)) {
			canary_endpoint_open(ep, names);
			names = NULL;
		}
	}
	spin_unlock_bh(&ep->lock);
	kfree(names);
	return err;
}

/* @comm leaves the endpoint. Return: true if it was the last one */
bool canary_endpoint_put(struct canary_endpoint *ep, const struct canary_comm *comm)
{
	u32 left;

	spin_lock_bh(&ep->lock);
	if (rcu_access_pointer(ep->only) == comm)
		RCU_INIT_POINTER(ep->only, NULL);
	left = ep->engines - 1;
	WRITE_ONCE(ep->engines, left);
	spin_unlock_bh(&ep->lock);
	return !left;
}
