// SPDX-License-Identifier: GPL-2.0
/*
 * Vectors: the memory of operations, from sendmsg() until nobody can ask for it any more.
 *
 * Three bounds apply, each with its own error:
 *  - the budget of the socket is SO_SNDBUF: EAGAIN, or sendmsg() waits. A vector that is
 *    larger than all of it gets EMSGSIZE;
 *  - all sockets, and those of the namespace, may take so much (budget.c): ENOBUFS;
 *  - pages are charged to the memory cgroup of the caller (GFP_KERNEL_ACCOUNT): ENOBUFS.
 *    That charge is exact, and lasts as long as the pages do. To charge them as other socket
 *    families do (sk_wmem_schedule()) would charge them twice.
 *
 * A vector stays charged until the application has received it and no other member can ask for its
 * results. After close() it stays charged to the namespace and the cgroup. A vector in the
 * application's memory (pin.c) is charged with what the kernel adds to that.
 *
 * What the core keeps of an operation (cnr_memory()) is charged and freed with its vector. Before
 * large vectors are freed, they are spare for a while (spare.c).
 */

#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "canary.h"

/* Return: what is allocated for a vector with @memory bytes for the core, if these are near it */
static size_t canary_vector_size(u32 bytes, size_t memory)
{
	return offsetof(struct canary_vector, own) + ALIGN((size_t)bytes, 8) +
	       (memory <= CANARY_MEMORY_NEAR ? memory : 0);
}

/*
 * Return: about what the allocator takes for a copied vector of @bytes and the @memory bytes that
 * the core keeps of it
 */
size_t canary_vector_charge(u32 bytes, size_t memory)
{
	size_t size = canary_vector_size(bytes, memory);

	size = bytes < CANARY_VECTOR_PAGED ? roundup_pow_of_two(size) : PAGE_ALIGN(size);
	return size + (memory <= CANARY_MEMORY_NEAR ? 0 : canary_memory_charge(memory));
}

/* Return: about what the allocator takes for @bytes that the core keeps of an operation */
size_t canary_memory_charge(size_t bytes)
{
	if (!bytes)
		return 0;
	return bytes < CANARY_VECTOR_PAGED ? roundup_pow_of_two(bytes) : PAGE_ALIGN(bytes);
}

/* Does @charge fit the budget of the socket? Context: canary_comm.lock is held. */
bool canary_vector_fits(const struct canary_comm *comm, size_t charge)
{
	return comm->charged + charge <= READ_ONCE(comm->sk->sk_sndbuf);
}

/*
 * Take @charge from the budget of the socket. Context: canary_comm.lock is held and there is a
 * face. Return: 0, -EAGAIN (wait until vectors are freed), -EMSGSIZE (waiting is useless), -ENOBUFS
 */
int canary_vector_reserve(struct canary_comm *comm, size_t charge)
{
	int err;

	lockdep_assert_held(&comm->lock);
	if (charge > READ_ONCE(comm->sk->sk_sndbuf))
		return -EMSGSIZE;
	if (!canary_vector_fits(comm, charge)) {
		comm->wanted = charge;
		return -EAGAIN;
	}
	comm->wanted = 0;
	err = canary_memory_take(comm->net, charge);
	if (!err)
		comm->charged += charge;
	return err;
}

/* Give @charge back, and wake tasks that wait for it. */
static void canary_vector_uncharge(struct canary_comm *comm, size_t charge)
{
	lockdep_assert_held(&comm->lock);
	comm->charged -= charge;
	canary_memory_give(comm->net, charge);
	if (comm->sk)
		comm->sk->sk_write_space(comm->sk);
}

/* Undo canary_vector_reserve() if no vector was made. */
void canary_vector_unreserve(struct canary_comm *comm, size_t charge)
{
	spin_lock_bh(&comm->lock);
	canary_vector_uncharge(comm, charge);
	spin_unlock_bh(&comm->lock);
}

/*
 * Return: @size bytes, from single pages if @paged; or NULL. If there are no pages, spare vectors
 * are given up before the kernel kills somebody.
 */
static void *canary_vector_room(bool paged, size_t size, gfp_t flags)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOWARN | flags;
	void *room;

	if (!paged)
		return kvmalloc(size, gfp);
	room = __vmalloc(size, gfp | __GFP_RETRY_MAYFAIL);
	if (room || fatal_signal_pending(current))
		return room;
	canary_spares_drop();
	return __vmalloc(size, gfp);
}

/*
 * Allocate a vector for which @charge was reserved. A large one is made of single pages. If @memory
 * bytes for the core are few, they are part of it: two allocations take longer than one. Context:
 * process.
 */
struct canary_vector *canary_vector_alloc(struct canary_comm *comm, u32 bytes, size_t memory,
					  size_t charge)
{
	struct canary_vector *v = canary_spare_take(comm, bytes, memory);
	size_t size = canary_vector_size(bytes, memory);
	void *kept = v ? v->memory : NULL;

	if (!v)
		v = canary_vector_room(bytes >= CANARY_VECTOR_PAGED, size, 0);
	if (!v)
		return NULL;
	memset(v, 0, sizeof(*v));
	INIT_LIST_HEAD(&v->all);
	INIT_LIST_HEAD(&v->done);
	refcount_set(&v->refs, 1);
	v->charge = charge;
	v->bytes = bytes;
	v->data = v->own;
	v->near = memory && memory <= CANARY_MEMORY_NEAR;
	v->kept = memory;
	v->process = current->tgid;
	v->memory = v->near ? memset((u8 *)v + size - memory, 0, memory) : kept;
	return v;
}

/*
 * Allocate the @bytes that the core keeps of the operation on @v. They are zeroed, and were
 * reserved with the vector (canary_memory_charge()). Return: 0 or -ENOBUFS
 */
int canary_vector_keep(struct canary_vector *v, size_t bytes)
{
	if (!bytes || v->near)
		return 0;
	if (v->memory) {
		memset(v->memory, 0, bytes);
		return 0;
	}
	v->memory = canary_vector_room(bytes >= CANARY_VECTOR_PAGED, bytes, __GFP_ZERO);
	return v->memory ? 0 : -ENOBUFS;
}

/*
 * Give up a reference. A vector without any may be kept as a spare one.
 * @freed:	takes the vector if that was the last reference; then call canary_vectors_free(),
 *		unlocked Context: canary_comm.lock is held.
 */
void canary_vector_put_locked(struct canary_comm *comm, struct canary_vector *v,
			      struct list_head *freed)
{
	lockdep_assert_held(&comm->lock);
	if (!refcount_dec_and_test(&v->refs))
		return;
	canary_vector_uncharge(comm, v->charge);
	if (!canary_spare_keep(comm, v, freed))
		list_move(&v->all, freed);
}

void canary_vector_put(struct canary_comm *comm, struct canary_vector *v)
{
	LIST_HEAD(freed);

	spin_lock_bh(&comm->lock);
	canary_vector_put_locked(comm, v, &freed);
	spin_unlock_bh(&comm->lock);
	canary_vectors_free(&freed, true);
}

/* Context: process, if @v is pinned. */
void canary_vector_free(struct canary_vector *v)
{
	if (v->pinned)
		canary_vector_unpin(v);
	canary_vector_release(v);
}

static LIST_HEAD(canary_unpin_list);
static DEFINE_SPINLOCK(canary_unpin_lock);	/* protects the list; softirqs off */

/* Pages can only be given back in process context. */
static void canary_unpin_work(struct work_struct *work)
{
	struct canary_vector *v, *next;
	LIST_HEAD(list);

	spin_lock_bh(&canary_unpin_lock);
	list_splice_init(&canary_unpin_list, &list);
	spin_unlock_bh(&canary_unpin_lock);
	list_for_each_entry_safe(v, next, &list, all)
		canary_vector_free(v);
}

static DECLARE_WORK(canary_unpin, canary_unpin_work);

/*
 * Free vectors that are not charged any more. Context: no locks held; process if @may_sleep, else
 * any but hard interrupts.
 */
void canary_vectors_free(struct list_head *freed, bool may_sleep)
{
	struct canary_vector *v, *next;

	list_for_each_entry_safe(v, next, freed, all) {
		list_del(&v->all);
		if (may_sleep || !v->pinned) {
			canary_vector_free(v);
			if (may_sleep)
				cond_resched();
			continue;
		}
		spin_lock_bh(&canary_unpin_lock);
		list_add_tail(&v->all, &canary_unpin_list);
		spin_unlock_bh(&canary_unpin_lock);
		queue_work(canary_wq, &canary_unpin);
	}
}
