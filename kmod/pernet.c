// SPDX-License-Identifier: GPL-2.0
/* The data of the module in a network namespace. netns.c makes and ends it. */

#include <net/netns/generic.h>
#include "canary.h"

unsigned int canary_net_id __read_mostly;

struct canary_net *canary_net(const struct net *net)
{
	return net_generic(net, canary_net_id);
}
