// SPDX-License-Identifier: GPL-2.0
/*
 * Routes. An administrator's rules apply to the UDP socket that packets leave by: to its device,
 * mark, user and label. The file also knows how large a packet may be on a route.
 */

#include <linux/security.h>
#include <net/ip.h>
#include <net/lwtunnel.h>
#include <net/route.h>
#include "canary.h"

/**
 * canary_route_lookup() - the route to a member or switch
 * @comm:	an engine with a port
 * @from:	own address; if it is 0.0.0.0, it becomes the address that the route chooses
 * @to:		destination
 * @port:	destination port: equal-cost paths may be chosen by it
 *
 * A broadcast or multicast address has no route here: a member may have claimed to be there.
 *
 * Return: the route, or an error pointer.
 */
struct rtable *canary_route_lookup(struct canary_comm *comm, struct canary_addr *from,
				   const struct canary_addr *to, __be16 port)
{
	struct sock *usk = comm->usk;
	struct flowi4 fl4 = {
		.daddr		= canary_addr_ip4(to),
		.saddr		= canary_addr_ip4(from),
		.flowi4_proto	= IPPROTO_UDP,
		.flowi4_oif	= READ_ONCE(usk->sk_bound_dev_if),
		.flowi4_mark	= READ_ONCE(usk->sk_mark),
		.flowi4_uid	= READ_ONCE(usk->sk_uid),
		.fl4_sport	= comm->port,
		.fl4_dport	= port,
	};
	struct rtable *rt;

	security_sk_classify_flow(usk, flowi4_to_flowi_common(&fl4));
	rt = ip_route_output_flow(comm->net, &fl4, usk);
	if (IS_ERR(rt))
		return rt;
	if (rt->rt_flags & (RTCF_MULTICAST | RTCF_BROADCAST)) {
		ip_rt_put(rt);
		return ERR_PTR(-ENETUNREACH);
	}
	*from = canary_addr_of_ip4(fl4.saddr);
	return rt;
}

/*
 * Return: the largest packet for a route
 *
 * That is what its device takes, or less if an administrator says so, without what a tunnel of the
 * route puts around it. dst_mtu() also believes ICMP, which anybody may have sent. Here the
 * rendezvous finds out what the path takes. If the path takes less later, it is noticed that large
 * packets do not arrive.
 */
u32 canary_route_mtu(const struct rtable *rt)
{
	u32 mtu = min_t(u32, READ_ONCE(rt->dst.dev->mtu), IP_MAX_MTU);

	mtu = min_not_zero(dst_metric_raw(&rt->dst, RTAX_MTU), mtu);
	return mtu - lwtunnel_headroom(rt->dst.lwtstate, mtu);
}

/*
 * Is @addr an address of this host, in the table of the device (VRF) that the socket is bound to?
 */
bool canary_route_is_local(struct canary_comm *comm, const struct canary_addr *addr)
{
	u32 table = l3mdev_fib_table_by_index(comm->net, READ_ONCE(comm->usk->sk_bound_dev_if));

	return inet_addr_type_table(comm->net, canary_addr_ip4(addr),
				    table ?: RT_TABLE_LOCAL) == RTN_LOCAL;
}
