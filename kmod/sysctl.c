// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/sys/net/canary, of each network namespace:
 *
 * wmem_default	SO_SNDBUF of new sockets, bytes. net.core.wmem_max bounds what a process may ask
 *		for by SO_SNDBUF, as for all sockets
 * mem_max	bytes that all sockets of the namespace may take, besides what budget.c says
 * members_max	members of the communicators of all its sockets together
 * train_max	packets that may pass the network stack as one (train.c); 1: each for itself
 *
 * A new namespace copies the values of the initial one. They protect the machine, so a guest
 * (budget.c) cannot change them.
 */

#include <linux/slab.h>
#include <linux/sysctl.h>
#include "canary.h"

static int canary_sysctl_least = SOCK_MIN_SNDBUF;
static int canary_sysctl_train = CANARY_TRAIN_LIMIT;

static const struct ctl_table canary_sysctl_table[] = {
	{
		.procname	= "wmem_default",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= &canary_sysctl_least,
	},
	{
		.procname	= "mem_max",
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
	},
	{
		.procname	= "members_max",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ZERO,
	},
	{
		.procname	= "train_max",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ONE,
		.extra2		= &canary_sysctl_train,
	},
	{ }	/* end of the table before 6.11; later kernels are given the size */
};

/* Context: process; @net begins. */
int canary_sysctl_net_init(struct net *net)
{
	struct canary_net *cn = canary_net(net), *initial = canary_net(&init_net);
	struct ctl_table *table;
	int i;

	if (net_eq(net, &init_net)) {
		cn->wmem_default = CANARY_VECTORS_BUDGET *
				   canary_vector_charge(CANARY_VECTOR_DEFAULT, 0);
		cn->memory_max = LONG_MAX;
		cn->members_max = CANARY_MEMBERS_DEFAULT;
		cn->train_max = CANARY_TRAIN_DEFAULT;
	} else {
		cn->wmem_default = READ_ONCE(initial->wmem_default);
		cn->memory_max = READ_ONCE(initial->memory_max);
		cn->members_max = READ_ONCE(initial->members_max);
		cn->train_max = READ_ONCE(initial->train_max);
	}
	table = kmemdup(canary_sysctl_table, sizeof(canary_sysctl_table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table[0].data = &cn->wmem_default;
	table[1].data = &cn->memory_max;
	table[2].data = &cn->members_max;
	table[3].data = &cn->train_max;
	for (i = 0; canary_budget_guest(net) && table[i].procname; i++)
		table[i].mode = 0444;
#ifdef CANARY_SYSCTL_SIZE
	cn->sysctl = register_net_sysctl_sz(net, "net/canary", table,
					    ARRAY_SIZE(canary_sysctl_table) - 1);
#else
	cn->sysctl = register_net_sysctl(net, "net/canary", table);
#endif
	if (!cn->sysctl) {
		kfree(table);
		return -ENOMEM;
	}
	cn->sysctl_table = table;
	return 0;
}

void canary_sysctl_net_exit(struct net *net)
{
	struct canary_net *cn = canary_net(net);

	unregister_net_sysctl_table(cn->sysctl);
	kfree(cn->sysctl_table);
}
