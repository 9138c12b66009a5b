// SPDX-License-Identifier: GPL-2.0
/* Memory: how much a socket, a network namespace and an ordinary user may take */
#include "harness.h"

#define NOBODY		65534
#define SOMEBODY	65533
#define SUBORDINATE	100005	/* an identity that NOBODY has in a user namespace */
#define ALL		(32UL << 20)	/* memory_max in the test of two namespaces */
#define LENGTH		(512 << 10)
#define GRADIENT	(64 << 20)
#define GUESTS		4

static const char *const sysctls[] = {
	SYSCTL "wmem_default", SYSCTL "mem_max", SYSCTL "members_max"
};

static int sndbuf(int fd)
{
	socklen_t len = sizeof(int);
	int value = -1;

	getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, &len);
	return value;
}

static bool map_ids(pid_t pid, const char *kind)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s_map", pid, kind);
	f = fopen(path, "w");
	return f && fprintf(f, "0 100000 10\n") > 0 && !fclose(f);
}

/* Continue in a child, in a user namespace of NOBODY, under an identity that it has there. */
static bool as_subordinate(void)
{
	int made[2], mapped[2], st;
	pid_t pid;
	char c = 0;

	if (pipe(made) || pipe(mapped))
		return false;
	pid = fork();
	if (pid) {
		if (read(made[0], &c, 1) == 1 && map_ids(pid, "uid") && map_ids(pid, "gid"))
			(void)!write(mapped[1], &c, 1);
		close(mapped[1]);
		waitpid(pid, &st, 0);
		_exit(0);
	}
	close(mapped[1]);
	return !setgid(NOBODY) && !setuid(NOBODY) && !unshare(CLONE_NEWUSER) &&
	       write(made[1], &c, 1) == 1 && read(mapped[0], &c, 1) == 1 &&
	       !setgid(5) && !setuid(5);
}

/* Make a network namespace. If it is not root's, make a user namespace, too. */
static bool alone(unsigned int uid)
{
	if (!uid)
		return !unshare(CLONE_NEWNET);
	if (uid == SUBORDINATE ? !as_subordinate() : setgid(uid) || setuid(uid))
		return false;
	return !unshare(CLONE_NEWUSER | CLONE_NEWNET);
}

/*
 * An operation of which far more is kept than its vector: exponents of 4096 numbers, and 60 partial
 * sums of 1408 bytes each, for a ring
 */
static const struct canary_operation encoded = { .op = CANARY_OP_SUM, .dtype = CANARY_FLOAT64 };

#define ENCODED		(4096 * 8)
#define ENCODED_KEPT	(ENCODED + 60 * 1408 + 2 * 2 * 4096 + 4096 / 4)

/* Take all memory that can be had, in a namespace of its own, until told to end. */
static void greedy(unsigned int uid, const int told[2], int tell, const struct canary_operation *op)
{
	static char data[LENGTH];
	size_t length = op ? ENCODED : LENGTH;
	int fd, n = 0;
	char c = 0;

	close(told[1]);
	if (!alone(uid) || !loopback(true))
		_exit(1);
	fd = new_socket();
	if (set_comm(fd, 1, 0, 1))
		_exit(1);
	if (!connect_to(fd, PAIR_PORT)) {
		nonblock(fd, true);
		while ((op ? send_operation(fd, data, length, op, 0, 0, false) :
			     send(fd, data, length, 0)) == (ssize_t)length)
			n++;
	}
	(void)!write(tell, &n, sizeof(n));
	(void)!read(told[0], &c, 1);
	_exit(0);
}

/* Return: how many vectors it has posted, or -1 */
static long start_posting(pid_t *pid, unsigned int uid, const int told[2],
			  const struct canary_operation *op)
{
	int tell[2], n = -1;

	if (pipe(tell))
		return -1;
	*pid = fork();
	if (!*pid)
		greedy(uid, told, tell[1], op);
	close(tell[1]);
	if (read(tell[0], &n, sizeof(n)) != sizeof(n))
		n = -1;
	close(tell[0]);
	return n;
}

/* Return: bytes that it has taken, or -1 */
static long start_greedy(pid_t *pid, unsigned int uid, const int told[2])
{
	long n = start_posting(pid, uid, told, NULL);

	return n < 0 ? -1 : n * LENGTH;
}

static void end_greedy(const pid_t *pid, int n, const int told[2])
{
	int i, st;

	for (i = 0; i < n; i++)
		(void)!write(told[1], "e", 1);
	for (i = 0; i < n; i++)
		waitpid(pid[i], &st, 0);
	close(told[0]);
	close(told[1]);
}

TEST_F(machine, namespaces)
{
	static char data[1 << 20];
	int told[2], x, y;
	pid_t pid;

	ASSERT_EQ(0, pipe(told));
	ASSERT_LT(0, memory_max(ALL));
	ok("two namespaces: one takes what it gets",
	   start_greedy(&pid, 0, told) >= (long)(ALL / 4));
	ASSERT_TRUE(pair(&x, &y))
		TH_LOG("two namespaces: the other one connects");
	ok("two namespaces: the other one still works",
	   send(x, data, sizeof(data), 0) == sizeof(data) &&
	   send(y, data, sizeof(data), 0) == sizeof(data) &&
	   recv(x, data, sizeof(data), 0) == sizeof(data) &&
	   recv(y, data, sizeof(data), 0) == sizeof(data));
	unpair(x, y);
	end_greedy(&pid, 1, told);
	ok("two namespaces: all was given back", proc_value("vector-bytes") == 0 &&
	   proc_value("core-bytes") == 0);
}

/* However many namespaces users make, all of them together have the share of one. */
TEST_F(machine, guests)
{
	static char data[LENGTH];
	long taken[GUESTS], sum = 0;
	int told[2], x, y, i, n = 0;
	pid_t pid[GUESTS];

	ASSERT_EQ(0, pipe(told));
	ASSERT_LT(0, memory_max(ALL));
	for (i = 0; i < GUESTS; i++) {
		taken[i] = start_greedy(&pid[i], NOBODY, told);
		sum += taken[i];
	}
	TH_LOG("users' namespaces have %ld KiB", sum >> 10);
	ok("users' namespaces: the first takes what it gets", taken[0] >= (long)(ALL / 4));
	ok("users' namespaces: all of them leave half", sum <= (long)(ALL / 2));
	ASSERT_TRUE(pair(&x, &y));
	while (send(x, data, LENGTH, MSG_DONTWAIT) == LENGTH)
		n++;
	TH_LOG("the machine's has %d KiB", n * LENGTH >> 10);
	ok("users' namespaces: the machine's has half of the rest", n * LENGTH >= (int)(ALL / 6));
	unpair(x, y);
	end_greedy(pid, GUESTS, told);
}

/* A user that takes all that it can get leaves something to others. */
TEST_F(machine, users)
{
	static const unsigned int user[] = { NOBODY, NOBODY, SUBORDINATE, SOMEBODY };
	long taken[ARRAY_SIZE(user)];
	pid_t pid[ARRAY_SIZE(user)];
	unsigned int i;
	int told[2];

	ASSERT_EQ(0, pipe(told));
	ASSERT_LT(0, memory_max(ALL));
	for (i = 0; i < ARRAY_SIZE(user); i++) {
		taken[i] = start_greedy(&pid[i], user[i], told);
		TH_LOG("user %u: %ld KiB", user[i], taken[i] >> 10);
	}
	ok("users: one has no more than is left to others, in all its namespaces",
	   taken[0] >= (long)(ALL / 4) && taken[0] + taken[1] <= (long)(ALL / 3));
	ok("users: nor as one of its subordinate ids", !taken[2]);
	/* A third of what is left, of which its communicator needs about as much as its vectors. */
	ok("users: another one has a share of what is left", taken[3] >= (long)(ALL / 32));
	end_greedy(pid, ARRAY_SIZE(user), told);
}

/* What is kept of operations counts as vectors do, so nobody gets more by it. */
TEST_F(machine, encoded)
{
	static char data[1 << 20];
	int told[2], x, y;
	pid_t pid;
	long n;

	ASSERT_EQ(0, pipe(told));
	ASSERT_LT(0, memory_max(ALL));
	n = start_posting(&pid, NOBODY, told, &encoded);
	TH_LOG("%ld operations of a user, of which %ld KiB are kept", n, n * ENCODED_KEPT >> 10);
	ok("encoded: a user takes what it gets", n * ENCODED_KEPT >= (long)(ALL / 8));
	ok("encoded: and leaves half", n * ENCODED_KEPT <= (long)(ALL / 2));
	ASSERT_TRUE(pair(&x, &y));
	ok("encoded: others still work", send_both(x, y, data, sizeof(data)) &&
	   recv(x, data, sizeof(data), 0) == sizeof(data) &&
	   recv(y, data, sizeof(data), 0) == sizeof(data));
	unpair(x, y);
	end_greedy(&pid, 1, told);
	ok("encoded: all was given back", proc_value("vector-bytes") == 0);
}

/* Run without privilege. Return: the step that failed */
static int ordinary(int x)
{
	static char data[2 << 20];
	int room = sizeof(data);
	char *gradient;

	if (setgid(NOBODY) || setuid(NOBODY))
		return 1;
	if (set_u32(x, CANARY_MAX_VECTOR, GRADIENT))
		return 2;
	gradient = mmap(NULL, GRADIENT, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (send(x, gradient, GRADIENT, MSG_DONTWAIT) != GRADIENT)
		return 3;
	if (setsockopt(x, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) || sndbuf(x) >= room)
		return 4;
	if (!setsockopt(x, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) || errno != EPERM)
		return 5;
	if (send(x, data, sizeof(data), MSG_DONTWAIT) >= 0 || errno != EMSGSIZE)
		return 6;
	return 0;
}

TEST_F(ranks, ordinary)
{
	int st = 1;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(ordinary(self->x));
	waitpid(pid, &st, 0);
	ok("ordinary user: 64 MiB at once, but no SO_SNDBUF beyond wmem_max", st == 0);
	if (st)
		TH_LOG("step %d", WEXITSTATUS(st));
}

/* SO_SNDBUF limits the vector. A privileged process may exceed the limit. */
TEST_F(ranks, sndbuf)
{
	static char data[2 << 20];
	int x = self->x, y = self->y, room = 100000;

	ASSERT_EQ(0, setsockopt(x, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)));
	ok_errno("a vector larger than SO_SNDBUF is EMSGSIZE",
		 send(x, data, sizeof(data), MSG_DONTWAIT), EMSGSIZE);
	ok("then poll says OUT: it would not wait", events(x, 0) & POLLOUT);
	room = sizeof(data);
	setsockopt(x, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	ok("SO_SNDBUFFORCE: it is taken",
	   send(x, data, sizeof(data), MSG_DONTWAIT) == sizeof(data));
	unpair(x, y);
	ok("ordinary user: all was given back", proc_value("vector-bytes") == 0);
}

/* Sum @bytes of floats, all @value, at both members. Return: is the sum right? */
static bool floats_summed(int x, int y, size_t bytes, float value)
{
	static const struct canary_operation sum = { .op = CANARY_OP_SUM, .dtype = CANARY_FLOAT32 };
	static float data[1 << 18];
	size_t i, n = bytes / sizeof(float), wrong = 0;
	int to[] = { x, y }, k;

	for (i = 0; i < n; i++)
		data[i] = value;
	if (send_operation(x, data, bytes, &sum, 0, 0, false) != (ssize_t)bytes ||
	    send_operation(y, data, bytes, &sum, 0, 0, false) != (ssize_t)bytes)
		return false;
	for (k = 0; k < 2; k++) {
		if (recv(to[k], data, bytes, 0) != (ssize_t)bytes)
			return false;
		for (i = 0; i < n; i++)
			wrong += data[i] != 2 * value;
	}
	return !wrong;
}

/* Return: bytes of spare vectors, once no member needs the last vector any more */
static long spare_bytes(void)
{
	double until = now() + 10;

	while (proc_value("vector-bytes") && now() < until)
		usleep(1000);
	return proc_value("vector-bytes") ? -1 : proc_value("spare-bytes");
}

/*
 * Sum vectors of @bytes, until there are @want bytes of spare ones, or more, but not for ever. A
 * busy machine may take so long for a sum that what was spare before is freed. Return: how many
 * there are in the end, -1: a sum was wrong
 */
static long spare_after(int x, int y, size_t bytes, long want)
{
	long spare;
	int i = 0;

	do {
		if (!floats_summed(x, y, bytes, ++i))
			return -1;
		spare = spare_bytes();
	} while (spare < want && i < 10);
	return spare;
}

/* Wait until no more than @most bytes are spare. Return: how many there are in the end */
static long spare_left(int x, int y, size_t bytes, long most)
{
	double until = now() + 30;
	long spare = spare_bytes();

	while (spare > most && now() < until) {
		usleep(100000);
		if (bytes && !floats_summed(x, y, bytes, 1))
			return -1;
		spare = spare_bytes();
	}
	return spare;
}

/* Large vectors are kept for a while, for operations as long. */
TEST_F(ranks, spare)
{
	int x = self->x, y = self->y, i, used = 0;
	long one, two, spare, most = 0;

	ok("spare: short vectors are not kept", spare_after(x, y, 4096, 1) == 0);
	one = spare_after(x, y, LENGTH, 2 * LENGTH);
	TH_LOG("two vectors: %ld bytes", one);
	ok("spare: each member keeps a long one", one >= 2 * LENGTH);
	for (i = 0; i < 10; i++) {
		spare = spare_after(x, y, LENGTH, 0);
		most = spare < 0 || spare > most ? spare : most;
		used += spare == one;
	}
	ok("spare: the next ones, as long, use it again, and are right", used && most == one);
	two = spare_after(x, y, 2 * LENGTH, one + 4 * LENGTH);
	ok("spare: others have vectors of their own", two >= one + 4 * LENGTH);
	ok("spare: what is not used is freed, what is used is kept",
	   spare_left(x, y, LENGTH, one) == one);
	ok("spare: then that is freed, too", spare_left(x, y, 0, 0) == 0);
	one = spare_after(x, y, LENGTH, one);
	unpair(x, y);
	ok("spare: close() frees them", one > 0 && !proc_value("spare-bytes"));
}

TEST_F(net, sysctl)
{
	static char data[1 << 20];
	int fd = new_socket(), x, y, was = sndbuf(fd);

	close(fd);
	ASSERT_LT(0, set_value(SYSCTL "wmem_default", 1 << 20));
	fd = new_socket();
	ok("sysctl wmem_default: SO_SNDBUF of new sockets", sndbuf(fd) == 1 << 20);
	close(fd);
	ASSERT_LT(0, set_value(SYSCTL "wmem_default", was));
	ASSERT_TRUE(pair(&x, &y));
	ASSERT_LT(0, set_value(SYSCTL "mem_max", 1 << 20));
	ok_errno("sysctl mem_max: more is ENOBUFS", send(x, data, sizeof(data), 0), ENOBUFS);
	ASSERT_LT(0, set_value(SYSCTL "mem_max", 1 << 30));
	ok("sysctl mem_max: less is not", send(x, data, sizeof(data), 0) == sizeof(data));
	unpair(x, y);
}

/* Run in a user's namespace. Return: the step that failed */
static int guest_sysctl(const long *want)
{
	unsigned int i;

	if (!alone(NOBODY))
		return 1;
	for (i = 0; i < ARRAY_SIZE(sysctls); i++) {
		if (set_value(sysctls[i], -1) != want[i])
			return 10 + i;
		if (open(sysctls[i], O_WRONLY | O_CLOEXEC) >= 0 || errno != EACCES)
			return 20 + i;
	}
	return 0;
}

TEST_F(machine, sysctl_guest)
{
	static const long set[] = { 1 << 20, 1 << 21, 1000 };
	unsigned int i;
	int st = 1;
	pid_t pid;

	for (i = 0; i < ARRAY_SIZE(sysctls); i++)
		ASSERT_LE(0, machine_sysctl(sysctls[i], set[i]));
	pid = fork();
	if (!pid)
		_exit(guest_sysctl(set));
	waitpid(pid, &st, 0);
	ok("sysctl: a user's namespace has the machine's, and cannot change them", st == 0);
	if (st)
		TH_LOG("step %d", WEXITSTATUS(st));
}

TEST_HARNESS_MAIN
