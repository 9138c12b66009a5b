// SPDX-License-Identifier: GPL-2.0
/*
 * Network namespaces: the list of engines of each, and the end of engines that linger.
 *
 * A socket holds its namespace, an engine does not. So when a namespace goes, only engines without
 * a socket are left. The namespace ends them before its devices go (pre_exit), so that they can
 * still say goodbye.
 */

#include <linux/wait_bit.h>
#include <net/net_namespace.h>
#include "canary.h"

static int __net_init canary_net_start(struct net *net)
{
	struct canary_net *cn = canary_net(net);
	int err;

	mutex_init(&cn->lock);
	INIT_LIST_HEAD(&cn->comms);
	mutex_init(&cn->rules_lock);
	INIT_LIST_HEAD(&cn->rules);
	spin_lock_init(&cn->stats_lock);
	err = canary_budget_net_init(net);
	if (err)
		return err;
	err = canary_sysctl_net_init(net);
	if (err)
		goto err_budget;
	err = canary_proc_net_init(net);
	if (err)
		goto err_sysctl;
	return 0;

err_sysctl:
	canary_sysctl_net_exit(net);
err_budget:
	canary_budget_net_exit(net);
	return err;
}

static void __net_exit canary_net_pre_exit(struct net *net)
{
	struct canary_net *cn = canary_net(net);
	struct canary_comm *comm;

	WRITE_ONCE(cn->going, true);
	mutex_lock(&cn->lock);
	list_for_each_entry(comm, &cn->comms, list)
		canary_comm_schedule_end(comm);
	mutex_unlock(&cn->lock);
	/* Wait for the engines of this namespace only. They end side by side. */
	wait_var_event(&cn->engines, !atomic_read(&cn->engines));
}

static void __net_exit canary_net_stop(struct net *net)
{
	canary_proc_net_exit(net);
	canary_sysctl_net_exit(net);
	canary_rules_clear(canary_net(net));
	WARN_ON_ONCE(!list_empty(&canary_net(net)->comms));
	canary_budget_net_exit(net);
}

static struct pernet_operations canary_net_ops = {
	.init		= canary_net_start,
	.pre_exit	= canary_net_pre_exit,
	.exit		= canary_net_stop,
	.id		= &canary_net_id,
	.size		= sizeof(struct canary_net),
};

int canary_net_init(void)
{
	return register_pernet_subsys(&canary_net_ops);
}

void canary_net_exit(void)
{
	unregister_pernet_subsys(&canary_net_ops);
}
