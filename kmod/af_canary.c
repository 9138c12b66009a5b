// SPDX-License-Identifier: GPL-2.0
/*
 * The socket family: socket(), bind(), shutdown(), close(), poll() and the rest of what a socket
 * can do. connect() is in connect.c, options are in sockopt.c, sendmsg() and recvmsg() in
 * operation.c.
 *
 * What canary(7) promises
 * -----------------------
 * socket()	Needs no privilege. ESOCKTNOSUPPORT: type is not SOCK_SEQPACKET. EPROTONOSUPPORT:
 *		protocol is not 0.
 * bind()	INADDR_ANY is allowed: connect() then chooses the address. To share a port, set
 *		CANARY_ENDPOINT instead (endpoint.c). EINVAL: bound already, address shorter than
 *		struct sockaddr_canary, scan_zero or scan_scope not 0, port neither 0 nor in the
 *		range 22600 .. 22663. EAFNOSUPPORT: not AF_CANARY, or not IPv4. EADDRNOTAVAIL: not
 *		a local address. EADDRINUSE: port taken, or no port free. EACCES, EPERM: rules.c;
 *		CANARY_COMM and connect() return them, too.
 * connect()	Takes the address of rank 0, and waits for all ranks. It binds if bind() was not
 *		called. EINVAL: as bind(), no CANARY_COMM, address 0.0.0.0. EADDRNOTAVAIL: this is
 *		rank 0, and the address and port are not its own. ENETUNREACH and others: errors of
 *		the route. ENOBUFS: no memory. EUSERS: members_max is reached (budget.c).
 *		EADDRINUSE: as bind(), or a socket that shares the port joins the same communicator.
 *		EISCONN: it was connected before, even if it has failed since.
 *		After CANARY_TABLE it connects at once (table.c). EINVAL: the table has another
 *		rank 0. EADDRNOTAVAIL: the table has another address for this member. EMSGSIZE: the
 *		path does not take the agreed packets. EADDRINUSE: the port has that session.
 *		Nonblocking: EINPROGRESS, then EALREADY. When it has ended, poll() says writable,
 *		and SO_ERROR has the error. EINPROGRESS: SO_SNDTIMEO is over. EINTR or restart: a
 *		signal. In these cases the rendezvous goes on, and connect() may be called again to
 *		wait. CANARY_RANKS has the ranks that are missing.
 *		If the rendezvous fails (EHOSTDOWN, ECONNRESET, ...), connect() may be called again.
 *		It begins anew, with another port if bind() chose none.
 * sendmsg()	Posts one operation, all or nothing. Length 0 is a barrier. EINVAL: length is no
 *		multiple of 4, a control message is malformed or given twice, flags or root not 0.
 *		EOPNOTSUPP: unknown operator or type, or an MSG_ flag that makes no sense.
 *		EMSGSIZE: longer than CANARY_MAX_VECTOR, larger than SO_SNDBUF, or more blocks than
 *		there are serial numbers. EISCONN: an address is given (if not connected,
 *		EOPNOTSUPP). ENOTCONN. EFAULT. EAGAIN: no room in SO_SNDBUF, or 64 operations under
 *		way, with MSG_DONTWAIT, O_NONBLOCK or after SO_SNDTIMEO. ENOBUFS: memory_max or
 *		mem_max is reached (budget.c), or no memory.
 *		After a failure: first the error that ended the communicator, unless SO_ERROR was
 *		read; then EPIPE, with SIGPIPE unless MSG_NOSIGNAL. EPIPE: after shutdown(SHUT_WR).
 *		CANARY_DESTINATION: nothing is copied. EINVAL: not aligned, overlapping, or in
 *		several pieces. EFAULT: destination not writable. ENOBUFS: beyond RLIMIT_MEMLOCK.
 * recvmsg()	Takes the oldest operation that has completed, and waits if there is none. A buffer
 *		that is too short gets the beginning, and MSG_TRUNC is set; the rest is lost. With
 *		the flag MSG_TRUNC it returns the real length. MSG_PEEK leaves the operation. If the
 *		operation ended with an error, recvmsg() returns that, and next time takes the next
 *		operation. ENOTCONN. EAGAIN. EFAULT: the operation is still there. EOPNOTSUPP: an
 *		MSG_ flag that makes no sense. After a failure, when all operations were taken: each
 *		time the error that ended the communicator. It returns 0 after shutdown(SHUT_RD),
 *		and after SHUT_WR when all operations were taken.
 * shutdown()	SHUT_WR: nothing more can be posted; posted ones go on. SHUT_RD: recvmsg() does
 *		not wait any more. ENOTCONN, EINVAL. Other members are not told: close() does that.
 * close()	Operations that have not completed fail at the other members with ECONNRESET. The
 *		engine stays for at most CANARY_LINGER ms, to serve results to others. It keeps the
 *		module in use meanwhile.
 * poll()	POLLIN: recvmsg() does not wait. POLLOUT: sendmsg() of CANARY_MAX_VECTOR bytes does
 *		not wait. POLLERR and POLLHUP: failed. POLLOUT and POLLHUP: not connected.
 * ioctl()	SIOCOUTQ: bytes that vectors take. SIOCINQ: length of the next operation's result.
 * accept(), listen(), socketpair(): EOPNOTSUPP.
 *
 * Errors that end a communicator: EHOSTDOWN (ranks answer nothing), ECONNRESET (ranks left),
 * EMSGSIZE (large packets of ranks do not arrive), EPROTO (ranks run another operation, or rank 0
 * refuses this member), ESTALE (ranks were started again). CANARY_STATUS and CANARY_RANKS tell
 * more.
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

/*
 * Is there room for the longest vector that may be sent? What an encoding keeps besides only counts
 * if there was no room for it. Context: canary_comm.lock is held.
 */
static bool canary_poll_out(struct canary_sock *cs)
{
	size_t charge = canary_vector_charge(READ_ONCE(cs->max_vector), 0);
	struct canary_comm *comm = cs->comm;

	charge = max(charge, comm->wanted);
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
