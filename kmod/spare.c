// SPDX-License-Identifier: GPL-2.0
/*
 * Spare vectors: memory that operations gave back, kept for the next ones. The kernel hands out a
 * large vector page by page, clears each page (init_on_alloc), and maps them. That is a twentieth
 * of what a sum costs. Most applications use the same lengths again and again.
 *
 * Bounds:
 *  - those of a socket are at most CANARY_SPARES, and as large as its SO_SNDBUF. Older ones make
 *    room for new ones. Those of a namespace, and of the machine, are as large as budget.c allows.
 *    They are not charged as vectors are, or sockets would be refused memory because of them;
 *  - the memory cgroup is charged as before. So a vector only goes to the process that allocated
 *    it, and to the socket that had it. Nobody can see what others had;
 *  - what was not used for one or two times CANARY_SPARE_TIME is freed, and at once when the socket
 *    is closed. All go when a large vector cannot be allocated (canary_spares_drop()): they may be
 *    in the cgroup of that.
 */

#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <net/net_namespace.h>
#include "canary.h"

#define CANARY_SPARES		16	/* of a socket: it looks through all of them */
#define CANARY_SPARE_TIME	HZ

/* Free a vector that is not pinned. Context: any but hard interrupts. */
void canary_vector_release(struct canary_vector *v)
{
	if (!v->near)
		kvfree(v->memory);
	kvfree(v);
}

/* Context: process, no locks held. */
static void canary_spares_free(struct list_head *freed)
{
	struct canary_vector *v, *next;

	list_for_each_entry_safe(v, next, freed, all) {
		canary_vector_release(v);
		cond_resched();
	}
}

/* Take @v out of the list. Context: canary_comm.lock is held. */
static void canary_spare_remove(struct canary_comm *comm, struct canary_vector *v)
{
	list_del_init(&v->all);
	comm->spared -= v->charge;
	comm->spare_count--;
	canary_spares_give(comm->net, v->charge);
}

/* Free the oldest spare vectors until there is room for @charge. Return: false if there is not */
static bool canary_spare_room(struct canary_comm *comm, size_t charge, struct list_head *freed)
{
	size_t most = READ_ONCE(comm->sk->sk_sndbuf);
	struct canary_vector *v;

	if (charge > most)
		return false;
	while (comm->spare_count == CANARY_SPARES || comm->spared + charge > most) {
		v = list_last_entry(&comm->spares, struct canary_vector, all);
		canary_spare_remove(comm, v);
		list_add(&v->all, freed);
	}
	return true;
}

/*
 * Keep @v, which is not charged any more, as a spare one. Others may go to @freed for it. Context:
 * canary_comm.lock is held. Return: false: it has to be freed
 */
bool canary_spare_keep(struct canary_comm *comm, struct canary_vector *v, struct list_head *freed)
{
	lockdep_assert_held(&comm->lock);
	if (!comm->sk || v->pinned || v->bytes < CANARY_VECTOR_PAGED ||
	    !canary_spare_room(comm, v->charge, freed) || !canary_spares_take(comm->net, v->charge))
		return false;
	v->idle = false;
	list_move(&v->all, &comm->spares);
	comm->spared += v->charge;
	comm->spare_count++;
	queue_delayed_work(canary_wq, &comm->spare_work, CANARY_SPARE_TIME);
	return true;
}

/* Return: a spare vector for @bytes of data, with @memory bytes for the core; or NULL */
struct canary_vector *canary_spare_take(struct canary_comm *comm, u32 bytes, size_t memory)
{
	struct canary_vector *v;

	if (bytes < CANARY_VECTOR_PAGED)
		return NULL;
	spin_lock_bh(&comm->lock);
	list_for_each_entry(v, &comm->spares, all) {
		if (v->bytes != bytes || v->kept != memory || v->process != current->tgid)
			continue;
		canary_spare_remove(comm, v);
		spin_unlock_bh(&comm->lock);
		return v;
	}
	spin_unlock_bh(&comm->lock);
	return NULL;
}

/* Move spare vectors to @freed: all of them, or those that were not used since the last call. */
static void canary_spares_out(struct canary_comm *comm, bool all, struct list_head *freed)
{
	struct canary_vector *v, *next;

	spin_lock_bh(&comm->lock);
	list_for_each_entry_safe(v, next, &comm->spares, all) {
		if (all || v->idle) {
			canary_spare_remove(comm, v);
			list_add(&v->all, freed);
		}
		v->idle = true;
	}
	if (!list_empty(&comm->spares))
		queue_delayed_work(canary_wq, &comm->spare_work, CANARY_SPARE_TIME);
	spin_unlock_bh(&comm->lock);
}

static void canary_spare_work(struct work_struct *work)
{
	struct canary_comm *comm = container_of(to_delayed_work(work), struct canary_comm,
						spare_work);
	LIST_HEAD(freed);

	canary_spares_out(comm, false, &freed);
	canary_spares_free(&freed);
}

/* Free all spare vectors. Context: process, no locks held. */
void canary_spares_drop(void)
{
	struct canary_comm *comm;
	struct canary_net *cn;
	LIST_HEAD(freed);
	struct net *net;

	down_read(&net_rwsem);
	for_each_net(net) {
		cn = canary_net(net);
		mutex_lock(&cn->lock);
		list_for_each_entry(comm, &cn->comms, list)
			canary_spares_out(comm, true, &freed);
		mutex_unlock(&cn->lock);
	}
	up_read(&net_rwsem);
	canary_spares_free(&freed);
}

void canary_spares_init(struct canary_comm *comm)
{
	INIT_LIST_HEAD(&comm->spares);
	INIT_DELAYED_WORK(&comm->spare_work, canary_spare_work);
}

/* The face has gone, so no vector is kept any more. Context: process. */
void canary_spares_end(struct canary_comm *comm)
{
	LIST_HEAD(freed);

	canary_spares_out(comm, true, &freed);
	cancel_delayed_work_sync(&comm->spare_work);
	canary_spares_free(&freed);
}
