// SPDX-License-Identifier: GPL-2.0
/* One UDP port for several sockets: who may share it, which of them gets a packet, how it ends */
#include "harness.h"

#define MANY		300		/* communicators on two ports */
#define NEAR		22630
#define FAR		22631
#define ALICE		12345
#define FIRST		3000		/* communicator */

static uint32_t linger;		/* ms, of new members */

static int share(int fd, int with)
{
	return setsockopt(fd, SOL_CANARY, CANARY_ENDPOINT, &with, sizeof(with)) ? -1 : 0;
}

static unsigned int sharing(int fd)
{
	uint32_t n = 99;
	socklen_t len = sizeof(n);

	return getsockopt(fd, SOL_CANARY, CANARY_ENDPOINT, &n, &len) || len != sizeof(n) ? 99 : n;
}

/* Return: a socket, or -1 if it cannot be bound */
static int bound_socket(unsigned int port)
{
	struct sockaddr_canary a = address("127.0.0.1", port);
	int fd = new_socket();

	return bind(fd, (struct sockaddr *)&a, sizeof(a)) ? -1 : fd;
}

static unsigned int port_of(int fd)
{
	struct sockaddr_canary a;
	socklen_t len = sizeof(a);

	return getsockname(fd, (struct sockaddr *)&a, &len) ? 0 : ntohs(a.scan_port);
}

/*
 * Make a socket that shares the port of @with. It is one member of two, and begins to join at
 * @root. Return: the socket, or -1
 */
static int new_member(int with, uint32_t id, unsigned int rank, unsigned int root)
{
	struct canary_comm_req req = { .id = id, .rank = rank, .members = 2, .window = 8 };
	int fd = new_socket();

	set_u32(fd, CANARY_LINGER, linger);
	if (share(fd, with) || setsockopt(fd, SOL_CANARY, CANARY_COMM, &req, sizeof(req)))
		return -1;
	nonblock(fd, true);
	connect_to(fd, root);
	return fd;
}

/* Connect two ranks. @x shares the port of @near, @y that of @far. Return: do both? */
static bool new_pair(int near, int far, uint32_t id, int *x, int *y)
{
	*x = new_member(near, id, 0, NEAR);
	*y = new_member(far, id, 1, NEAR);
	return *x >= 0 && *y >= 0;
}

static bool connected(int x, int y)
{
	return wait_events(x, POLLOUT) & POLLOUT && wait_events(y, POLLOUT) & POLLOUT;
}

/* Compute a sum of the two ranks that nobody else has. */
static bool sums(int x, int y, uint32_t value)
{
	uint32_t a = value, b = 2 * value, c = 0, d = 0;

	if (send(x, &a, 4, 0) != 4 || send(y, &b, 4, 0) != 4)
		return false;
	wait_events(x, POLLIN);
	wait_events(y, POLLIN);
	return recv(x, &c, 4, 0) == 4 && recv(y, &d, 4, 0) == 4 && c == 3 * value && d == c;
}

FIXTURE(ports) {
	int near, far;	/* sockets that are bound to them */
};

FIXTURE_SETUP(ports)
{
	set_up_net(_metadata);
	self->near = bound_socket(NEAR);
	self->far = bound_socket(FAR);
	ASSERT_LE(0, self->near);
	ASSERT_LE(0, self->far);
}

FIXTURE_TEARDOWN(ports)
{
	close(self->near);
	close(self->far);
	drain_ports();
	count_checks(_metadata);
}

TEST_F(net, option)
{
	int x = new_socket(), y = new_socket(), bound = bound_socket(NEAR), other = bound_socket(0);
	int udp = socket(AF_INET, SOCK_DGRAM, 0), file = open("/dev/null", O_RDONLY);

	ASSERT_LE(0, bound);
	ASSERT_LE(0, other);
	ok("endpoint: an unbound socket has none", sharing(x) == 0);
	ok("endpoint: a bound one has one of its own", sharing(bound) == 1);
	ok_errno("endpoint: of no descriptor is EBADF", share(x, -1), EBADF);
	ok_errno("endpoint: of a file is ENOTSOCK", share(x, file), ENOTSOCK);
	ok_errno("endpoint: of another family is EINVAL", share(x, udp), EINVAL);
	ok_errno("endpoint: of itself is EINVAL", share(x, x), EINVAL);
	ok_errno("endpoint: of an unbound socket is EINVAL", share(x, y), EINVAL);
	ok_errno("endpoint: of who is bound is EINVAL", share(other, bound), EINVAL);
	ok_errno("endpoint: too short is EINVAL",
		 setsockopt(x, SOL_CANARY, CANARY_ENDPOINT, &bound, 2), EINVAL);
	ok("endpoint: nobody shares a port yet", sharing(bound) == 1 && sharing(other) == 1);
	ok_errno("endpoint: of a bound one", share(x, bound), 0);
	ok_errno("endpoint: of one that shares a port", share(y, x), 0);
	ok("endpoint: three have the port", sharing(bound) == 3 && sharing(y) == 3 &&
	   port_of(x) == NEAR && port_of(y) == NEAR);
	ok_errno("endpoint: again is EINVAL", share(x, bound), EINVAL);
	ok_errno("endpoint: bind() is EINVAL", bind(x, (struct sockaddr *)&(struct sockaddr_canary)
		 { .scan_family = family }, sizeof(struct sockaddr_canary)), EINVAL);
	close(bound);
	ok("endpoint: the port outlives who opened it", sharing(x) == 2 && port_of(x) == NEAR);
	close(x);
	close(y);
	y = bound_socket(NEAR);
	ok("endpoint: and goes with the last one", sharing(y) == 1);
	close(y);
	close(other);
	close(udp);
	close(file);
}

/* Another user, another namespace, or a socket of another device may not share the port. */
TEST_F(net, owner)
{
	int bound = bound_socket(NEAR), fd, st = -1;
	pid_t pid = fork();

	if (!pid) {
		if (setgid(ALICE) || setuid(ALICE))
			_exit(255);
		fd = new_socket();
		_exit(share(fd, bound) ? errno : 0);
	}
	waitpid(pid, &st, 0);
	ok("endpoint: of another user is EPERM", WIFEXITED(st) && WEXITSTATUS(st) == EPERM);
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWNET))
			_exit(255);
		fd = new_socket();
		_exit(share(fd, bound) ? errno : 0);
	}
	waitpid(pid, &st, 0);
	ok("endpoint: of another namespace is EINVAL", WIFEXITED(st) && WEXITSTATUS(st) == EINVAL);
	fd = new_socket();
	ASSERT_EQ(0, setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3));
	ok_errno("endpoint: bound to another device is EINVAL", share(fd, bound), EINVAL);
	ok("endpoint: nobody got in", sharing(bound) == 1);
	close(fd);
	close(bound);
}

/*
 * Ranks of one communicator cannot be told apart, neither at the same time nor one after the other.
 */
TEST_F(ports, same)
{
	int near = self->near, far = self->far, x, y, z, w;
	struct canary_comm_req req = { .id = FIRST, .rank = 1, .members = 2 };

	x = new_member(near, FIRST, 0, NEAR);
	y = new_socket();
	ASSERT_LE(0, x);
	ASSERT_EQ(0, share(y, near));
	ASSERT_EQ(0, setsockopt(y, SOL_CANARY, CANARY_COMM, &req, sizeof(req)));
	nonblock(y, true);
	ok("endpoint: two ranks of one communicator: EADDRINUSE",
	   connect_to(y, NEAR) == EADDRINUSE);
	z = new_member(near, FIRST + 1, 1, NEAR);
	ok("endpoint: of two is fine", status(z).state == CANARY_ST_JOINING);
	close(z);
	close(x);
	ok("endpoint: once the first one goes, the other may come",
	   connect_to(y, NEAR) == EINPROGRESS);
	close(y);
	ASSERT_TRUE(new_pair(near, far, FIRST + 2, &x, &y));
	ok("endpoint: ranks at two ports", connected(x, y) && sums(x, y, 5));
	/* the same communicator again, while its last session goes on */
	ASSERT_TRUE(new_pair(near, far, FIRST + 2, &z, &w));
	ok("endpoint: a communicator twice, one session after the other", connected(z, w));
	ok("endpoint: both add up", sums(x, y, 6) && sums(z, w, 7) && sums(x, y, 8));
	close(z);
	close(w);
	ok("endpoint: the first one goes on alone", sums(x, y, 9));
	close(x);
	close(y);
	close(near);
	close(far);
	drain_ports();
}

TEST_F(ports, many)
{
	int near = self->near, far = self->far, x[MANY], y[MANY];
	unsigned int i, k, right = 0, n = 0;

	for (i = 0; i < MANY; i++)
		ASSERT_TRUE(new_pair(near, far, FIRST + i, &x[i], &y[i]));
	for (i = 0; i < MANY; i++)
		n += connected(x[i], y[i]);
	ok("endpoint: 300 communicators on two ports", n == MANY);
	ok("endpoint: all of them share one", sharing(near) == MANY + 1 && port_of(x[7]) == NEAR &&
	   port_of(y[7]) == FAR);
	for (i = 0; i < MANY; i++)
		right += sums(x[i], y[i], i + 1);
	ok("endpoint: each has its sum", right == MANY);
	/* Close in another order than they came. Those that opened the ports go first. */
	close(near);
	close(far);
	for (right = 0, i = 0; i < MANY; i++) {
		k = i * 7 % MANY;
		close(x[k]);
		close(y[k]);
		k = (i + 1) * 7 % MANY;
		if (i % 10 == 0 && i + 1 < MANY)
			right += sums(x[k], y[k], i);
	}
	ok("endpoint: who closes disturbs no other", right == MANY / 10);
	drain_ports();
	ok("endpoint: nothing is left", proc_lines() == 0 && proc_value("vector-bytes") == 0 &&
	   proc_value("core-bytes") == 0);
	near = bound_socket(NEAR);
	ok("endpoint: nor are the ports", sharing(near) == 1);
	close(near);
}

/* Send from a socket of a stranger. Return: was it sent? */
static bool send_raw(unsigned int port, const void *packet, size_t len)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(port),
	};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	ssize_t sent = sendto(fd, packet, len, 0, (struct sockaddr *)&to, sizeof(to));

	close(fd);
	return sent == (ssize_t)len;
}

/* Does a packet with these names raise a counter by one? */
static bool counts(const char *counter, size_t len, uint32_t comm, uint32_t epoch)
{
	struct canary_hdr h = { .version = CANARY_VERSION, .type = CANARY_PROBE };
	long before = proc_value(counter);

	h.comm = htonl(comm);
	h.epoch = htonl(epoch);
	h.members = htons(2);
	return send_raw(NEAR, &h, len) && proc_value(counter) == before + 1;
}

TEST_F(ports, forged)
{
	int near = self->near, far = self->far, x, y, z, w;
	uint32_t epoch;

	ASSERT_TRUE(new_pair(near, far, FIRST, &x, &y));
	ASSERT_TRUE(new_pair(near, far, FIRST + 1, &z, &w));
	ok("endpoint: two communicators", connected(x, y) && connected(z, w));
	epoch = status(x).epoch;
	ok("endpoint: an unknown communicator is counted",
	   counts("drop-communicator", sizeof(struct canary_hdr), FIRST + 2, epoch));
	ok("endpoint: so is an unknown epoch",
	   counts("drop-epoch", sizeof(struct canary_hdr), FIRST, epoch + 1));
	ok("endpoint: the other communicator's too",
	   counts("drop-epoch", sizeof(struct canary_hdr), FIRST + 1, epoch));
	ok("endpoint: a wrong mac of the right session",
	   counts("drop-mac", sizeof(struct canary_hdr), FIRST, epoch));
	ok("endpoint: shorter than a header", counts("drop-short", 40, FIRST, epoch));
	ok("endpoint: than what packets are told apart by", counts("drop-short", 11, FIRST, epoch));
	ok("endpoint: nothing at all", counts("drop-short", 0, FIRST, epoch));
	close(z);
	close(w);
	ok("endpoint: a communicator that ended is unknown",
	   counts("drop-communicator", sizeof(struct canary_hdr), FIRST + 1, epoch));
	ok("endpoint: sums are right all the same", sums(x, y, 3));
	close(x);
	close(y);
	close(near);
	close(far);
	drain_ports();
}

/* A child inherits the port of its parent, which ends first. */
TEST_F(ports, inherit)
{
	int near = self->near, far = self->far, x, y, st = -1, go[2];
	char byte = 0;
	pid_t pid;

	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		(void)!read(go[0], &byte, 1);
		close(far);
		new_pair(near, near, FIRST, &x, &y);	/* the second one is refused */
		close(y);
		y = new_member(near, FIRST + 1, 1, FAR);
		_exit(wait_events(y, POLLOUT) & POLLOUT && sharing(y) == 3 ? 0 : 1);
	}
	x = new_member(far, FIRST + 1, 0, FAR);
	close(near);
	(void)!write(go[1], &byte, 1);
	ok("endpoint: a child shares what it inherits", wait_events(x, POLLOUT) & POLLOUT);
	waitpid(pid, &st, 0);
	ok("endpoint: when nobody else has it", WIFEXITED(st) && !WEXITSTATUS(st));
	close(x);
	close(far);
	close(go[0]);
	close(go[1]);
	drain_ports();
}

/*
 * connect() as rank 1, on a port that it shares, to an address where nobody is. Return: errno, or
 * -1
 */
static int connect_far(int with, uint32_t mark)
{
	struct sockaddr_canary a = address("10.99.0.2", NEAR);
	int fd = new_socket(), err;

	if (share(fd, with) || set_comm(fd, FIRST + 1, 1, 2) ||
	    setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)))
		return -1;
	nonblock(fd, true);
	err = connect(fd, (struct sockaddr *)&a, sizeof(a)) ? errno : 0;
	close(fd);
	return err;
}

/* An option of one socket does not apply to the others of its port. */
TEST_F(net, mark)
{
	struct sockaddr_canary any = address("0.0.0.0", FAR);
	int near = bound_socket(NEAR), far = new_socket(), x, y;

	ok("endpoint: ip rules can be set", !bind(far, (struct sockaddr *)&any, sizeof(any)) &&
	   !system("ip link add far0 type dummy && ip link set far0 up &&"
		   "ip addr add 10.99.0.1/24 dev far0 && ip rule add fwmark 7 prohibit"));
	ASSERT_TRUE(new_pair(near, far, FIRST, &x, &y));
	ok("endpoint: a mark whose routes are prohibited", connect_far(far, 7) == EACCES);
	ok("endpoint: others of the port have none", connect_far(far, 0) == EINPROGRESS);
	ok("endpoint: nor the one that is connected", connected(x, y) && sums(x, y, 4));
	close(x);
	close(y);
	close(near);
	close(far);
	drain_ports();
}

/* Engines that share ports linger while their namespace ends. */
TEST_F(net, namespace)
{
	int near, far, x, y, i, st = -1;
	uint32_t v = 1;
	pid_t pid = fork();

	if (!pid) {
		if (unshare(CLONE_NEWNET) || !loopback(true))
			_exit(1);
		near = bound_socket(NEAR);
		far = bound_socket(FAR);
		for (i = 0; i < 20; i++) {
			linger = 60000;
			new_pair(near, far, FIRST + i, &x, &y);
			if (!connected(x, y))
				_exit(2);
			if (!send_both(x, y, &v, sizeof(v)))
				_exit(3);
			wait_events(x, POLLIN);
			if (i % 2)
				close(x);
			if (i % 3)
				close(y);
		}
		_exit(0);
	}
	waitpid(pid, &st, 0);
	ok("endpoint: a namespace ends with its ports", WIFEXITED(st) && !WEXITSTATUS(st));
}

TEST_HARNESS_MAIN
