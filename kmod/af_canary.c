// SPDX-License-Identifier: GPL-2.0
/*
 * The socket family: socket(), bind(), shutdown(), close(), poll() and what else is asked of a
 * socket. connect() is in connect.c, options are in sockopt.c, sendmsg() and recvmsg() in
 * operation.c.
 *
 * What canary(7) promises
 * -----------------------
 * socket()	type SOCK_SEQPACKET (else ESOCKTNOSUPPORT), protocol 0 (else EPROTONOSUPPORT).
 *		Needs no privilege.
 * bind()	EINVAL: bound already, address shorter than struct sockaddr_canary, scan_zero not
 *		zero, port neither 0 nor in the range 22600 .. 22663. EAFNOSUPPORT: not
 *		AF_CANARY. EADDRNOTAVAIL: not a local address. EADDRINUSE: port taken, or no port
 *		free. INADDR_ANY is allowed: connect() chooses the address. CANARY_ENDPOINT takes
 *		its place where a port is shared (endpoint.c).
 *		EACCES, EPERM: rules.c, also of CANARY_COMM and connect().
 * connect()	Address of rank 0. Binds if bind() was not called. EINVAL: as bind(), no
 *		CANARY_COMM, address 0.0.0.0; EADDRNOTAVAIL: rank 0, and it is not the own
 *		address and port; ENETUNREACH and others: of the route; ENOBUFS: no memory;
 *		EUSERS: members_max reached (budget.c); EADDRINUSE: as bind(), or a socket that
 *		shares its port joins the same communicator. After CANARY_TABLE it is connected at
 *		once (table.c). EINVAL: that has another rank 0; EADDRNOTAVAIL: or has us elsewhere;
 *		EMSGSIZE: the path does not take its packets; EADDRINUSE: our port has its session.
 *		Waits for all ranks. Nonblocking: EINPROGRESS, then EALREADY; poll() says
 *		writable when it has come to an end, SO_ERROR how. SO_SNDTIMEO over: EINPROGRESS;
 *		a signal: EINTR or restart. In these cases the rendezvous goes on and connect()
 *		may be called again to go on waiting; CANARY_RANKS tells who is missing.
 *		EISCONN: connected, also if it has failed since.
 *		If the rendezvous itself fails (EHOSTDOWN, ECONNRESET, ...) connect() may be
 *		called again and begins anew, with another port if bind() chose none.
 * sendmsg()	Posts one operation, all or nothing. EINVAL: length no multiple of 4, control
 *		message malformed or given twice, flags or root not 0. EOPNOTSUPP: operator or
 *		type unknown, MSG_ flag that makes no sense. EMSGSIZE: longer than
 *		CANARY_MAX_VECTOR, or larger than SO_SNDBUF. EISCONN: address given (EOPNOTSUPP:
 *		and not connected). ENOTCONN. EFAULT. EAGAIN: no room in SO_SNDBUF or 64 operations
 *		under way, with MSG_DONTWAIT, O_NONBLOCK or after SO_SNDTIMEO. ENOBUFS: memory_max
 *		or mem_max reached (budget.c) or no memory. After a failure: the error that ended
 *		the communicator if SO_ERROR has not been read yet, then EPIPE with SIGPIPE unless
 *		MSG_NOSIGNAL; EPIPE after shutdown(SHUT_WR) too. Length 0 is a barrier.
 *		CANARY_DESTINATION: nothing is copied. EINVAL: not aligned, overlapping, in several
 *		pieces; EFAULT: destination not writable; ENOBUFS: beyond RLIMIT_MEMLOCK.
 * recvmsg()	Takes the oldest operation that has completed; waits if there is none. A shorter
 *		buffer gets the beginning and MSG_TRUNC, the rest is lost; the flag MSG_TRUNC
 *		returns the real length; MSG_PEEK leaves it. If the operation ended with an
 *		error, that is returned, and the next recvmsg() is about the next operation.
 *		ENOTCONN; EAGAIN; EFAULT, and the operation is still there; EOPNOTSUPP: MSG_ flag
 *		that makes no sense. After a failure, and all operations taken: the error that ended
 *		the communicator, each time. 0: after shutdown(SHUT_RD), or SHUT_WR and all
 *		operations taken.
 * shutdown()	SHUT_WR: nothing more is posted, what was posted goes on. SHUT_RD: recvmsg()
 *		does not wait any more. ENOTCONN, EINVAL. Other members are not told: leaving is
 *		close().
 * close()	Operations that have not completed fail at the other members with ECONNRESET.
 *		The engine stays for CANARY_LINGER ms at most, to serve results to others, and
 *		keeps the module in use meanwhile.
 * poll()	POLLIN: recvmsg() does not wait. POLLOUT: sendmsg() of CANARY_MAX_VECTOR bytes does
 *		not wait. POLLERR and POLLHUP: failed. POLLOUT and POLLHUP: not connected.
 * ioctl()	SIOCOUTQ: bytes that vectors take. SIOCINQ: length of the next operation's result.
 * accept(), listen(), socketpair(): EOPNOTSUPP.
 *
 * Errors that end a communicator: EHOSTDOWN (ranks answer nothing), ECONNRESET (ranks left),
 * EPROTO (ranks run another operation). CANARY_STATUS and CANARY_RANKS tell more.
 */

#include <linux/net.h>
#include <linux/poll.h>
#include <linux/sockios.h>
#include <net/sock.h>
#include <asm/ioctls.h>
#include "canary.h"

struct proto canary_proto = {
	.name		= "CANARY",
	.owner		= THIS_MODULE,
	.obj_size	= sizeof(struct canary_sock),
};

static int canary_release(struct socket *sock)
{
	struct sock *sk = sock->sk;

	if (!sk)
		return 0;
	lock_sock(sk);
	sk->sk_shutdown = SHUTDOWN_MASK;
	sock_orphan(sk);
	sock->sk = NULL;
	canary_comm_close(canary_sk(sk)->comm);
	release_sock(sk);
	sock_prot_inuse_add(sock_net(sk), sk->sk_prot, -1);
	sock_put(sk);
	return 0;
}

static int canary_bind(struct socket *sock, struct sockaddr *addr, int len)
{
	const struct sockaddr_canary *a = (const struct sockaddr_canary *)addr;
	struct sock *sk = sock->sk;
	struct canary_comm *comm = canary_sk(sk)->comm;
	int err;

	err = canary_check_addr(addr, len);
	if (err)
		return err;
	lock_sock(sk);
	if (comm->ep)
		err = -EINVAL;
	else
		err = canary_rules_check_port(comm);
	if (!err)
		err = canary_port_open(comm, &a->scan_addr, a->scan_port, sk->sk_bound_dev_if,
				       canary_receive);
	release_sock(sk);
	return err;
}

static int canary_getname(struct socket *sock, struct sockaddr *addr, int peer)
{
	struct sockaddr_canary *a = (struct sockaddr_canary *)addr;
	struct sock *sk = sock->sk;
	struct canary_comm *comm = canary_sk(sk)->comm;
	int err = 0;

	memset(a, 0, sizeof(*a));
	a->scan_family = canary_family;
	lock_sock(sk);
	spin_lock_bh(&comm->lock);
	if (peer && !comm->connected) {
		err = -ENOTCONN;
	} else {
		a->scan_addr = peer ? comm->root : comm->addr;
		a->scan_port = peer ? comm->root_port : comm->port;
	}
	spin_unlock_bh(&comm->lock);
	release_sock(sk);
	return err ? err : sizeof(*a);
}

static int canary_shutdown(struct socket *sock, int how)
{
	struct sock *sk = sock->sk;
	struct canary_comm *comm = canary_sk(sk)->comm;
	int err = 0;

	if (how < SHUT_RD || how > SHUT_RDWR)
		return -EINVAL;
	lock_sock(sk);
	spin_lock_bh(&comm->lock);
	if (!comm->connected)
		err = -ENOTCONN;
	else
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | (how + 1));
	spin_unlock_bh(&comm->lock);
	if (!err)
		sk->sk_state_change(sk);
	release_sock(sk);
	return err;
}

/* Is there room for the longest vector that may be sent? Context: canary_comm.lock is held. */
static bool canary_poll_out(struct canary_sock *cs)
{
	size_t charge = canary_vector_charge(READ_ONCE(cs->max_vector));
	struct canary_comm *comm = cs->comm;

	charge = min_t(size_t, charge, READ_ONCE(cs->sk.sk_sndbuf));
	return cnr_can_post(comm->core) && canary_vector_fits(comm, charge);
}

/* Context: canary_comm.lock is held. */
static __poll_t canary_poll_mask(struct canary_sock *cs)
{
	struct canary_comm *comm = cs->comm;
	u8 down = READ_ONCE(cs->sk.sk_shutdown);
	__poll_t mask = 0;

	if (!comm->core || comm->state == CNR_CLOSED)
		return EPOLLOUT | EPOLLWRNORM | EPOLLHUP;
	if (comm->state == CNR_FAILED)
		return EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLOUT | EPOLLWRNORM | EPOLLERR |
		       EPOLLHUP;
	if (comm->state != CNR_CONNECTED)
		return 0;
	if (!list_empty(&comm->done))
		mask |= EPOLLIN | EPOLLRDNORM;
	if ((down & RCV_SHUTDOWN) || ((down & SEND_SHUTDOWN) && !comm->pending))
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if ((down & SEND_SHUTDOWN) || canary_poll_out(cs))
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (down == SHUTDOWN_MASK)
		mask |= EPOLLHUP;
	return mask;
}

static __poll_t canary_poll(struct file *file, struct socket *sock, poll_table *wait)
{
	struct canary_sock *cs = canary_sk(sock->sk);
	__poll_t mask;

	sock_poll_wait(file, sock, wait);
	spin_lock_bh(&cs->comm->lock);
	mask = canary_poll_mask(cs);
	spin_unlock_bh(&cs->comm->lock);
	if (READ_ONCE(cs->sk.sk_err))
		mask |= EPOLLERR;
	return mask;
}

static int canary_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct canary_comm *comm = canary_sk(sock->sk)->comm;
	struct canary_vector *v;
	int value = 0;

	spin_lock_bh(&comm->lock);
	switch (cmd) {
	case SIOCOUTQ:
		value = min_t(size_t, comm->charged, INT_MAX);
		break;
	case SIOCINQ:
		v = list_first_entry_or_null(&comm->done, struct canary_vector, done);
		value = v ? v->bytes : 0;
		break;
	default:
		value = -ENOIOCTLCMD;
	}
	spin_unlock_bh(&comm->lock);
	if (value == -ENOIOCTLCMD)
		return value;
	return put_user(value, (int __user *)arg);
}

#ifdef CANARY_SENDPAGE
/*
 * A page of a pipe is no vector. Later kernels ask sendmsg() for splice(2), with a flag that it
 * refuses.
 */
static ssize_t canary_sendpage(struct socket *sock, struct page *page, int offset, size_t size,
			       int flags)
{
	return -EOPNOTSUPP;
}
#endif

static const struct proto_ops canary_ops = {
	.owner		= THIS_MODULE,
	.release	= canary_release,
	.bind		= canary_bind,
	.connect	= canary_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= sock_no_accept,
	.getname	= canary_getname,
	.poll		= canary_poll,
	.ioctl		= canary_ioctl,
	.gettstamp	= sock_gettstamp,
	.listen		= sock_no_listen,
	.shutdown	= canary_shutdown,
	.setsockopt	= canary_setsockopt,
	.getsockopt	= canary_getsockopt,
	.sendmsg	= canary_sendmsg,
	.recvmsg	= canary_recvmsg,
	.mmap		= sock_no_mmap,
#ifdef CANARY_SENDPAGE
	.sendpage	= canary_sendpage,
#endif
};

static int canary_create(struct net *net, struct socket *sock, int protocol, int kern)
{
	struct canary_sock *cs;
	struct sock *sk;

	if (sock->type != SOCK_SEQPACKET)
		return -ESOCKTNOSUPPORT;
	if (protocol)
		return -EPROTONOSUPPORT;
	/* A socket of the kernel would not hold its namespace, which ends engines when it goes. */
	if (kern)
		return -EOPNOTSUPP;
	sk = sk_alloc(net, canary_family, GFP_KERNEL, &canary_proto, kern);
	if (!sk)
		return -ENOMEM;
	sock_init_data(sock, sk);
	cs = canary_sk(sk);
	cs->max_vector = CANARY_VECTOR_DEFAULT;
	sk->sk_sndbuf = READ_ONCE(canary_net(net)->wmem_default);
	cs->comm = canary_comm_alloc(sk);
	if (!cs->comm) {
		sock_orphan(sk);
		sock->sk = NULL;
		sk_free(sk);
		return -ENOMEM;
	}
	sock->state = SS_UNCONNECTED;
	sock->ops = &canary_ops;
	sock_prot_inuse_add(net, &canary_proto, 1);
	return 0;
}

static struct net_proto_family canary_family_ops = {
	.create	= canary_create,
	.owner	= THIS_MODULE,
};

int canary_family_register(void)
{
	int err = -EINVAL;

	canary_family_ops.family = canary_family;
	/* sock_register() checks only the upper bound. */
	if (canary_family > AF_UNSPEC && canary_family < NPROTO)
		err = sock_register(&canary_family_ops);
	if (err)
		pr_err("canary: socket family %d is taken or out of range (parameter \"family\")\n",
		       canary_family);
	return err;
}

void canary_family_unregister(void)
{
	sock_unregister(canary_family);
}
