// SPDX-License-Identifier: GPL-2.0
/*
 * UDP ports of endpoints: sockets of the kernel, whose packets go to canary_receive(). Engines also
 * need sockets to send from. The engine that opened a port sends from its socket. Each other engine
 * that shares the port (endpoint.c) has an unbound socket of its own. send.c makes the headers, so
 * packets of all of them have the same port.
 *
 * These sockets belong to the kernel, so that they may outlive close(). But each acts for the user
 * who made the face. Routing by user, netfilter, control groups and security modules look at the
 * socket of a packet. There they find the user, the label and, as credentials of a file, everything
 * else that they know about sockets of that process. Nobody can open that file: it has no
 * descriptor and does nothing.
 */

#include <linux/anon_inodes.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/security.h>
#include <net/ip.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>
#include "canary.h"

static const struct file_operations canary_port_fops = {
	.owner	= THIS_MODULE,
};

/* Make a file with the credentials of the application's file. Return: it, or an error pointer */
static struct file *canary_port_file(const struct sock *sk)
{
	const struct file *face = sk->sk_socket->file;
	const struct cred *old;
	struct file *file;

	old = override_creds(face ? face->f_cred : current_cred());
	file = anon_inode_getfile("[canary]", &canary_port_fops, NULL, O_RDONLY);
	revert_creds(old);
	return file;
}

/*
 * Let @usock act for the owner of the face. Context: process, lock_sock is held; nothing was sent
 * yet.
 */
static int canary_port_own(struct socket *usock, const struct sock *sk)
{
	struct file *file = canary_port_file(sk);
	struct sock *usk = usock->sk;

	if (IS_ERR(file))
		return PTR_ERR(file);
	usk->sk_uid = READ_ONCE(sk->sk_uid);
	security_sk_clone(sk, usk);
	write_lock_bh(&usk->sk_callback_lock);
	usock->file = file;
	write_unlock_bh(&usk->sk_callback_lock);
	/* Nothing is fragmented, and ICMP is not believed (route.c). */
	ip_sock_set_mtu_discover(usk, IP_PMTUDISC_INTERFACE);
	return 0;
}

/* Release @usock. Its file may go later; the socket goes now. */
static void canary_port_release(struct socket *usock)
{
	struct sock *usk = usock->sk;
	struct file *file;

	write_lock_bh(&usk->sk_callback_lock);
	file = usock->file;
	usock->file = NULL;
	write_unlock_bh(&usk->sk_callback_lock);
	kernel_sock_shutdown(usock, SHUT_RDWR);
	sock_release(usock);
	if (file)
		fput(file);
}

static int canary_port_create(struct canary_endpoint *ep, const struct canary_addr *addr,
			      u16 port, int ifindex)
{
	struct udp_port_cfg cfg = {
		.family		= AF_INET,
		.local_ip.s_addr = canary_addr_ip4(addr),
		.local_udp_port	= htons(port),
		.bind_ifindex	= ifindex,
	};

	ep->addr = *addr;
	ep->port = htons(port);
	return udp_sock_create(ep->net, &cfg, &ep->usock);
}

/*
 * Bind to any free port. The first port of the range is tried last, since rank 0 is looked for
 * there by default.
 */
static int canary_port_search(struct canary_endpoint *ep, const struct canary_addr *addr,
			      int ifindex)
{
	int i, err = -EADDRINUSE;

	for (i = 1; i <= CANARY_PORTS && err == -EADDRINUSE; i++)
		err = canary_port_create(ep, addr, CANARY_PORT_BASE + i % CANARY_PORTS, ifindex);
	return err;
}

/* Let @comm send from @usock. */
static void canary_port_use(struct canary_comm *comm, struct canary_endpoint *ep,
			    struct socket *usock)
{
	comm->usock = usock;
	comm->usk = usock->sk;
	comm->bound = ep->addr;
	/* Under the lock: /proc shows it. */
	spin_lock_bh(&comm->lock);
	comm->ep = ep;
	comm->addr = ep->addr;
	comm->port = ep->port;
	spin_unlock_bh(&comm->lock);
	add_wait_queue(sk_sleep(comm->usk), &comm->space);
}

/*
 * Bind the engine to an address and a port of its own.
 * @port:	in the range, or 0 for any free one
 * @receive:	gets the packets. It is an argument because it calls engines, which close ports
 *		Context: process, lock_sock is held. Return: 0 or an error of bind()
 */
int canary_port_open(struct canary_comm *comm, const struct canary_addr *addr, __be16 port,
		     int ifindex, canary_receiver *receive)
{
	struct udp_tunnel_sock_cfg cfg = {
		.encap_type	= 1,
		.encap_rcv	= receive,
	};
	struct canary_endpoint *ep = canary_endpoint_alloc(comm);
	int err;

	if (!ep)
		return -ENOMEM;
	if (port)
		err = canary_port_create(ep, addr, ntohs(port), ifindex);
	else
		err = canary_port_search(ep, addr, ifindex);
	if (err)
		goto err_free;
	err = canary_port_own(ep->usock, comm->sk);
	if (err)
		goto err_release;
	ep->uid = ep->usock->sk->sk_uid;
	canary_port_use(comm, ep, ep->usock);
	cfg.sk_user_data = ep;
	setup_udp_tunnel_sock(ep->net, ep->usock, &cfg);
	/* The stack may give us trains as a whole. */
	udp_allow_gso(ep->usock->sk);
	return 0;

err_release:
	canary_port_release(ep->usock);
err_free:
	canary_endpoint_put(ep, comm);
	canary_endpoint_free(ep);
	return err;
}

/* Make a socket to send from, for the owner of the face. Return: it, or an error pointer */
static struct socket *canary_port_sender(struct canary_comm *comm, int ifindex)
{
	struct socket *usock;
	int err;

	err = sock_create_kern(comm->net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, &usock);
	if (err)
		return ERR_PTR(err);
	/* The receive path reads it under RCU, as it does a bound one. */
	sock_set_flag(usock->sk, SOCK_RCU_FREE);
	err = sock_bindtoindex(usock->sk, ifindex, true);
	if (!err)
		err = canary_port_own(usock, comm->sk);
	if (!err)
		return usock;
	canary_port_release(usock);
	return ERR_PTR(err);
}

/**
 * canary_port_share() - let the engine share the port of others
 * @comm:	an engine without a port
 * @ep:		held by canary_endpoint_hold(); it belongs to @comm if this succeeds
 *
 * Engines that share a port belong to the same user: no other user can receive there, or send from
 * there. They also have the device of the port.
 *
 * Context: process, lock_sock is held. Return: 0; -EPERM: another user's; -EINVAL: the socket is
 * bound to another device; -ENOMEM and others: no socket.
 */
int canary_port_share(struct canary_comm *comm, struct canary_endpoint *ep)
{
	int ifindex = READ_ONCE(ep->usock->sk->sk_bound_dev_if);
	struct sock *sk = comm->sk;
	struct socket *usock;

	if (!uid_eq(READ_ONCE(sk->sk_uid), ep->uid))
		return -EPERM;
	if (READ_ONCE(sk->sk_bound_dev_if) && READ_ONCE(sk->sk_bound_dev_if) != ifindex)
		return -EINVAL;
	usock = canary_port_sender(comm, ifindex);
	if (IS_ERR(usock))
		return PTR_ERR(usock);
	WRITE_ONCE(sk->sk_bound_dev_if, ifindex);
	canary_port_use(comm, ep, usock);
	return 0;
}

/*
 * The face was bound to another device after its port. That is impossible for a port that is
 * shared.
 */
int canary_port_device(struct canary_comm *comm, int ifindex)
{
	struct canary_endpoint *ep = comm->ep;

	if (READ_ONCE(comm->usk->sk_bound_dev_if) == ifindex)
		return 0;
	if (comm->usock != ep->usock || READ_ONCE(ep->engines) > 1)
		return -EINVAL;
	return sock_bindtoindex(comm->usk, ifindex, true);
}

/* An engine leaves the port. The last one closes it. */
void canary_port_put(struct canary_endpoint *ep, const struct canary_comm *comm)
{
	if (!canary_endpoint_put(ep, comm))
		return;
	rcu_assign_sk_user_data(ep->usock->sk, NULL);
	canary_port_release(ep->usock);
	canary_endpoint_free(ep);
}

/*
 * Leave the port. Nobody sends through the engine any more. A packet that is just being received
 * finds no core, in memory that stays for a grace period. So, unlike udp_tunnel_sock_release(),
 * close() need not wait for a grace period.
 */
void canary_port_close(struct canary_comm *comm)
{
	struct canary_endpoint *ep = comm->ep;

	if (comm->usock != ep->usock)
		canary_port_release(comm->usock);
	comm->usock = NULL;
	memset(&comm->bound, 0, sizeof(comm->bound));
	/* Under the lock: /proc shows it. */
	spin_lock_bh(&comm->lock);
	comm->ep = NULL;
	memset(&comm->addr, 0, sizeof(comm->addr));
	comm->port = 0;
	spin_unlock_bh(&comm->lock);
	canary_port_put(ep, comm);
}
