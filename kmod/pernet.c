// SPDX-License-Identifier: GPL-2.0
/* Where a namespace has what is ours: for whoever needs it. Its life is in netns.c. */

#include <net/netns/generic.h>
#include "canary.h"

unsigned int canary_net_id __read_mostly;

struct canary_net *canary_net(const struct net *net)
{
	return net_generic(net, canary_net_id);
}
