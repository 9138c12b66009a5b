// SPDX-License-Identifier: GPL-2.0
/*
 * What all sockets share, and what of it a network namespace may take:
 *
 *  - bytes: the module parameter memory_max bounds all sockets together. A namespace may have no
 *    more than it leaves to others, nor more than its sysctl mem_max: ENOBUFS. So whoever takes
 *    all that there is to take leaves half, and the next one half of that;
 *  - members of communicators: a namespace may have as many as its sysctl members_max: EUSERS.
 *
 * Any user may make namespaces, as many as it likes, but only in a user namespace of its own.
 * Network namespaces of other user namespaces than the initial one are guests: all of these
 * together may have what one namespace may. They take from each other, but not from others.
 *
 * Who asks for too much takes nothing meanwhile that others could have.
 */

#include <linux/mm.h>
#include "canary.h"

unsigned long canary_memory_max;
static atomic_long_t canary_memory = ATOMIC_LONG_INIT(0);	/* of all namespaces */
static atomic_long_t canary_memory_guests = ATOMIC_LONG_INIT(0);
static atomic_long_t canary_members_guests = ATOMIC_LONG_INIT(0);

void __init canary_budget_init(void)
{
	if (!canary_memory_max)
		canary_memory_max = totalram_pages() / 4 << PAGE_SHIFT;
}

/* All was given back. */
void canary_budget_exit(void)
{
	WARN_ON(atomic_long_read(&canary_memory));
	WARN_ON(atomic_long_read(&canary_memory_guests));
	WARN_ON(atomic_long_read(&canary_members_guests));
}

/* Does a namespace belong to somebody who need not be an administrator of the machine? */
bool canary_budget_guest(const struct net *net)
{
	return net->user_ns != &init_user_ns;
}

/* Adds @n unless that makes more than @max. */
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
 * Takes from what all sockets, and those of @net, may have. What is common comes last: giving it
 * back would be too late for who did not get it meanwhile. Return: 0 or -ENOBUFS.
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
	if (canary_budget_guest(net) &&
	    !canary_budget_add(&canary_memory_guests, bytes, max - all))
		goto err_net;
	if (canary_budget_add(&canary_memory, bytes, max))
		return 0;
	if (canary_budget_guest(net))
		atomic_long_sub(bytes, &canary_memory_guests);
err_net:
	atomic_long_sub(bytes, &cn->memory);
	return -ENOBUFS;
}

void canary_memory_give(const struct net *net, size_t bytes)
{
	atomic_long_sub(bytes, &canary_net(net)->memory);
	if (canary_budget_guest(net))
		atomic_long_sub(bytes, &canary_memory_guests);
	atomic_long_sub(bytes, &canary_memory);
}

/* All cores of a namespace count their members: tables and what timers do are as long. */
int canary_members_take(const struct net *net, u32 members)
{
	struct canary_net *cn = canary_net(net);

	if (!canary_budget_add(&cn->members, members, READ_ONCE(cn->members_max)))
		return -EUSERS;
	/* What holds for one guest now was copied when it began. */
	if (!canary_budget_guest(net) ||
	    canary_budget_add(&canary_members_guests, members,
			      READ_ONCE(canary_net(&init_net)->members_max)))
		return 0;
	atomic_long_sub(members, &cn->members);
	return -EUSERS;
}

void canary_members_give(const struct net *net, u32 members)
{
	atomic_long_sub(members, &canary_net(net)->members);
	if (canary_budget_guest(net))
		atomic_long_sub(members, &canary_members_guests);
}
