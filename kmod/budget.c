// SPDX-License-Identifier: GPL-2.0
/*
 * What all sockets share, and how much of it a network namespace may take:
 *
 *  - bytes: the module parameter memory_max bounds all sockets together. A namespace may take at
 *    most as much as it leaves to others, and at most its sysctl mem_max: ENOBUFS. So a namespace
 *    that takes all it can leaves half, and the next one half of that;
 *  - spare vectors (spare.c): all together, and those of a namespace, may take an eighth as much on
 *    top of that. If there are more, they are not kept;
 *  - members of communicators: a namespace may have as many as its sysctl members_max: EUSERS.
 *
 * Any user may make any number of network namespaces, but only in a user namespace of its own. A
 * network namespace that does not belong to the initial user namespace is a guest. All guests
 * together may take what one namespace may. So guests take from each other, but not from others.
 * And of that, all guests of one user together may take at most as much as they leave to guests of
 * other users.
 *
 * A refused request takes nothing meanwhile that others could have.
 */

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include "canary.h"

/* What the guests of one user take together */
struct canary_share {
	struct list_head	list;
	kuid_t			user;
	unsigned int		guests;
	atomic_long_t		memory;
	atomic_long_t		members;
};

static DEFINE_MUTEX(canary_shares_lock);	/* protects the list and the number of guests */
static LIST_HEAD(canary_shares);

#define CANARY_SPARE_PART	8	/* spare vectors may take this part beside others */

unsigned long canary_memory_max;
static atomic_long_t canary_memory = ATOMIC_LONG_INIT(0);	/* of all namespaces */
static atomic_long_t canary_spares = ATOMIC_LONG_INIT(0);	/* bytes of spare vectors */
static atomic_long_t canary_memory_guests = ATOMIC_LONG_INIT(0);
static atomic_long_t canary_members_guests = ATOMIC_LONG_INIT(0);

void __init canary_budget_init(void)
{
	if (!canary_memory_max)
		canary_memory_max = totalram_pages() / 4 << PAGE_SHIFT;
}

/* Everything was given back. */
void canary_budget_exit(void)
{
	WARN_ON(!list_empty(&canary_shares));
	WARN_ON(atomic_long_read(&canary_memory));
	WARN_ON(atomic_long_read(&canary_spares));
	WARN_ON(atomic_long_read(&canary_memory_guests));
	WARN_ON(atomic_long_read(&canary_members_guests));
}

/* Is @net a guest? Its owner need not be an administrator of the machine. */
bool canary_budget_guest(const struct net *net)
{
	return net->user_ns != &init_user_ns;
}

/*
 * Return: the user that a guest belongs to, as the initial user namespace knows it. User namespaces
 * further inside are identities of that one user, who can make any number of them.
 */
static kuid_t canary_budget_user(const struct net *net)
{
	const struct user_namespace *ns = net->user_ns;

	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return ns->owner;
}

static struct canary_share *canary_share_find(kuid_t user)
{
	struct canary_share *share;

	lockdep_assert_held(&canary_shares_lock);
	list_for_each_entry(share, &canary_shares, list)
		if (uid_eq(share->user, user))
			return share;
	share = kzalloc(sizeof(*share), GFP_KERNEL);
	if (!share)
		return NULL;
	share->user = user;
	list_add(&share->list, &canary_shares);
	return share;
}

/* Context: process; @net begins. */
int canary_budget_net_init(struct net *net)
{
	struct canary_net *cn = canary_net(net);

	atomic_long_set(&cn->memory, 0);
	atomic_long_set(&cn->members, 0);
	atomic_long_set(&cn->spares, 0);
	if (!canary_budget_guest(net))
		return 0;
	mutex_lock(&canary_shares_lock);
	cn->share = canary_share_find(canary_budget_user(net));
	if (cn->share)
		cn->share->guests++;
	mutex_unlock(&canary_shares_lock);
	return cn->share ? 0 : -ENOMEM;
}

/* Everything was given back. */
void canary_budget_net_exit(struct net *net)
{
	struct canary_net *cn = canary_net(net);
	struct canary_share *share = cn->share;

	WARN_ON_ONCE(atomic_long_read(&cn->memory));
	WARN_ON_ONCE(atomic_long_read(&cn->members));
	WARN_ON_ONCE(atomic_long_read(&cn->spares));
	if (!share)
		return;
	mutex_lock(&canary_shares_lock);
	if (!--share->guests) {
		list_del(&share->list);
		kfree(share);
	}
	mutex_unlock(&canary_shares_lock);
}

/* Add @n, unless that makes more than @max. */
static bool canary_budget_add(atomic_long_t *taken, unsigned long n, unsigned long max)
{
	unsigned long sum;
	long was = atomic_long_read(taken);

	do {
		sum = was + n;
		if (sum < n || sum > max)
			return false;
	} while (!atomic_long_try_cmpxchg(taken, &was, sum));
	return true;
}

/*
 * Take @n from what all guests may have (@max), and from what their user may have of it. Return:
 * false if there is not enough
 */
static bool canary_guest_take(atomic_long_t *taken, atomic_long_t *of_user, unsigned long n,
			      unsigned long max)
{
	unsigned long all = atomic_long_read(taken) + n;

	if (all < n || all > max || !canary_budget_add(of_user, n, max - all))
		return false;
	if (canary_budget_add(taken, n, max))
		return true;
	atomic_long_sub(n, of_user);
	return false;
}

/*
 * Take @bytes from what @net may have, and from what all sockets may have. The common pool comes
 * last: bytes that were taken and given back are missed by others meanwhile. Return: 0 or -ENOBUFS
 */
int canary_memory_take(const struct net *net, size_t bytes)
{
	unsigned long max = READ_ONCE(canary_memory_max);
	unsigned long all = atomic_long_read(&canary_memory) + bytes;
	struct canary_net *cn = canary_net(net);

	if (all < bytes || all > max)
		return -ENOBUFS;
	if (!canary_budget_add(&cn->memory, bytes, min(max - all, READ_ONCE(cn->memory_max))))
		return -ENOBUFS;
	if (cn->share && !canary_guest_take(&canary_memory_guests, &cn->share->memory, bytes,
					    max - all))
		goto err_net;
	if (canary_budget_add(&canary_memory, bytes, max))
		return 0;
	if (cn->share) {
		atomic_long_sub(bytes, &canary_memory_guests);
		atomic_long_sub(bytes, &cn->share->memory);
	}
err_net:
	atomic_long_sub(bytes, &cn->memory);
	return -ENOBUFS;
}

void canary_memory_give(const struct net *net, size_t bytes)
{
	struct canary_net *cn = canary_net(net);

	atomic_long_sub(bytes, &cn->memory);
	if (cn->share) {
		atomic_long_sub(bytes, &canary_memory_guests);
		atomic_long_sub(bytes, &cn->share->memory);
	}
	atomic_long_sub(bytes, &canary_memory);
}

/*
 * Count @bytes of a spare vector. They come on top of what sockets may take. Guests have none:
 * there can be any number of them. Return: false if there are too many already
 */
bool canary_spares_take(const struct net *net, size_t bytes)
{
	struct canary_net *cn = canary_net(net);

	if (cn->share || !canary_budget_add(&cn->spares, bytes,
					    READ_ONCE(cn->memory_max) / CANARY_SPARE_PART))
		return false;
	if (canary_budget_add(&canary_spares, bytes,
			      READ_ONCE(canary_memory_max) / CANARY_SPARE_PART))
		return true;
	atomic_long_sub(bytes, &cn->spares);
	return false;
}

void canary_spares_give(const struct net *net, size_t bytes)
{
	atomic_long_sub(bytes, &canary_net(net)->spares);
	atomic_long_sub(bytes, &canary_spares);
}

/*
 * Count the members of a core. The work of timers, and the length of tables, grows with their
 * number. Return: 0 or -EUSERS
 */
int canary_members_take(const struct net *net, u32 members)
{
	struct canary_net *cn = canary_net(net);

	if (!canary_budget_add(&cn->members, members, READ_ONCE(cn->members_max)))
		return -EUSERS;
	/* A guest's own members_max was copied from the initial namespace when it began. */
	if (!cn->share || canary_guest_take(&canary_members_guests, &cn->share->members, members,
					    READ_ONCE(canary_net(&init_net)->members_max)))
		return 0;
	atomic_long_sub(members, &cn->members);
	return -EUSERS;
}

void canary_members_give(const struct net *net, u32 members)
{
	struct canary_net *cn = canary_net(net);

	atomic_long_sub(members, &cn->members);
	if (cn->share) {
		atomic_long_sub(members, &canary_members_guests);
		atomic_long_sub(members, &cn->share->members);
	}
}
