// SPDX-License-Identifier: GPL-2.0
/*
 * The UDP port of a rank: a socket of the kernel, whose packets go to canary_receive().
 *
 * It is the kernel's, so that it may outlive close(), but it belongs to whoever made the socket:
 * what asks packets for their socket (routing by user, netfilter, control groups, security
 * modules) finds the user, the label and, as the credentials of a file, all that it knows of
 * sockets of that process. Nobody opens that file: it has no descriptor and does nothing.
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

/* A file with the credentials of the application's. Return: or an error pointer. */
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

/* Context: process, lock_sock of the face is held; nothing was sent yet. */
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
	return 0;
}

/* Its file may go later, the socket goes now. */
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
	err = canary_port_own(comm->usock, comm->sk);
	if (err) {
		canary_port_release(comm->usock);
		comm->usock = NULL;
		return err;
	}
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
	canary_port_release(comm->usock);
	comm->usock = NULL;
}
