// SPDX-License-Identifier: GPL-2.0
/* The module: it starts its parts in order, and stops them in the reverse order. */

#include <linux/module.h>
#include <linux/net.h>
#include "canary.h"

module_param_named(memory_max, canary_memory_max, ulong, 0644);
MODULE_PARM_DESC(memory_max, "bytes that all sockets together may take, and 1/8 more for later use (default: 1/4 of memory)");

static int __init canary_init(void)
{
	int err;

	canary_budget_init();
	canary_simd_init();
	err = canary_work_init();
	if (err)
		return err;
	err = canary_net_init();
	if (err)
		goto err_work;
	err = proto_register(&canary_proto, 1);
	if (err)
		goto err_net;
	err = canary_netlink_init();
	if (err)
		goto err_proto;
	/* This comes last: from here on there may be sockets, which nothing can take back. */
	err = canary_family_register();
	if (err)
		goto err_netlink;
	return 0;

err_netlink:
	canary_netlink_exit();
err_proto:
	proto_unregister(&canary_proto);
err_net:
	canary_net_exit();
err_work:
	canary_work_exit();
	return err;
}

/* No socket, no engine and no train is left, since each holds a reference to the module. */
static void __exit canary_exit(void)
{
	canary_family_unregister();
	canary_netlink_exit();
	proto_unregister(&canary_proto);
	canary_net_exit();
	canary_work_exit();
	/*
	 * The handler of a packet may still be looking at a port that was just closed. And who gave
	 * up the last reference may not have returned from canary_train_free() yet.
	 */
	synchronize_rcu();
#ifdef CONFIG_TASKS_RCU
	synchronize_rcu_tasks();
#endif
	canary_pages_exit();
	canary_budget_exit();
}

module_init(canary_init);
module_exit(canary_exit);
MODULE_DESCRIPTION("Canary: allreduce in the network, as a socket family");
MODULE_LICENSE("GPL");
MODULE_ALIAS_NETPROTO(AF_CANARY);
