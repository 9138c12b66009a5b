// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel engine: socket(AF_CANARY), see canary(7).
 */
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/canary.h>
#include "lib.h"

#define FAMILY_PARAMETER	"/sys/module/canary/parameters/family"

#define LINGER_MAX		60000	/* ms, the module's limit */

/*
 * Length in bytes from which on locking the buffers is cheaper than copying. Operations of this
 * length have enough blocks that the core tells at once when everybody has them (CNR_EXPLICIT).
 */
#define ZEROCOPY_FROM		(1U << 20)

struct kernel {
	int			fd;
	int			family;
	u32			zerocopy;	/* enum canary_zerocopy */
	u32			lent;		/* operations posted without copies */
	u32			refused;	/* zero copy was refused: how often, latest errno */
	int			refusal;
	struct canary_peer	root, local;
};

/* Read the family number: the module borrows one, and may be told to take another one. */
static int read_family(void)
{
	FILE *f = fopen(FAMILY_PARAMETER, "re");
	int family = AF_CANARY;

	if (f) {
		if (fscanf(f, "%d", &family) != 1)
			family = AF_CANARY;
		fclose(f);
	}
	return family;
}

static int get_status(int fd, struct canary_status *status)
{
	socklen_t len = sizeof(*status);

	memset(status, 0, sizeof(*status));
	return getsockopt(fd, SOL_CANARY, CANARY_STATUS, status, &len) ? -errno : 0;
}

static int kernel_probe(const struct canary_params *params, char *why, size_t len)
{
	struct canary_status status;
	int family = read_family();
	int fd, err;

	fd = socket(family, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		err = -errno;
		snprintf(why, len, "socket family %d: %s%s", family, strerror(errno),
			 err == -EAFNOSUPPORT ? " (module canary is not loaded)" : "");
		return err;
	}
	err = get_status(fd, &status);
	close(fd);
	if (err) {
		snprintf(why, len, "socket family %d is not Canary's", family);
		return -EAFNOSUPPORT;
	}
	snprintf(why, len, "socket family %d is there", family);
	return 0;
}

static int set_u32(int fd, int option, u32 value, const char *name)
{
	if (setsockopt(fd, SOL_CANARY, option, &value, sizeof(value)))
		return lib_error(-errno, "%s: %u: %s", name, value, strerror(errno));
	return 0;
}

static int configure(int fd, const struct canary_params *params)
{
	struct canary_comm_req req = {
		.id = params->comm,
		.rank = params->rank,
		.members = params->members,
		.window = params->window,
		.mtu = params->mtu,
	};
	int err;

	memcpy(req.key, params->key, sizeof(req.key));
	if (setsockopt(fd, SOL_CANARY, CANARY_COMM, &req, sizeof(req)) == 0)
		err = 0;
	else if (errno == EACCES)
		err = lib_error(-EACCES, "communicator %u: no rule of this network namespace lets you"
				" in (canary comm rules)", req.id);
	else if (errno == EPERM)
		err = lib_error(-EPERM, "communicator %u: the administrator has set its key; do not"
				" give another", req.id);
	else
		err = lib_error(-errno, "communicator %u, rank %u of %u: %s", req.id, req.rank,
				req.members, strerror(errno));
	explicit_bzero(req.key, sizeof(req.key));
	if (!err)
		err = set_u32(fd, CANARY_LINGER, min_t(u32, params->linger, LINGER_MAX), "linger");
	if (!err && params->dead_after)
		err = set_u32(fd, CANARY_DEAD_AFTER, params->dead_after, "dead-after");
	if (!err && params->max_vector)
		err = set_u32(fd, CANARY_MAX_VECTOR, params->max_vector, "max-vector");
	if (!err && params->algorithm)
		err = set_u32(fd, CANARY_ALGORITHM, params->algorithm, "algorithm");
	if (!err && params->aggregates &&
	    setsockopt(fd, SOL_CANARY, CANARY_AGGREGATES, params->aggregate,
		       params->aggregates * sizeof(params->aggregate[0])))
		err = lib_error(-errno, "aggregates: %s", strerror(errno));
	return err;
}

/* Bind to the port of another communicator. */
static int share_port(struct kernel *k, const struct canary_params *params)
{
	const struct kernel *with = params->share->engine;

	if (setsockopt(k->fd, SOL_CANARY, CANARY_ENDPOINT, &with->fd, sizeof(with->fd)))
		return lib_error(-errno, "share: %s: %s", lib_peer(&with->local),
				 strerror(errno));
	k->local = with->local;
	return 0;
}

static int kernel_open(const struct canary_params *params, void **engine)
{
	struct kernel *k;
	int err;

	k = calloc(1, sizeof(*k));
	if (!k)
		return lib_error(-ENOMEM, "out of memory");
	k->family = read_family();
	k->zerocopy = params->zerocopy;
	k->root = params->root;
	k->local = params->bind;
	k->fd = socket(k->family, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (k->fd < 0) {
		err = lib_error(-errno, "socket family %d: %s", k->family, strerror(errno));
		goto free;
	}
	/*
	 * The rules of the administrator go by the communicator. Messages about rules name it, too.
	 */
	err = configure(k->fd, params);
	if (!err && params->share) {
		err = lib_share_check(params, &((struct kernel *)params->share->engine)->local);
		if (!err)
			err = share_port(k, params);
	} else if (!err) {
		err = lib_bind(k->fd, k->family, params, &k->local);
	}
	if (err)
		goto close;
	*engine = k;
	return 0;
close:
	close(k->fd);
free:
	free(k);
	return err;
}

/* Return: 0, -ETIMEDOUT, or another negative errno of poll(2). */
static int wait_for(struct kernel *k, short events, u64 until)
{
	struct pollfd pfd = { .fd = k->fd, .events = events };
	int n;

	do {
		n = poll(&pfd, 1, lib_poll_timeout(until));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n ? 0 : -ETIMEDOUT;
}

static int kernel_failure(void *engine, u32 *why)
{
	struct canary_status status;
	struct kernel *k = engine;

	*why = 0;
	if (get_status(k->fd, &status))
		return -EIO;
	*why = status.reason;
	return status.state == CANARY_ST_FAILED ? -(int)status.error : 0;
}

static int kernel_connect(void *engine, u64 until)
{
	struct kernel *k = engine;
	struct sockaddr_canary root = {
		.scan_family = k->family,
		.scan_port = k->root.port,
		.scan_addr = k->root.addr,
	};
	int err;

	for (;;) {
		if (connect(k->fd, (struct sockaddr *)&root, sizeof(root)) == 0)
			return 0;
		if (errno == EINTR)
			continue;
		if (errno != EINPROGRESS && errno != EALREADY)
			return -errno;
		/* The next call returns how the rendezvous ended. */
		err = wait_for(k, POLLOUT, until);
		if (err)
			return err;
	}
}

/* The table was checked before. What is left is like connect(), but does not wait. */
static int kernel_form(void *engine, const struct cnr_table *t)
{
	size_t list = t->members * sizeof(*t->peer), size = sizeof(struct canary_table_req) + list;
	struct canary_table_req *req = calloc(1, size);
	struct kernel *k = engine;
	int err = 0;

	if (!req)
		return -ENOMEM;
	req->epoch = t->epoch;
	req->start_within = t->start_within / CNR_MSEC;
	memcpy(req->salt, t->salt, sizeof(req->salt));
	memcpy(req->peer, t->peer, list);
	if (setsockopt(k->fd, SOL_CANARY, CANARY_TABLE, req, size))
		err = -errno;
	free(req);
	if (err)
		return err;
	k->root = t->peer[0];
	return kernel_connect(k, CNR_NEVER);
}

/* Append a control message. */
static void add_control(struct msghdr *msg, int type, const void *data, size_t size)
{
	struct cmsghdr *cmsg = (void *)((char *)msg->msg_control + msg->msg_controllen);

	cmsg->cmsg_level = SOL_CANARY;
	cmsg->cmsg_type = type;
	cmsg->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(cmsg), data, size);
	msg->msg_controllen += CMSG_SPACE(size);
}

/* Call sendmsg() once. Return: 0 or a negative errno. */
static int post_message(struct kernel *k, struct lib_request *req, bool zerocopy)
{
	struct canary_operation op = {
		.op = req->op,
		.dtype = req->dtype,
		.flags = req->how,
	};
	struct canary_destination to = { .addr = (uintptr_t)req->recvbuf };
	union {
		char buf[CMSG_SPACE(sizeof(op)) + CMSG_SPACE(sizeof(to))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = {
		.iov_base = (void *)req->sendbuf,
		.iov_len = req->bytes,
	};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
	};
	ssize_t n;

	add_control(&msg, CANARY_OPERATION, &op, sizeof(op));
	if (zerocopy)
		add_control(&msg, CANARY_DESTINATION, &to, sizeof(to));
	do {
		n = sendmsg(k->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static bool want_zerocopy(const struct kernel *k, const struct lib_request *req)
{
	if (!req->lent || k->zerocopy == CANARY_ZEROCOPY_OFF)
		return false;
	return k->zerocopy == CANARY_ZEROCOPY_ON || req->bytes >= ZEROCOPY_FROM;
}

/* Post without copies if possible, else with copies. */
static int post_either(struct kernel *k, struct lib_request *req)
{
	int err;

	if (want_zerocopy(k, req)) {
		err = post_message(k, req, true);
		k->lent += !err;
		if (k->zerocopy == CANARY_ZEROCOPY_ON ||
		    (err != -ENOBUFS && err != -ENOMEM && err != -EFAULT && err != -EINVAL))
			return err;
		k->refused++;
		k->refusal = err;
	}
	return post_message(k, req, false);
}

/*
 * Raise the limits that an operation was too large for, and post it again.
 *
 * CANARY_MAX_VECTOR protects other sockets of the user, so the owner of this one may raise it. The
 * send buffer is limited by the administrator, so raising it needs privilege. What the engine keeps
 * besides depends on operator, type and members. Only the kernel knows how much that is, so try.
 */
static int post_large(struct kernel *k, struct lib_request *req)
{
	u32 bytes = (req->bytes + 3) & ~3UL;
	int room, err;

	if (setsockopt(k->fd, SOL_CANARY, CANARY_MAX_VECTOR, &bytes, sizeof(bytes)))
		return -EMSGSIZE;
	room = 3 * bytes;	/* the kernel doubles it */
	err = post_either(k, req);
	while (err == -EMSGSIZE && room < INT_MAX / 4 &&
	       !setsockopt(k->fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room))) {
		err = post_either(k, req);
		room *= 2;
	}
	return err;
}

static int kernel_post(void *engine, struct lib_request *req)
{
	struct kernel *k = engine;
	int err, failure;
	u32 why;

	err = post_either(k, req);
	if (err == -EMSGSIZE)
		err = post_large(k, req);
	if (err != -EPIPE)
		return err;
	failure = kernel_failure(k, &why);
	return failure ? failure : err;
}

/* Receive how the oldest operation ended. Return: 0 or -EAGAIN. */
static int reap_message(struct kernel *k, struct lib_request *req)
{
	struct canary_completion done = { .error = ECONNABORTED };
	union {
		char buf[CMSG_SPACE(sizeof(done))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = {
		.iov_base = req->recvbuf,
		.iov_len = req->bytes,
	};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	struct cmsghdr *cmsg;
	ssize_t n;

	do {
		n = recvmsg(k->fd, &msg, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (n < 0)
		done.error = errno;
	cmsg = n < 0 ? NULL : CMSG_FIRSTHDR(&msg);
	for (; cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg))
		if (cmsg->cmsg_level == SOL_CANARY && cmsg->cmsg_type == CANARY_COMPLETION)
			memcpy(&done, CMSG_DATA(cmsg),
			       min_t(size_t, cmsg->cmsg_len - CMSG_LEN(0), sizeof(done)));
	req->error = -done.error;
	req->attempts = done.attempts;
	req->method = done.method;
	return 0;
}

static int kernel_reap(void *engine, struct lib_request *req, u64 until)
{
	struct kernel *k = engine;
	int err;

	for (;;) {
		if (!reap_message(k, req))
			return 0;
		err = wait_for(k, POLLIN, until);
		if (err == -ETIMEDOUT)
			return err;
		if (err) {
			req->error = err;
			return 0;
		}
	}
}

static int kernel_room(void *engine, u64 until)
{
	struct canary_status status;
	struct kernel *k = engine;
	int err = wait_for(k, POLLOUT, until);

	if (err)
		return err;
	err = get_status(k->fd, &status);
	if (err)
		return err;
	if (status.state == CANARY_ST_FAILED)
		return -(int)status.error;
	return status.state == CANARY_ST_CONNECTED ? 0 : -ENOTCONN;
}

static unsigned int kernel_missing(void *engine, u16 *ranks, unsigned int max)
{
	socklen_t len = max * sizeof(*ranks);
	struct canary_status status;
	struct kernel *k = engine;
	u16 none;

	if (get_status(k->fd, &status) || !status.missing)
		return 0;
	if (getsockopt(k->fd, SOL_CANARY, CANARY_RANKS, max ? ranks : &none, &len))
		return 0;
	return max_t(u32, status.missing, len / sizeof(*ranks));
}

/* The kernel's struct canary_trouble has the layout of the core's. */
static unsigned int kernel_troubles(void *engine, struct cnr_trouble *list, unsigned int max)
{
	socklen_t len = max * sizeof(*list);
	struct kernel *k = engine;

	_Static_assert(sizeof(*list) == sizeof(struct canary_trouble), "the same structure");
	if (getsockopt(k->fd, SOL_CANARY, CANARY_TROUBLES, list, &len))
		return 0;
	return len / sizeof(*list);
}

/* With params.table, only the kernel knows where rank 0 is. */
static void get_root(const struct kernel *k, struct canary_peer *root)
{
	struct sockaddr_canary scan;
	socklen_t len = sizeof(scan);

	if (getpeername(k->fd, (struct sockaddr *)&scan, &len))
		return;
	root->addr = scan.scan_addr;
	root->port = scan.scan_port;
}

static void kernel_info(void *engine, struct canary_info *info)
{
	static const u32 states[] = {
		[CANARY_ST_NEW] = CANARY_NEW,
		[CANARY_ST_JOINING] = CANARY_CONNECTING,
		[CANARY_ST_CONNECTED] = CANARY_CONNECTED,
		[CANARY_ST_FAILED] = CANARY_FAILED,
		[CANARY_ST_CLOSED] = CANARY_CLOSED,
	};
	struct canary_status status;
	struct kernel *k = engine;

	info->local = k->local;
	if (canary_addr_is_any(&info->root.addr))
		get_root(k, &info->root);
	info->zerocopy = k->lent;
	info->refused = k->refused;
	info->refusal = k->refusal;
	if (get_status(k->fd, &status))
		return;
	info->state = status.state < ARRAY_SIZE(states) ? states[status.state] : CANARY_FAILED;
	info->error = -(int)status.error;
	info->epoch = status.epoch;
	info->window = status.window;
	info->elements = status.elements;
	info->srtt = status.srtt_us;
	info->algorithm = status.algorithm;
	info->number = status.number;
	info->last = status.last;
	info->why = status.why;
}

/*
 * The kernel returns counters, then drop reasons. The first reason means "none" and is skipped.
 * Positions mean the same only in a module of the same release, which is recognised by their
 * number. The kernel returns no more than is asked for, so ask for one more.
 */
static int kernel_stats(void *engine, struct canary_stat *stats, int max)
{
	u64 value[CNR_COUNTER_COUNT + CANARY_DROPS + 1];
	const int known = ARRAY_SIZE(value) - 1;
	struct kernel *k = engine;
	socklen_t len = sizeof(value);
	int i, n;

	if (getsockopt(k->fd, SOL_CANARY, CANARY_STATS, value, &len))
		return -errno;
	if (len != known * sizeof(*value))
		return -EPROTO;
	for (i = 0; i < max && i < known - 1; i++) {
		n = i < CNR_COUNTER_COUNT ? i : i + 1;
		stats[i].value = value[n];
		stats[i].drop = i >= CNR_COUNTER_COUNT;
		stats[i].name = stats[i].drop ? cnr_drop_name(n - CNR_COUNTER_COUNT) :
						cnr_counter_name(n);
	}
	return known - 1;
}

static int kernel_poll_fd(void *engine)
{
	struct kernel *k = engine;

	return k->fd;
}

static void kernel_close(void *engine)
{
	struct kernel *k = engine;

	close(k->fd);
	free(k);
}

const struct lib_engine lib_engine_kernel = {
	.name = "kernel",
	.probe = kernel_probe,
	.open = kernel_open,
	.connect = kernel_connect,
	.form = kernel_form,
	.post = kernel_post,
	.reap = kernel_reap,
	.room = kernel_room,
	.missing = kernel_missing,
	.troubles = kernel_troubles,
	.failure = kernel_failure,
	.info = kernel_info,
	.stats = kernel_stats,
	.poll_fd = kernel_poll_fd,
	.close = kernel_close,
};
