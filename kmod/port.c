// SPDX-License-Identifier: GPL-2.0
/*
 * The UDP port of a rank: a socket of the kernel, whose packets go to canary_receive().
 */

#include <net/ip.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>
#include "canary.h"

static int canary_port_create(struct canary_comm *comm, __be32 addr, u16 port, int ifindex)
{
	struct udp_port_cfg cfg = {
		.family		= AF_INET,
		.local_ip.s_addr = addr,
		.local_udp_port	= htons(port),
		.bind_ifindex	= ifindex,
	};

	return udp_sock_create(comm->net, &cfg, &comm->usock);
}

/*
 * Any free one. The first of the range is tried last: it is where rank 0 is looked for if
 * nobody says otherwise.
 */
static int canary_port_search(struct canary_comm *comm, __be32 addr, int ifindex, u16 *port)
{
	int i, err = -EADDRINUSE;

	for (i = 1; i <= CANARY_PORTS && err == -EADDRINUSE; i++) {
		*port = CANARY_PORT_BASE + i % CANARY_PORTS;
		err = canary_port_create(comm, addr, *port, ifindex);
	}
	return err;
}

/*
 * Bind the engine to an address and a port
 * @port:	in the range, or 0 for any free one
 * Context: process, lock_sock is held. Return: 0 or what bind() says.
 */
int canary_port_open(struct canary_comm *comm, __be32 addr, __be16 port, int ifindex)
{
	struct udp_tunnel_sock_cfg cfg = {
		.sk_user_data	= comm,
		.encap_type	= 1,
		.encap_rcv	= canary_receive,
	};
	u16 number = ntohs(port);
	int err;

	if (number)
		err = canary_port_create(comm, addr, number, ifindex);
	else
		err = canary_port_search(comm, addr, ifindex, &number);
	if (err)
		return err;
	comm->usk = comm->usock->sk;
	/* Nothing is fragmented, and ICMP is not believed (route.c). */
	ip_sock_set_mtu_discover(comm->usk, IP_PMTUDISC_INTERFACE);
	comm->bound = addr;
	/* Under the lock: /proc shows it. */
	spin_lock_bh(&comm->lock);
	comm->addr = addr;
	comm->port = htons(number);
	spin_unlock_bh(&comm->lock);
	add_wait_queue(sk_sleep(comm->usk), &comm->space);
	setup_udp_tunnel_sock(comm->net, comm->usock, &cfg);
	return 0;
}

/*
 * Nobody sends through it any more; who receives just now finds no core, in memory that stays
 * for a grace period. So, unlike udp_tunnel_sock_release(), close() need not wait for one.
 */
void canary_port_close(struct canary_comm *comm)
{
	rcu_assign_sk_user_data(comm->usk, NULL);
	kernel_sock_shutdown(comm->usock, SHUT_RDWR);
	sock_release(comm->usock);
	comm->usock = NULL;
}
