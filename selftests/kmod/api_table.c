// SPDX-License-Identifier: GPL-2.0
/* Communicators formed from a table (CANARY_TABLE): valid tables, connect(), limits, the end */
#include <pthread.h>

#include "harness.h"

#define MANY		100		/* sessions on two ports */
#define NEAR		22630
#define FAR		22631
#define ID		4000		/* communicator */
#define EPOCH		5000

/* An option with room for one member more than there can be */
struct option {
	struct canary_table_req	req;
	struct canary_peer	peer[CANARY_MEMBERS_MAX + 1];
};

static struct option option;

/* Fill in a table of two members at 127.0.0.1. */
static void fill(uint32_t epoch)
{
	memset(&option, 0, sizeof(option));
	option.req.epoch = epoch;
	option.peer[0].addr = ip4("127.0.0.1");
	option.peer[0].port = htons(NEAR);
	option.peer[1].addr = ip4("127.0.0.1");
	option.peer[1].port = htons(FAR);
}

static socklen_t size_of(unsigned int members)
{
	return sizeof(option.req) + members * sizeof(option.peer[0]);
}

static int set_table(int fd, unsigned int members)
{
	return setsockopt(fd, SOL_CANARY, CANARY_TABLE, &option, size_of(members));
}

static int set_nowhere(int fd)
{
	return setsockopt(fd, SOL_CANARY, CANARY_TABLE, BAD_POINTER, size_of(2));
}

/* Return: a configured socket with a table, for which connect() was not called */
static int new_rank(uint32_t epoch, unsigned int rank)
{
	int fd = new_socket();

	set_u32(fd, CANARY_LINGER, 0);
	fill(epoch);
	return set_comm(fd, ID, rank, 2) || set_table(fd, 2) ? -1 : fd;
}

static int share(int fd, int with)
{
	return setsockopt(fd, SOL_CANARY, CANARY_ENDPOINT, &with, sizeof(with)) ? -1 : 0;
}

/* connect(), which reports errors by errno */
static int connect_root(int fd, unsigned int port)
{
	struct sockaddr_canary a = address("127.0.0.1", port);

	return connect(fd, (struct sockaddr *)&a, sizeof(a));
}

static unsigned int port_of(int fd)
{
	struct sockaddr_canary a;
	socklen_t len = sizeof(a);

	return getsockname(fd, (struct sockaddr *)&a, &len) ? 0 : ntohs(a.scan_port);
}

static bool sums(int x, int y, uint32_t value)
{
	uint32_t a = value, b = 2 * value, c = 0, d = 0;

	if (send(x, &a, 4, 0) != 4 || send(y, &b, 4, 0) != 4)
		return false;
	wait_events(x, POLLIN);
	wait_events(y, POLLIN);
	return recv(x, &c, 4, 0) == 4 && recv(y, &d, 4, 0) == 4 && c == 3 * value && d == c;
}

TEST_F(sock, length)
{
	int fd = self->fd;
	char byte[4];
	socklen_t len = sizeof(byte);

	fill(EPOCH);
	ok_errno("table: before CANARY_COMM is EINVAL", set_table(fd, 2), EINVAL);
	ok_errno("table: and is not read", set_nowhere(fd), EINVAL);
	ASSERT_EQ(0, set_comm(fd, ID, 0, 2));
	ok_errno("table: nothing", setsockopt(fd, SOL_CANARY, CANARY_TABLE, &option, 0), EINVAL);
	ok_errno("table: part of its head",
		 setsockopt(fd, SOL_CANARY, CANARY_TABLE, &option, sizeof(option.req) - 1), EINVAL);
	ok_errno("table: no members", set_table(fd, 0), EINVAL);
	ok_errno("table: part of an entry",
		 setsockopt(fd, SOL_CANARY, CANARY_TABLE, &option, size_of(2) - 1), EINVAL);
	ok_errno("table: fewer members than CANARY_COMM says", set_table(fd, 1), EINVAL);
	option.peer[2] = option.peer[1];
	option.peer[2].port = htons(FAR + 1);
	ok_errno("table: more", set_table(fd, 3), EINVAL);
	ok_errno("table: more than there can be",
		 set_table(fd, CANARY_MEMBERS_MAX + 1), E2BIG);
	ok_errno("table: nowhere", set_nowhere(fd), EFAULT);
	ok_errno("table: of as many as there are", set_table(fd, 2), 0);
	ok_errno("table: again", set_table(fd, 2), 0);
	ok_errno("table: cannot be read",
		 getsockopt(fd, SOL_CANARY, CANARY_TABLE, byte, &len), ENOPROTOOPT);
}

/* The entries are on an unmapped page. */
TEST_F(sock, fault)
{
	long page = sysconf(_SC_PAGESIZE);
	char *two, *at;

	two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, two);
	ASSERT_EQ(0, set_comm(self->fd, ID, 0, 2));
	fill(EPOCH);
	at = two + page - sizeof(option.req);
	memcpy(at, &option, sizeof(option.req));
	munmap(two + page, page);
	ok_errno("table: entries that are not there are EFAULT",
		 setsockopt(self->fd, SOL_CANARY, CANARY_TABLE, at, size_of(2)), EFAULT);
	ok("table: nothing is kept of it", proc_value("core-bytes") == 0);
	munmap(two, page);
}

TEST_F(sock, values)
{
	int fd = self->fd;

	ASSERT_EQ(0, set_comm(fd, ID, 0, 2));
	fill(0);
	ok_errno("table: no epoch is EINVAL", set_table(fd, 2), EINVAL);
	fill(EPOCH);
	option.req.reserved[1] = 1;
	ok_errno("table: what has to be 0", set_table(fd, 2), EINVAL);
	fill(EPOCH);
	option.req.start_within = 3600001;
	ok_errno("table: too much patience", set_table(fd, 2), EINVAL);
	fill(EPOCH);
	option.peer[1].addr = (struct canary_addr){ { htonl(0x20010db8), 0, 0, htonl(1) } };
	ok_errno("table: IPv6 is EAFNOSUPPORT", set_table(fd, 2), EAFNOSUPPORT);
	fill(EPOCH);
	option.peer[1] = option.peer[0];
	ok_errno("table: two at one place are ENOTUNIQ", set_table(fd, 2), ENOTUNIQ);
	fill(EPOCH);
	option.peer[0].addr = ip4("224.0.0.1");
	ok_errno("table: a group is EINVAL", set_table(fd, 2), EINVAL);
	fill(EPOCH);
	option.peer[0].addr = ip4("0.0.0.0");
	ok_errno("table: so is nobody", set_table(fd, 2), EINVAL);
	fill(EPOCH);
	option.peer[1].port = htons(53);
	ok_errno("table: a port of others", set_table(fd, 2), EINVAL);
	fill(EPOCH);
	option.peer[1].zero = htons(1);
	ok_errno("table: rest of an entry", set_table(fd, 2), EINVAL);
	fill(EPOCH);
	ok_errno("table: after all of this, a right one", set_table(fd, 2), 0);
	ok("table: counts as memory", proc_value("core-bytes") > 0);
	/* After another communicator is configured, the table no longer applies. */
	ASSERT_EQ(0, set_comm(fd, ID + 1, 1, 2));
	ok("table: CANARY_COMM forgets it", proc_value("core-bytes") == 0);
	nonblock(fd, true);
	ok("table: then there is a rendezvous", connect_to(fd, NEAR) == EINPROGRESS);
	ok_errno("table: which is too late for one", set_table(fd, 2), EISCONN);
}

/* One table, epoch and salt make one session key: with a pre-shared key, a salt is a must. */
TEST_F(sock, salt)
{
	struct canary_comm_req req = { .id = ID, .members = 2, .key = { [15] = 7 } };

	ASSERT_EQ(0, setsockopt(self->fd, SOL_CANARY, CANARY_COMM, &req, sizeof(req)));
	fill(EPOCH);
	ASSERT_EQ(0, set_table(self->fd, 2));
	ok_errno("salt: a key without one", connect_root(self->fd, NEAR), ENOKEY);
	option.req.salt[CANARY_SALT - 1] = 1;
	ASSERT_EQ(0, set_table(self->fd, 2));
	ok_errno("salt: a key with one", connect_root(self->fd, NEAR), 0);
}

TEST_F(net, connect)
{
	int x = new_rank(EPOCH, 0), y = new_rank(EPOCH, 1), z;
	struct sockaddr_canary far = address("127.0.0.1", FAR), root;
	socklen_t len = sizeof(root);

	ASSERT_LE(0, x);
	ASSERT_LE(0, y);
	ok_errno("connect: to another rank 0 is EINVAL", connect_root(y, FAR), EINVAL);
	ok_errno("connect: at once, without anybody", connect_root(y, NEAR), 0);
	ok("connect: to the own entry's port", port_of(y) == FAR);
	ok("connect: connected", events(y, POLLOUT) & POLLOUT &&
	   status(y).state == CANARY_ST_CONNECTED && status(y).epoch == EPOCH &&
	   status(y).elements == 352 && !status(y).missing);
	ok("connect: as /proc says", proc_has(inode(y), "connected"));
	ok("connect: getpeername() is rank 0", !getpeername(y, (struct sockaddr *)&root, &len) &&
	   ntohs(root.scan_port) == NEAR);
	ok_errno("connect: again is EISCONN", connect_root(y, NEAR), EISCONN);
	ok_errno("connect: a table is too late", set_table(y, 2), EISCONN);
	ok_errno("connect: and is not read", set_nowhere(y), EISCONN);
	ok_errno("connect: nonblocking too", (nonblock(x, true), connect_root(x, NEAR)), 0);
	ok("connect: they add up", sums(x, y, 3) && sums(x, y, 4));
	z = new_rank(EPOCH + 1, 1);
	ok_errno("connect: a port that is taken is EADDRINUSE", connect_root(z, NEAR), EADDRINUSE);
	close(x);
	close(y);
	drain_ports();
	ok_errno("connect: and later it is free", connect_root(z, NEAR), 0);
	close(z);
	/* bound to another address than the table says */
	z = new_socket();
	set_comm(z, ID, 0, 2);
	ASSERT_EQ(0, bind(z, (struct sockaddr *)&far, sizeof(far)));
	fill(EPOCH);
	ASSERT_EQ(0, set_table(z, 2));
	ok_errno("connect: bound to another port is EADDRNOTAVAIL", connect_root(z, NEAR),
		 EADDRNOTAVAIL);
	close(z);
	z = new_socket();
	set_comm(z, ID, 1, 2);
	fill(EPOCH);
	option.peer[1].addr = ip4("10.1.2.3");
	ASSERT_EQ(0, set_table(z, 2));
	ok_errno("connect: no address of ours", connect_root(z, NEAR), EADDRNOTAVAIL);
	close(z);
	drain_ports();
}

static int with_mtu(unsigned int rank, unsigned int mtu)
{
	struct canary_comm_req req = { .id = ID, .rank = rank, .members = 2, .mtu = mtu };
	int fd = new_socket(), err;

	set_u32(fd, CANARY_LINGER, 0);
	setsockopt(fd, SOL_CANARY, CANARY_COMM, &req, sizeof(req));
	fill(EPOCH);
	set_table(fd, 2);
	err = connect_root(fd, NEAR) ? errno : status(fd).elements;
	close(fd);
	drain_ports();
	return err;
}

/* All members have one packet size, and the path has to take it. */
TEST_F(net, mtu)
{
	ok("mtu: 1500 if nobody says otherwise", with_mtu(0, 0) == 352);
	ok("mtu: as is said", with_mtu(1, 1000) == 227);
	ok("mtu: no more than packets have", with_mtu(1, 9000) == CANARY_ELEMENTS_MAX);
	ASSERT_EQ(0, system("ip link set lo mtu 1400"));
	ok("mtu: more than the path takes is EMSGSIZE", with_mtu(0, 0) == EMSGSIZE);
	ok("mtu: at both ends", with_mtu(1, 1401) == EMSGSIZE);
	ok("mtu: what it takes", with_mtu(1, 1400) == 327);
}

/* Packets for a member that is not there yet are counted, and sent again. */
TEST_F(net, late)
{
	int x = new_rank(EPOCH, 0), y = new_rank(EPOCH, 1), other = new_rank(EPOCH + 9, 1);
	uint32_t v = 1, w = 2, sum = 0;
	long strays;

	/* the port is there, but for another session */
	ASSERT_EQ(0, connect_root(other, NEAR));
	ASSERT_EQ(0, share(y, other));
	set_u32(x, CANARY_DEAD_AFTER, 300);
	ASSERT_EQ(0, connect_root(x, NEAR));
	strays = proc_value("drop-communicator") + proc_value("drop-epoch");
	ok("late: the first one posts", send(x, &v, 4, 0) == 4);
	sleep(2);
	ok("late: nobody is dead after long more than dead_after",
	   status(x).state == CANARY_ST_CONNECTED);
	ok("late: what comes is counted",
	   proc_value("drop-communicator") + proc_value("drop-epoch") > strays);
	ok_errno("late: the second one", connect_root(y, NEAR), 0);
	ok("late: posts", send(y, &w, 4, 0) == 4);
	wait_events(x, POLLIN);
	ok("late: the sum", recv(x, &sum, 4, 0) == 4 && sum == 3);
	close(x);
	close(y);
	close(other);
	drain_ports();
}

TEST_F(net, absent)
{
	int x = new_rank(EPOCH, 0);
	uint32_t v = 1;
	uint16_t rank = 9;
	socklen_t len = sizeof(rank);

	option.req.start_within = 1500;
	ASSERT_EQ(0, set_table(x, 2));
	set_u32(x, CANARY_DEAD_AFTER, 300);
	ASSERT_EQ(0, connect_root(x, NEAR));
	ASSERT_EQ(4, send(x, &v, 4, 0));
	ok_errno("absent: who never comes is EHOSTDOWN", recv(x, &v, 4, 0), EHOSTDOWN);
	ok("absent: by name", !getsockopt(x, SOL_CANARY, CANARY_RANKS, &rank, &len) && rank == 1);
	close(x);
}

/* Many sessions of one communicator number at two ports */
TEST_F(net, many)
{
	int x[MANY], y[MANY], again;
	unsigned int i, k, right = 0;

	for (i = 0; i < MANY; i++) {
		x[i] = new_rank(EPOCH + i, 0);
		y[i] = new_rank(EPOCH + i, 1);
		ASSERT_LE(0, x[i]);
		ASSERT_LE(0, y[i]);
		if (i) {
			ASSERT_EQ(0, share(x[i], x[i - 1]));
			ASSERT_EQ(0, share(y[i], y[i - 1]));
		}
		ASSERT_EQ(0, connect_root(x[i], NEAR));
		ASSERT_EQ(0, connect_root(y[i], NEAR));
	}
	for (i = 0; i < MANY; i++)
		right += sums(x[i], y[i], i + 1);
	ok("many: each has its sum", right == MANY);
	again = new_rank(EPOCH + 5, 1);
	ASSERT_EQ(0, share(again, y[0]));
	ok_errno("many: one of them again is EADDRINUSE", connect_root(again, NEAR), EADDRINUSE);
	fill(EPOCH + MANY);
	ASSERT_EQ(0, set_table(again, 2));
	ok_errno("many: with another epoch it may", connect_root(again, NEAR), 0);
	close(again);
	for (right = 0, i = 0; i < MANY; i++) {
		k = i * 7 % MANY;
		close(x[k]);
		close(y[k]);
		k = (i + 1) * 7 % MANY;
		if (i % 10 == 0 && i + 1 < MANY)
			right += sums(x[k], y[k], i);
	}
	ok("many: who closes disturbs no other", right == MANY / 10);
	drain_ports();
	ok("many: nothing is left", proc_lines() == 0 && proc_value("core-bytes") == 0);
}

/* As many members as possible: their memory and number are limited. */
TEST_F(machine, limits)
{
	unsigned int i, n = CANARY_MEMBERS_MAX;
	int fd = new_socket();
	long held;

	fill(EPOCH);
	for (i = 0; i < n; i++) {
		option.peer[i].addr = ip4("127.0.0.1");
		option.peer[i].addr.word[3] = htonl(0x7f000001 + i / CANARY_PORTS);
		option.peer[i].port = htons(CANARY_PORT_BASE + i % CANARY_PORTS);
	}
	ASSERT_EQ(0, set_comm(fd, ID, 7, n));
	ok_errno("limits: 65535 members", set_table(fd, n), 0);
	held = proc_value("core-bytes");
	ok("limits: count as memory", held >= (long)(n * sizeof(option.peer[0])));
	ASSERT_LT(0, set_value(SYSCTL "mem_max", held + held / 2));
	ok_errno("limits: no room for two is ENOBUFS", set_table(fd, n), ENOBUFS);
	ok("limits: then the first one stays", proc_value("core-bytes") == held);
	ASSERT_LT(0, set_value(SYSCTL "mem_max", 1 << 30));
	ASSERT_LT(0, set_value(SYSCTL "members_max", n - 1));
	ok_errno("limits: more members than members_max are EUSERS",
		 connect_root(fd, CANARY_PORT_BASE), EUSERS);
	ASSERT_LT(0, set_value(SYSCTL "members_max", n));
	option.peer[0].addr = ip4("127.9.9.9");
	ok_errno("limits: none of them twice", (option.peer[n - 1] = option.peer[7],
		 set_table(fd, n)), ENOTUNIQ);
	ok_errno("limits: 65535 members connect", connect_root(fd, CANARY_PORT_BASE), 0);
	ok("limits: the core adds to that", proc_value("core-bytes") > held);
	close(fd);
	drain_ports();
	ok("limits: all is given back", proc_value("core-bytes") == 0);
}

struct racer {
	int		fd;
	volatile bool	stop;
};

static void *race_table(void *arg)
{
	struct racer *r = arg;

	while (!r->stop)
		set_table(r->fd, 2);
	return NULL;
}

static void *race_comm(void *arg)
{
	struct racer *r = arg;

	while (!r->stop)
		set_comm(r->fd, ID, 0, 2);
	return NULL;
}

/* Threads that set it, forget it, and connect: one of them is first. */
TEST_F(net, race)
{
	unsigned int i, formed = 0, began = 0;
	pthread_t table, comm;
	struct racer r;

	for (i = 0; i < 50; i++) {
		r.stop = false;
		r.fd = new_rank(EPOCH + i, 0);
		nonblock(r.fd, true);
		pthread_create(&table, NULL, race_table, &r);
		pthread_create(&comm, NULL, race_comm, &r);
		usleep(10000);
		if (!connect_root(r.fd, NEAR))
			formed++;
		else
			began += errno == EINPROGRESS;
		usleep(1000);
		r.stop = true;
		pthread_join(table, NULL);
		pthread_join(comm, NULL);
		close(r.fd);
		drain_ports();
	}
	ok("race: all were formed, or began to join", formed + began == 50);
	ok("race: nothing is left", proc_value("core-bytes") == 0);
}

/* It ends with its namespace, as one that joined. */
TEST_F(net, namespace)
{
	int x, y, st = -1;
	uint32_t v = 1;
	pid_t pid = fork();

	if (!pid) {
		if (unshare(CLONE_NEWNET) || !loopback(true))
			_exit(1);
		x = new_rank(EPOCH, 0);
		y = new_rank(EPOCH, 1);
		set_u32(x, CANARY_LINGER, 60000);
		if (connect_root(x, NEAR) || connect_root(y, NEAR) ||
		    !send_both(x, y, &v, sizeof(v)))
			_exit(2);
		wait_events(x, POLLIN);
		close(x);
		_exit(0);
	}
	waitpid(pid, &st, 0);
	ok("namespace: ends with what is in it", WIFEXITED(st) && !WEXITSTATUS(st));
}

TEST_HARNESS_MAIN
