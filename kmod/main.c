// SPDX-License-Identifier: GPL-2.0
/*
 * The module: brings up its parts in order, and takes them down in the mirrored one.
 */

#include <linux/module.h>
#include <linux/net.h>
#include "canary.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

int canary_family = AF_CANARY;
module_param_named(family, canary_family, int, 0444);
MODULE_PARM_DESC(family, "number of the socket family, an unused one");

module_param_named(memory_max, canary_memory_max, ulong, 0644);
MODULE_PARM_DESC(memory_max, "bytes that all sockets together may take (default: 1/4 of memory)");

struct workqueue_struct *canary_wq;

static int __init canary_init(void)
{
	int err;

	canary_budget_init();
	canary_simd_init();
	canary_wq = alloc_workqueue("canary", 0, 0);
	if (!canary_wq)
		return -ENOMEM;
	err = canary_net_init();
	if (err)
		goto err_wq;
	err = proto_register(&canary_proto, 1);
	if (err)
		goto err_net;
	err = canary_netlink_init();
	if (err)
		goto err_proto;
	/* Last, as from here on there may be sockets, which nothing can take back. */
	err = canary_family_register();
	if (err) {
		pr_err("canary: socket family %d is taken or out of range (parameter \"family\")\n",
		       canary_family);
		goto err_netlink;
	}
	return 0;

err_netlink:
	canary_netlink_exit();
err_proto:
	proto_unregister(&canary_proto);
err_net:
	canary_net_exit();
err_wq:
	destroy_workqueue(canary_wq);
	return err;
}

/* No socket and no engine is left: each holds a reference of the module. */
static void __exit canary_exit(void)
{
	canary_family_unregister();
	canary_netlink_exit();
	proto_unregister(&canary_proto);
	canary_net_exit();
	/* Waits for the last engine's end, whose last deed was to let the module go. */
	destroy_workqueue(canary_wq);
	/* A packet may still be looking at a port that was just closed. */
	synchronize_rcu();
	canary_budget_exit();
}

module_init(canary_init);
module_exit(canary_exit);
MODULE_DESCRIPTION("Canary: allreduce in the network, as a socket family");
MODULE_LICENSE("GPL");
MODULE_ALIAS_NETPROTO(AF_CANARY);
