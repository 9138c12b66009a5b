// SPDX-License-Identifier: GPL-2.0
/* Operations: sendmsg() posts one, recvmsg() takes the oldest one that has completed. */

#include <linux/sched/signal.h>
#include <linux/uio.h>
#include "canary.h"

#define CANARY_SEND_FLAGS	(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR | MSG_CMSG_COMPAT)
#define CANARY_RECV_FLAGS	(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_PEEK | MSG_TRUNC | \
				 MSG_WAITALL | MSG_CMSG_COMPAT | MSG_CMSG_CLOEXEC)

/* A task in the wait queue of a socket. It enters the queue when it first has to wait. */
struct canary_wait {
	wait_queue_entry_t	entry;
	bool			queued;
	long			timeo;
};

static void canary_wait_init(struct canary_wait *w, long timeo)
{
	init_wait(&w->entry);
	w->entry.func = woken_wake_function;
	w->queued = false;
	w->timeo = timeo;
}

/*
 * Wait for the next event. The first call returns at once. The caller then has to look again, since
 * an event before that call may have been missed. Return: 0, -EAGAIN, or the error of a signal
 */
static int canary_wait_event(struct canary_wait *w, struct sock *sk)
{
	if (!w->timeo)
		return -EAGAIN;
	if (!w->queued) {
		add_wait_queue(sk_sleep(sk), &w->entry);
		w->queued = true;
		return 0;
	}
	if (signal_pending(current))
		return sock_intr_errno(w->timeo);
	w->timeo = wait_woken(&w->entry, TASK_INTERRUPTIBLE, w->timeo);
	return 0;
}

static void canary_wait_end(struct canary_wait *w, struct sock *sk)
{
	if (w->queued)
		remove_wait_queue(sk_sleep(sk), &w->entry);
}

/**
 * struct canary_post - what sendmsg() was asked to do
 * @op:		what to reduce and how
 * @element:	bytes of an element
 * @len:	bytes of the message
 * @pinned:	it is done in the caller's memory, without copies
 * @to:		if @pinned: where the results go
 * @blocks:	if @pinned: how many blocks it may have
 * @memory:	bytes that the core needs besides
 * @charge:	bytes that are charged for all of it
 */
struct canary_post {
	struct canary_operation		op;
	u32				element;
	size_t				len;
	bool				pinned;
	struct canary_destination	to;
	u32				blocks;
	size_t				memory;
	size_t				charge;
};

/* Copy the data of a control message. Return: 0; -EINVAL: wrong length, or a second such message */
static int canary_send_control(const struct cmsghdr *cmsg, void *data, size_t size, bool *found)
{
	if (*found || cmsg->cmsg_len != CMSG_LEN(size))
		return -EINVAL;
	memcpy(data, CMSG_DATA(cmsg), size);
	*found = true;
	return 0;
}

/* Read the control messages. Without any, the operation is the sum of int32. */
static int canary_send_operation(struct msghdr *msg, struct canary_post *p)
{
	struct canary_operation *op = &p->op;
	struct cmsghdr *cmsg;
	bool found = false;
	int err;

	op->op = CANARY_OP_SUM;
	op->dtype = CANARY_INT32;
	for_each_cmsghdr(cmsg, msg) {
		if (!CMSG_OK(msg, cmsg))
			return -EINVAL;
		if (cmsg->cmsg_level != SOL_CANARY)
			continue;
		if (cmsg->cmsg_type == CANARY_OPERATION)
			err = canary_send_control(cmsg, op, sizeof(*op), &found);
		else if (cmsg->cmsg_type == CANARY_DESTINATION)
			err = canary_send_control(cmsg, &p->to, sizeof(p->to), &p->pinned);
		else
			err = -EINVAL;
		if (err)
			return err;
	}
	p->element = cnr_element(op->op, op->dtype);
	if (!p->element)
		return -EOPNOTSUPP;
	if (op->flags & ~cnr_how(op->op, op->dtype) || op->root)
		return -EINVAL;
	return 0;
}

/* Make the checks that need no waiting. */
static int canary_send_check(struct canary_sock *cs, struct msghdr *msg, struct canary_post *p)
{
	int err;

	if (msg->msg_flags & ~CANARY_SEND_FLAGS)
		return -EOPNOTSUPP;
	if (msg->msg_namelen)
		return READ_ONCE(cs->comm->connected) ? -EISCONN : -EOPNOTSUPP;
	err = canary_send_operation(msg, p);
	if (err)
		return err;
	if (p->len % p->element)
		return -EINVAL;
	if (p->len > READ_ONCE(cs->max_vector))
		return -EMSGSIZE;
	/* A barrier has no data. */
	p->pinned = p->pinned && p->len;
	return 0;
}

/* May the socket send at all? Return: 0 or an error. Context: canary_comm.lock is held. */
static int canary_send_state(struct canary_comm *comm)
{
	if (!comm->connected)
		return -ENOTCONN;
	if (comm->state != CNR_CONNECTED || READ_ONCE(comm->sk->sk_shutdown) & SEND_SHUTDOWN)
		return -EPIPE;
	return 0;
}

/* Fill in what the core is to do with a vector, except where the vector is. */
static void canary_send_op(const struct canary_post *p, struct cnr_op *op)
{
	memset(op, 0, sizeof(*op));
	op->elements = p->len / p->element;
	op->op = p->op.op;
	op->dtype = p->op.dtype;
	op->how = p->op.flags;
	op->root = p->op.root;
}

/*
 * Reserve room for a vector, and for what the core keeps with it. Only a connected core can tell
 * how much that is. Context: canary_comm.lock is held.
 */
static int canary_send_take(struct canary_comm *comm, struct canary_post *p)
{
	struct cnr_op op;

	canary_send_op(p, &op);
	if (!cnr_op_fits(comm->core, &op))
		return -EMSGSIZE;
	p->memory = cnr_memory(comm->core, &op);
	if (p->pinned) {
		p->blocks = cnr_op_blocks(comm->core, &op);
		p->charge = canary_pin_charge(p->len, p->blocks) + canary_memory_charge(p->memory);
	} else {
		p->charge = canary_vector_charge(p->len, p->memory);
	}
	return canary_vector_reserve(comm, p->charge);
}

/* Reserve room for a vector, and wait for it. Return: 0 or an error */
static int canary_send_reserve(struct canary_sock *cs, struct canary_post *p,
			       struct canary_wait *wait)
{
	struct canary_comm *comm = cs->comm;
	int err;

	for (;;) {
		spin_lock_bh(&comm->lock);
		err = canary_send_state(comm);
		if (!err)
			err = cnr_can_post(comm->core) ? canary_send_take(comm, p) : -EAGAIN;
		spin_unlock_bh(&comm->lock);
		if (err != -EAGAIN)
			return err;
		err = canary_wait_event(wait, &cs->sk);
		if (err)
			return err;
	}
}

/*
 * Hand a vector to the core. Others may have posted since room was reserved, so it may have to wait
 * again. Return: 0, then the vector belongs to the engine; or an error
 */
static int canary_send_post(struct canary_sock *cs, struct canary_vector *v,
			    const struct canary_post *p, struct canary_wait *wait)
{
	struct canary_comm *comm = cs->comm;
	struct cnr_op post;
	int err;

	canary_send_op(p, &post);
	post.data = v->data;
	post.source = v->source;
	post.hashes = v->hashes;
	post.memory = v->memory;
	post.cookie = (uintptr_t)v;
	v->tag = p->op.tag;
	/* One reference is the core's, the other one the application's. */
	refcount_set(&v->refs, 2);
	for (;;) {
		spin_lock_bh(&comm->lock);
		err = canary_send_state(comm);
		if (!err)
			err = cnr_post(comm->core, ktime_get_ns(), &post);
		if (!err) {
			list_add_tail(&v->all, &comm->vectors);
			comm->pending++;
			canary_comm_drive(comm);
			return 0;
		}
		/* An error may mean that the communicator has failed. Others wait to hear that. */
		canary_comm_drive(comm);
		if (err != -EAGAIN)
			return err;
		err = canary_wait_event(wait, &cs->sk);
		if (err)
			return err;
	}
}

/* Make a vector with a copy of the message. Return: the vector, or an error pointer */
static struct canary_vector *canary_send_copy(struct canary_comm *comm, struct msghdr *msg,
					      const struct canary_post *p)
{
	struct canary_vector *v = canary_vector_alloc(comm, p->len, p->memory, p->charge);

	if (!v)
		return ERR_PTR(-ENOBUFS);
	if (copy_from_iter_full(v->data, p->len, &msg->msg_iter))
		return v;
	canary_vector_free(v);
	return ERR_PTR(-EFAULT);
}

/* Make a vector of the message in the caller's memory. Return: the vector, or an error pointer */
static struct canary_vector *canary_send_pin(struct canary_comm *comm, struct msghdr *msg,
					     const struct canary_post *p)
{
	struct canary_vector *v;

	v = canary_vector_pin(&msg->msg_iter, p->to.addr, p->len, p->blocks, p->charge);
	/* A single member has its result at once. Copy it here, not under the lock. */
	if (!IS_ERR(v) && comm->req.members == 1 && v->source) {
		memcpy(v->data, v->source, p->len);
		v->source = NULL;
	}
	return v;
}

/* Room is reserved. Copy or pin the data, and post the vector. If that fails, undo all of it. */
static int canary_send_vector(struct canary_sock *cs, struct msghdr *msg,
			      const struct canary_post *p, struct canary_wait *wait)
{
	struct canary_vector *v;
	int err;

	v = p->pinned ? canary_send_pin(cs->comm, msg, p) : canary_send_copy(cs->comm, msg, p);
	err = PTR_ERR_OR_ZERO(v);
	if (!err) {
		err = canary_vector_keep(v, p->memory);
		if (!err)
			err = canary_send_post(cs, v, p, wait);
		if (err)
			canary_vector_free(v);
	}
	if (err)
		canary_vector_unreserve(cs->comm, p->charge);
	return err;
}

int canary_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct sock *sk = sock->sk;
	struct canary_sock *cs = canary_sk(sk);
	struct canary_post post = { .len = len };
	struct canary_wait wait;
	int err;

	err = canary_send_check(cs, msg, &post);
	if (err)
		return err;
	canary_wait_init(&wait, sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT));
	err = canary_send_reserve(cs, &post, &wait);
	if (!err)
		err = canary_send_vector(cs, msg, &post, &wait);
	canary_wait_end(&wait, sk);
	if (err == -EPIPE)
		err = sk_stream_error(sk, msg->msg_flags, err);
	return err ? err : len;
}

/*
 * Take the oldest operation that has completed, with a reference. It leaves the queue, unless
 * @peek. Return: NULL and *@err: -EAGAIN (none yet), 0 (none will come), or why none will come
 */
static struct canary_vector *canary_recv_take(struct canary_comm *comm, bool peek, int *err)
{
	u8 down = READ_ONCE(comm->sk->sk_shutdown);
	struct canary_vector *v;
	enum canary_abort why;

	spin_lock_bh(&comm->lock);
	v = list_first_entry_or_null(&comm->done, struct canary_vector, done);
	if (v && peek)
		refcount_inc(&v->refs);
	else if (v)
		list_del_init(&v->done);
	else if (!comm->connected)
		*err = -ENOTCONN;
	else if (comm->state == CNR_FAILED)
		*err = cnr_failure(comm->core, &why);
	else if ((down & RCV_SHUTDOWN) || ((down & SEND_SHUTDOWN) && !comm->pending))
		*err = 0;
	else
		*err = -EAGAIN;
	spin_unlock_bh(&comm->lock);
	return v;
}

static struct canary_vector *canary_recv_wait(struct sock *sk, int flags, int *err)
{
	struct canary_comm *comm = canary_sk(sk)->comm;
	struct canary_vector *v;
	struct canary_wait wait;

	canary_wait_init(&wait, sock_rcvtimeo(sk, flags & MSG_DONTWAIT));
	for (;;) {
		v = canary_recv_take(comm, flags & MSG_PEEK, err);
		if (v || *err != -EAGAIN)
			break;
		*err = canary_wait_event(&wait, sk);
		if (*err)
			break;
	}
	canary_wait_end(&wait, sk);
	return v;
}

/*
 * Copy a result to the caller.
 *
 * Return: how many bytes were put into the caller's buffer, and never more, as splice() and
 * io_uring go on with that number; or an error. The result of a pinned vector is already in its
 * place. Its length is in the completion, and MSG_TRUNC returns it.
 */
static int canary_recv_copy(struct msghdr *msg, size_t len, int flags,
			    const struct canary_vector *v)
{
	struct canary_completion c = {
		.tag		= v->tag,
		.bytes		= v->bytes,
		.error		= -v->error,
		.attempts	= v->attempts,
		.seq		= v->seq,
		.method		= v->method,
	};
	size_t size = sizeof(c);
	size_t copied = v->pinned ? 0 : min_t(size_t, len, v->bytes);

	if (v->error)
		return v->error;
	if (copied && copy_to_iter(v->data, copied, &msg->msg_iter) != copied)
		return -EFAULT;
	if (!v->pinned && copied < v->bytes)
		msg->msg_flags |= MSG_TRUNC;
	/* Programs that were built for the first members of the struct have room for those. */
	if (msg->msg_controllen < CMSG_LEN(size))
		size = CANARY_COMPLETION_LEAST;
	/* A caller that gave no room did not ask, and MSG_CTRUNC would puzzle it. */
	if (msg->msg_controllen &&
	    put_cmsg(msg, SOL_CANARY, CANARY_COMPLETION, size, &c) == -EFAULT)
		return -EFAULT;
	return flags & MSG_TRUNC ? v->bytes : copied;
}

/*
 * The result could not be copied. Make it the oldest one again, with the application's reference.
 */
static void canary_recv_undo(struct canary_comm *comm, struct canary_vector *v)
{
	spin_lock_bh(&comm->lock);
	list_add(&v->done, &comm->done);
	comm->sk->sk_data_ready(comm->sk);
	spin_unlock_bh(&comm->lock);
}

int canary_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	struct sock *sk = sock->sk;
	struct canary_vector *v;
	int ret;

	if (flags & ~CANARY_RECV_FLAGS)
		return -EOPNOTSUPP;
	v = canary_recv_wait(sk, flags, &ret);
	if (!v)
		return ret;
	ret = canary_recv_copy(msg, len, flags, v);
	if (ret == -EFAULT && !v->error && !(flags & MSG_PEEK))
		canary_recv_undo(canary_sk(sk)->comm, v);
	else
		canary_vector_put(canary_sk(sk)->comm, v);
	return ret;
}
