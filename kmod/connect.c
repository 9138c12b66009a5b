// SPDX-License-Identifier: GPL-2.0
/*
 * connect(): makes a rendezvous of all ranks from addresses and options, and waits for it. With
 * CANARY_TABLE it forms the communicator without one.
 */

#include <linux/random.h>
#include <linux/sched/signal.h>
#include <net/route.h>
#include "canary.h"

/*
 * The route to rank 0 (with a table, to another rank) tells the MTU. It also tells our own address,
 * if bind() left it open.
 */
static int canary_connect_route(struct canary_comm *comm, const struct canary_addr *root,
				__be16 root_port, struct canary_addr *addr, u32 *mtu)
{
	struct rtable *rt;

	*addr = comm->bound;
	rt = canary_route_lookup(comm, addr, root, root_port);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	*mtu = canary_route_mtu(rt);
	ip_rt_put(rt);
	return 0;
}

/*
 * Return: the packet size that the route permits, or -EMSGSIZE. With a table all members have the
 * same size, and the route has to permit that.
 */
static int canary_connect_mtu(const struct canary_comm *comm, u32 mtu)
{
	/* No packet is longer, however large the route's MTU (loopback). */
	const u32 most = canary_addr_ip_header(&comm->addr) + CANARY_UDP_HEADERS +
			 CANARY_PAYLOAD_MAX;
	u32 wanted = comm->req.mtu;

	if (!wanted)
		wanted = comm->table ? ETH_DATA_LEN : most;
	wanted = min(wanted, most);
	if (wanted > mtu && comm->table)
		return -EMSGSIZE;
	return min(wanted, mtu);
}

/* Fill in what rules do not decide. */
static void canary_connect_config(struct canary_comm *comm, u32 mtu, struct cnr_config *cfg)
{
	const struct canary_comm_req *req = &comm->req;

	cfg->rank = req->rank;
	cfg->members = req->members;
	cfg->window = req->window;
	cfg->mtu = mtu;
	cfg->peers = comm->table ? comm->table->peer : NULL;
	cfg->addr = comm->addr;
	cfg->port = comm->port;
	cfg->root = comm->root;
	cfg->root_port = comm->root_port;
	get_random_bytes(cfg->seed, sizeof(cfg->seed));
	cfg->slice = CANARY_SLICE;
	cfg->place = canary_send_place;
	cfg->driver = comm;
	cfg->dead_after = comm->dead_after * CNR_MSEC;
	cfg->linger = comm->linger * CNR_MSEC;
	cfg->given = comm->table;
	cnr_config_algorithm(cfg, comm->algorithm);
}

/* Copy to the port what was set on the face after bind(). */
static int canary_connect_port(struct canary_comm *comm, const struct sock *sk)
{
	WRITE_ONCE(comm->usk->sk_mark, READ_ONCE(sk->sk_mark));
	WRITE_ONCE(comm->usk->sk_priority, READ_ONCE(sk->sk_priority));
	return canary_port_device(comm, READ_ONCE(sk->sk_bound_dev_if));
}

/* Return: our address and port, if they are given: by a table, or for rank 0; else NULL */
static const struct canary_peer *canary_connect_own(const struct canary_comm *comm,
						    const struct canary_peer *root)
{
	if (comm->table)
		return &comm->table->peer[comm->req.rank];
	return comm->req.rank ? NULL : root;
}

/* Return: the member to whom the route is looked up. With a table, that of rank 0 is rank 1. */
static const struct canary_peer *canary_connect_to(const struct canary_comm *comm,
						   const struct canary_peer *root)
{
	if (comm->table && !comm->req.rank && comm->req.members > 1)
		return &comm->table->peer[1];
	return root;
}

/* Is @own our address and port? */
static bool canary_connect_is_own(struct canary_comm *comm, const struct canary_peer *own)
{
	return canary_route_is_local(comm, &own->addr) && comm->port == own->port &&
	       (canary_addr_is_any(&comm->bound) || canary_addr_equal(&comm->bound, &own->addr));
}

/*
 * Begin a rendezvous, or form the communicator. Context: lock_sock is held; no other one is under
 * way.
 */
static int canary_connect_start(struct sock *sk, const struct sockaddr_canary *to)
{
	struct canary_comm *comm = canary_sk(sk)->comm;
	const struct canary_peer root = {
		.addr = to->scan_addr,
		.port = to->scan_port ?: htons(CANARY_PORT_BASE),
	};
	const struct canary_peer *own = canary_connect_own(comm, &root);
	const struct canary_peer *other = canary_connect_to(comm, &root);
	const struct canary_addr any = { };
	struct cnr_config cfg = { };
	struct canary_addr addr;
	const char *what;
	u32 mtu;
	int err;

	if (!comm->configured || canary_addr_is_any(&root.addr) ||
	    (comm->table && !canary_peer_equal(&comm->table->peer[0], &root)))
		return -EINVAL;
	/*
	 * Ask the rules again: they may have changed, and the socket may belong to somebody else
	 * now.
	 */
	cfg.comm = comm->req.id;
	memcpy(cfg.key, comm->req.key, sizeof(cfg.key));
	canary_prefixes_set(&cfg, comm->believed, comm->believe);
	err = canary_rules_check(canary_net(comm->net), &cfg);
	if (err)
		goto out;
	if (comm->found)
		canary_comm_give_port(comm);
	if (!comm->ep) {
		err = canary_port_open(comm, own ? &own->addr : &any, own ? own->port : 0,
				       sk->sk_bound_dev_if, canary_receive);
		if (err)
			goto out;
		comm->found = true;
	}
	err = canary_connect_port(comm, sk);
	if (err)
		goto out;
	err = canary_connect_route(comm, &other->addr, other->port, &addr, &mtu);
	if (err)
		goto out;
	if (own) {
		err = -EADDRNOTAVAIL;
		if (!canary_connect_is_own(comm, own))
			goto out;
		addr = own->addr;
	}
	/* Under the lock: /proc shows it. */
	spin_lock_bh(&comm->lock);
	comm->addr = addr;
	comm->root = root.addr;
	comm->root_port = root.port;
	spin_unlock_bh(&comm->lock);
	err = canary_connect_mtu(comm, mtu);
	if (err < 0)
		goto out;
	canary_connect_config(comm, err, &cfg);
	err = cnr_check(&cfg, &what);
	if (err)
		pr_debug("canary: %s out of range\n", what);
	else
		err = canary_comm_start(comm, &cfg);
out:
	if (err && comm->found)
		canary_comm_give_port(comm);
	memzero_explicit(&cfg, sizeof(cfg));
	return err;
}

static enum cnr_state canary_connect_state(struct canary_comm *comm)
{
	enum cnr_state state;

	spin_lock_bh(&comm->lock);
	state = comm->state;
	spin_unlock_bh(&comm->lock);
	return state;
}

/*
 * Wait until the rendezvous has ended, with or without success. It releases lock_sock meanwhile.
 * Return: 0, -EINPROGRESS (timeout), or the error of a signal
 */
static int canary_connect_wait(struct sock *sk, long timeo)
{
	struct canary_comm *comm = canary_sk(sk)->comm;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	add_wait_queue(sk_sleep(sk), &wait);
	while (canary_connect_state(comm) == CNR_JOINING) {
		if (!timeo) {
			err = -EINPROGRESS;
			break;
		}
		if (signal_pending(current)) {
			err = sock_intr_errno(timeo);
			break;
		}
		release_sock(sk);
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
		lock_sock(sk);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return err;
}

/* The rendezvous has ended. Return: 0 if it succeeded, or its error */
static int canary_connect_finish(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct canary_comm *comm = canary_sk(sk)->comm;
	bool connected;

	spin_lock_bh(&comm->lock);
	connected = comm->connected;
	spin_unlock_bh(&comm->lock);
	if (connected) {
		sock->state = SS_CONNECTED;
		return 0;
	}
	sock->state = SS_UNCONNECTED;
	return sock_error(sk) ?: -ECONNABORTED;
}

int canary_connect(struct socket *sock, struct sockaddr *addr, int len, int flags)
{
	struct sock *sk = sock->sk;
	struct canary_comm *comm = canary_sk(sk)->comm;
	long timeo = sock_sndtimeo(sk, flags & O_NONBLOCK);
	int err;

	err = canary_check_addr(addr, len);
	if (err)
		return err;
	lock_sock(sk);
	switch (sock->state) {
	case SS_UNCONNECTED:
		err = canary_connect_start(sk, (const struct sockaddr_canary *)addr);
		if (!err)
			sock->state = SS_CONNECTING;
		break;
	case SS_CONNECTING:
		if (!timeo && canary_connect_state(comm) == CNR_JOINING)
			err = -EALREADY;
		else if (READ_ONCE(comm->connected) && canary_connect_state(comm) == CNR_FAILED)
			err = -EISCONN;
		break;
	default:
		err = -EISCONN;
	}
	if (!err)
		err = canary_connect_wait(sk, timeo);
	/* Another thread may have called canary_connect_finish() meanwhile. */
	if (!err && sock->state == SS_CONNECTING)
		err = canary_connect_finish(sock);
	else if (!err && sock->state != SS_CONNECTED)
		err = -ECONNABORTED;
	release_sock(sk);
	return err;
}
