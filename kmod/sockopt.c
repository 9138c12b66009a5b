// SPDX-License-Identifier: GPL-2.0
/*
 * Options of level SOL_CANARY (canary.h of uapi). Errors are as in other families:
 *
 * EINVAL	the value to set is too short
 * E2BIG	it is longer than this module knows, and not zero there
 * ENOPROTOOPT	the option does not exist, or cannot be set
 * EISCONN	it is too late to set it
 *
 * A value that is read into a buffer that is too short is cut off. The size of the head of
 * CANARY_TABLE is fixed, since entries follow it: only reserved[2] in it can get a meaning.
 */

#include <linux/mm.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "canary.h"

/* Most options can be set until there is a core. Context: lock_sock is held. */
static int canary_sockopt_early(struct canary_comm *comm)
{
	bool late;

	spin_lock_bh(&comm->lock);
	late = comm->core && comm->state != CNR_FAILED && comm->state != CNR_CLOSED;
	late |= comm->connected;
	spin_unlock_bh(&comm->lock);
	return late ? -EISCONN : 0;
}

/* Copy @size bytes of an option. It may be longer if the rest is 0. */
static int canary_set_copy(void *to, size_t size, sockptr_t val, unsigned int len)
{
	int zero;

	if (len < size)
		return -EINVAL;
	if (len > PAGE_SIZE)
		return -E2BIG;
	zero = check_zeroed_sockptr(val, size, len - size);
	if (zero <= 0)
		return zero ?: -E2BIG;
	return copy_from_sockptr(to, val, size) ? -EFAULT : 0;
}

static int canary_set_comm(struct canary_comm *comm, sockptr_t val, unsigned int len)
{
	struct canary_comm_req req;
	struct cnr_config cfg = { };
	const char *what;
	int err;

	err = canary_set_copy(&req, sizeof(req), val, len);
	if (err)
		return err;
	if (memchr_inv(req.reserved, 0, sizeof(req.reserved)))
		return -EINVAL;
	cfg.comm = req.id;
	cfg.rank = req.rank;
	cfg.members = req.members;
	cfg.window = req.window;
	cfg.mtu = req.mtu ?: ETH_DATA_LEN;
	memcpy(cfg.key, req.key, sizeof(cfg.key));
	err = cnr_check(&cfg, &what);
	if (err)
		pr_debug("canary: %s out of range\n", what);
	if (!err)
		err = canary_sockopt_early(comm);
	if (!err)
		err = canary_rules_check(canary_net(comm->net), &cfg);
	if (!err) {
		/* Under the lock: /proc reads it. */
		spin_lock_bh(&comm->lock);
		comm->req = req;
		spin_unlock_bh(&comm->lock);
		comm->configured = true;
		canary_table_set(comm, NULL);
	}
	memzero_explicit(&req, sizeof(req));
	memzero_explicit(&cfg, sizeof(cfg));
	return err;
}

static int canary_set_aggregates(struct canary_comm *comm, sockptr_t val, unsigned int len)
{
	struct canary_prefix list[CANARY_AGGREGATES_MAX];
	u32 n = len / sizeof(*list);
	int err;

	if (len % sizeof(*list))
		return -EINVAL;
	if (n > CANARY_AGGREGATES_MAX)
		return -E2BIG;
	if (copy_from_sockptr(list, val, len))
		return -EFAULT;
	if (!canary_prefixes_ok(list, n))
		return -EINVAL;
	err = canary_sockopt_early(comm);
	if (err)
		return err;
	memcpy(comm->believed, list, len);
	comm->believe = n;
	return 0;
}

/* May a table be set? Context: lock_sock is held. */
static int canary_table_early(struct canary_comm *comm)
{
	int err = canary_sockopt_early(comm);

	return err ?: comm->configured ? 0 : -EINVAL;
}

/*
 * The table is copied and checked without lock_sock, since it may be long. Who may not set one has
 * none of this work done.
 */
static int canary_set_table(struct sock *sk, sockptr_t val, unsigned int len)
{
	struct canary_comm *comm = canary_sk(sk)->comm;
	struct canary_table *t;
	int err;

	lock_sock(sk);
	err = canary_table_early(comm);
	release_sock(sk);
	if (err)
		return err;
	t = canary_table_copy(sock_net(sk), val, len);
	if (IS_ERR(t))
		return PTR_ERR(t);
	lock_sock(sk);
	err = canary_table_early(comm);
	if (!err && comm->req.members != t->of.members)
		err = -EINVAL;
	if (!err)
		canary_table_set(comm, t);
	release_sock(sk);
	if (err)
		canary_table_free(sock_net(sk), t);
	return err;
}

/* Hold the endpoint of the AF_CANARY socket @fd. Return: the endpoint, or an error pointer */
static struct canary_endpoint *canary_endpoint_of(const struct sock *sk, int fd)
{
	struct canary_endpoint *ep = ERR_PTR(-EINVAL);
	struct socket *sock;
	int err;

	sock = sockfd_lookup(fd, &err);
	if (!sock)
		return ERR_PTR(err);
	if (sock->sk->sk_family != canary_family || sock->sk == sk ||
	    !net_eq(sock_net(sock->sk), sock_net(sk)))
		goto out;
	lock_sock(sock->sk);
	if (canary_sk(sock->sk)->comm->ep) {
		ep = canary_sk(sock->sk)->comm->ep;
		err = canary_endpoint_hold(ep);
		if (err)
			ep = ERR_PTR(err);
	}
	release_sock(sock->sk);
out:
	sockfd_put(sock);
	return ep;
}

/* Two sockets are never locked at once: each might be told to share the other one's port. */
static int canary_set_endpoint(struct sock *sk, int fd)
{
	struct canary_comm *comm = canary_sk(sk)->comm;
	struct canary_endpoint *ep = canary_endpoint_of(sk, fd);
	int err;

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	lock_sock(sk);
	err = canary_sockopt_early(comm);
	if (!err && comm->ep)
		err = -EINVAL;
	if (!err)
		err = canary_rules_check_port(comm);
	if (!err)
		err = canary_port_share(comm, ep);
	release_sock(sk);
	if (err)
		canary_port_put(ep, comm);
	return err;
}

static int canary_set_u32(struct canary_sock *cs, int name, u32 value)
{
	int err;

	if (name == CANARY_MAX_VECTOR) {
		if (value < sizeof(u32) || value > CANARY_VECTOR_LIMIT || value % sizeof(u32))
			return -EINVAL;
		WRITE_ONCE(cs->max_vector, value);
		cs->sk.sk_write_space(&cs->sk);
		return 0;
	}
	err = canary_sockopt_early(cs->comm);
	if (err)
		return err;
	if (name == CANARY_LINGER) {
		if (value > CANARY_LINGER_LIMIT)
			return -EINVAL;
		cs->comm->linger = value;
	} else if (name == CANARY_ALGORITHM) {
		if (!cnr_algorithm_is(value))
			return -EINVAL;
		cs->comm->algorithm = value;
	} else {
		if (value < CANARY_DEAD_MIN || value > CANARY_DEAD_LIMIT)
			return -EINVAL;
		cs->comm->dead_after = value;
	}
	return 0;
}

int canary_setsockopt(struct socket *sock, int level, int name, sockptr_t val, unsigned int len)
{
	struct sock *sk = sock->sk;
	u32 value = 0;
	int err;

	if (level != SOL_CANARY)
		return -ENOPROTOOPT;
	switch (name) {
	case CANARY_COMM:
		lock_sock(sk);
		err = canary_set_comm(canary_sk(sk)->comm, val, len);
		release_sock(sk);
		return err;
	case CANARY_AGGREGATES:
		lock_sock(sk);
		err = canary_set_aggregates(canary_sk(sk)->comm, val, len);
		release_sock(sk);
		return err;
	case CANARY_TABLE:
		return canary_set_table(sk, val, len);
	case CANARY_MAX_VECTOR:
	case CANARY_LINGER:
	case CANARY_DEAD_AFTER:
	case CANARY_ALGORITHM:
		err = canary_set_copy(&value, sizeof(value), val, len);
		if (err)
			return err;
		lock_sock(sk);
		err = canary_set_u32(canary_sk(sk), name, value);
		release_sock(sk);
		return err;
	case CANARY_ENDPOINT:
		err = canary_set_copy(&value, sizeof(value), val, len);
		return err ?: canary_set_endpoint(sk, (int)value);
	default:
		return -ENOPROTOOPT;
	}
}

static void canary_get_status(struct canary_comm *comm, struct canary_status *status)
{
	static const u8 states[] = {
		[CNR_NEW]	= CANARY_ST_NEW,
		[CNR_JOINING]	= CANARY_ST_JOINING,
		[CNR_CONNECTED]	= CANARY_ST_CONNECTED,
		[CNR_LINGERING]	= CANARY_ST_CLOSED,
		[CNR_CLOSED]	= CANARY_ST_CLOSED,
		[CNR_FAILED]	= CANARY_ST_FAILED,
	};
	enum canary_abort why = CANARY_ABORT_NONE;
	struct cnr_info info;

	status->wanted = (u8)READ_ONCE(comm->algorithm);
	spin_lock_bh(&comm->lock);
	if (comm->core) {
		cnr_info(comm->core, &info);
		status->state = states[cnr_state(comm->core)];
		status->error = -cnr_failure(comm->core, &why);
		status->reason = why;
		status->elements = info.elements;
		status->window = info.window;
		status->epoch = info.epoch;
		status->missing = cnr_missing(comm->core, NULL, 0);
		status->srtt_us = div_u64(info.srtt, NSEC_PER_USEC);
		status->algorithm = info.algorithm;
		status->number = info.number;
		status->last = info.last;
		status->why = info.why;
	}
	spin_unlock_bh(&comm->lock);
}

/* Copy as many bytes as there is room for, and write their number to *@len. */
static int canary_get_reply(const void *data, size_t size, char __user *val, int __user *len,
			    int room)
{
	int n = min_t(size_t, room, size);

	if (copy_to_user(val, data, n) || put_user(n, len))
		return -EFAULT;
	return 0;
}

static int canary_get_ranks(struct canary_comm *comm, char __user *val, int __user *len, int room)
{
	u32 max = min_t(u32, room / sizeof(u16), CANARY_MEMBERS_MAX);
	u32 n = 0;
	u16 *ranks;
	int err;

	ranks = kvcalloc(max ?: 1, sizeof(*ranks), GFP_KERNEL_ACCOUNT);
	if (!ranks)
		return -ENOBUFS;
	spin_lock_bh(&comm->lock);
	if (comm->core)
		n = cnr_missing(comm->core, ranks, max);
	spin_unlock_bh(&comm->lock);
	err = canary_get_reply(ranks, n * sizeof(*ranks), val, len, room);
	kvfree(ranks);
	return err;
}

static int canary_get_troubles(struct canary_comm *comm, char __user *val, int __user *len,
			       int room)
{
	struct cnr_trouble list[CNR_TROUBLES] = { };
	u32 n = 0;

	BUILD_BUG_ON(sizeof(struct cnr_trouble) != sizeof(struct canary_trouble) ||
		     offsetof(struct cnr_trouble, count) !=
		     offsetof(struct canary_trouble, count));
	BUILD_BUG_ON((int)CNR_TROUBLE_TABLE != (int)CANARY_TROUBLE_TABLE);
	spin_lock_bh(&comm->lock);
	if (comm->core)
		n = cnr_troubles(comm->core, list, CNR_TROUBLES);
	spin_unlock_bh(&comm->lock);
	return canary_get_reply(list, n * sizeof(*list), val, len, room);
}

static int canary_get_stats(struct canary_comm *comm, char __user *val, int __user *len, int room)
{
	u64 *values;
	int err;

	values = kcalloc(CANARY_STATS_COUNT, sizeof(*values), GFP_KERNEL);
	if (!values)
		return -ENOBUFS;
	canary_stats_read(comm, values);
	err = canary_get_reply(values, CANARY_STATS_COUNT * sizeof(*values), val, len, room);
	kfree(values);
	return err;
}

/* The key is not returned: a process that is passed the socket need not learn it. */
static int canary_get_comm(struct sock *sk, char __user *val, int __user *len, int room)
{
	struct canary_comm_req req;

	lock_sock(sk);
	req = canary_sk(sk)->comm->req;
	release_sock(sk);
	memzero_explicit(req.key, sizeof(req.key));
	return canary_get_reply(&req, sizeof(req), val, len, room);
}

static int canary_get_aggregates(struct sock *sk, char __user *val, int __user *len, int room)
{
	struct canary_prefix list[CANARY_AGGREGATES_MAX];
	struct canary_comm *comm = canary_sk(sk)->comm;
	u32 n;

	lock_sock(sk);
	n = comm->believe;
	memcpy(list, comm->believed, sizeof(list));
	release_sock(sk);
	return canary_get_reply(list, n * sizeof(*list), val, len, room);
}

/* Return: how many sockets and lingering engines share the port of @comm */
static u32 canary_get_sharing(struct canary_comm *comm)
{
	u32 n = 0;

	spin_lock_bh(&comm->lock);
	if (comm->ep)
		n = READ_ONCE(comm->ep->engines);
	spin_unlock_bh(&comm->lock);
	return n;
}

int canary_getsockopt(struct socket *sock, int level, int name, char __user *val, int __user *len)
{
	struct canary_sock *cs = canary_sk(sock->sk);
	struct canary_status status = { };
	u32 value;
	int room;

	if (level != SOL_CANARY)
		return -ENOPROTOOPT;
	if (get_user(room, len))
		return -EFAULT;
	if (room < 0)
		return -EINVAL;
	switch (name) {
	case CANARY_COMM:
		return canary_get_comm(&cs->sk, val, len, room);
	case CANARY_STATUS:
		canary_get_status(cs->comm, &status);
		return canary_get_reply(&status, sizeof(status), val, len, room);
	case CANARY_RANKS:
		return canary_get_ranks(cs->comm, val, len, room);
	case CANARY_STATS:
		return canary_get_stats(cs->comm, val, len, room);
	case CANARY_AGGREGATES:
		return canary_get_aggregates(&cs->sk, val, len, room);
	case CANARY_TROUBLES:
		return canary_get_troubles(cs->comm, val, len, room);
	case CANARY_MAX_VECTOR:
		value = READ_ONCE(cs->max_vector);
		break;
	case CANARY_LINGER:
		value = READ_ONCE(cs->comm->linger);
		break;
	case CANARY_DEAD_AFTER:
		value = READ_ONCE(cs->comm->dead_after);
		break;
	case CANARY_ALGORITHM:
		value = READ_ONCE(cs->comm->algorithm);
		break;
	case CANARY_ENDPOINT:
		value = canary_get_sharing(cs->comm);
		break;
	default:
		return -ENOPROTOOPT;
	}
	return canary_get_reply(&value, sizeof(value), val, len, room);
}
