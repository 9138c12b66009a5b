// SPDX-License-Identifier: GPL-2.0
/* Memory: what a socket, a network namespace and an ordinary user may take. */
#include "api.h"

#define NOBODY		65534
#define SOMEBODY	65533
#define SUBORDINATE	100005	/* one that NOBODY has in a user namespace */
#define ALL		(32UL << 20)	/* memory_max in the test of two namespaces */
#define LENGTH		(512 << 10)
#define GRADIENT	(64 << 20)
#define SYSCTL		"/proc/sys/net/canary/"
#define GUESTS		4

static const char *const sysctls[] = {
	SYSCTL "wmem_default", SYSCTL "mem_max", SYSCTL "members_max"
};

static void sysctl(const char *name, long value)
{
	FILE *f = fopen(name, "w");

	if (!f || fprintf(f, "%ld\n", value) < 0 || fclose(f))
		ok(name, false);
}

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

/* Goes on in a child in a user namespace of NOBODY, under an identity that it has in there */
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

/* A namespace of its own: of its own user namespace, too, if it is not root's */
static bool alone(unsigned int uid)
{
	if (!uid)
		return !unshare(CLONE_NEWNET);
	if (uid == SUBORDINATE ? !as_subordinate() : setgid(uid) || setuid(uid))
		return false;
	return !unshare(CLONE_NEWUSER | CLONE_NEWNET);
}

/* Takes all that it gets, in a namespace of its own, until it is told to end. */
static void greedy(unsigned int uid, int told, int tell)
{
	static char data[LENGTH];
	int fd, n = 0;
	char c = 0;

	if (!alone(uid))
		_exit(1);
	loopback(true);
	fd = new_socket();
	set_comm(fd, 1, 0, 1);
	if (!connect_to(fd, PAIR_PORT))
		while (send(fd, data, LENGTH, MSG_DONTWAIT) == LENGTH)
			n++;
	(void)!write(tell, &n, sizeof(n));
	(void)!read(told, &c, 1);
	_exit(0);
}

/* Return: bytes that it has taken, or -1 */
static long start_greedy(pid_t *pid, unsigned int uid, const int told[2])
{
	int tell[2], n = -1;

	if (pipe(tell))
		return -1;
	fflush(stdout);
	*pid = fork();
	if (!*pid)
		greedy(uid, told[0], tell[1]);
	close(tell[1]);
	if (read(tell[0], &n, sizeof(n)) != sizeof(n))
		n = -1;
	close(tell[0]);
	return n < 0 ? -1 : n * (long)LENGTH;
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

static void test_namespaces(void)
{
	static char data[1 << 20];
	unsigned long was = memory_max(ALL);
	int told[2], x, y;
	pid_t pid;

	if (pipe(told))
		return;
	ok("two namespaces: one takes what it gets",
	   start_greedy(&pid, 0, told) >= (long)(ALL / 4));
	pair(&x, &y);
	ok("two namespaces: the other one still works",
	   send(x, data, sizeof(data), 0) == sizeof(data) &&
	   send(y, data, sizeof(data), 0) == sizeof(data) &&
	   recv(x, data, sizeof(data), 0) == sizeof(data) &&
	   recv(y, data, sizeof(data), 0) == sizeof(data));
	unpair(x, y);
	end_greedy(&pid, 1, told);
	memory_max(was);
	ok("two namespaces: all was given back", proc_value("vector-bytes") == 0 &&
	   proc_value("core-bytes") == 0);
}

/* However many namespaces users make, all of these together have the share of one. */
static void test_guests(void)
{
	static char data[LENGTH];
	unsigned long was = memory_max(ALL);
	long taken[GUESTS], sum = 0;
	int told[2], x, y, i, n = 0;
	pid_t pid[GUESTS];

	if (pipe(told))
		return;
	for (i = 0; i < GUESTS; i++) {
		taken[i] = start_greedy(&pid[i], NOBODY, told);
		sum += taken[i];
	}
	printf("# users' namespaces have %ld KiB\n", sum >> 10);
	ok("users' namespaces: the first takes what it gets", taken[0] >= (long)(ALL / 4));
	ok("users' namespaces: all of them leave half", sum <= (long)(ALL / 2));
	pair(&x, &y);
	while (send(x, data, LENGTH, MSG_DONTWAIT) == LENGTH)
		n++;
	printf("# the machine's has %d KiB\n", n * LENGTH >> 10);
	ok("users' namespaces: the machine's has half of the rest", n * LENGTH >= (int)(ALL / 6));
	unpair(x, y);
	end_greedy(pid, GUESTS, told);
	memory_max(was);
}

/* A user that takes what it gets leaves something to others. */
static void test_users(void)
{
	unsigned long was = memory_max(ALL);
	static const unsigned int user[] = { NOBODY, NOBODY, SUBORDINATE, SOMEBODY };
	long taken[ARRAY_SIZE(user)];
	pid_t pid[ARRAY_SIZE(user)];
	unsigned int i;
	int told[2];

	if (pipe(told))
		return;
	for (i = 0; i < ARRAY_SIZE(user); i++) {
		taken[i] = start_greedy(&pid[i], user[i], told);
		printf("# user %u: %ld KiB\n", user[i], taken[i] >> 10);
	}
	ok("users: one has no more than is left to others, in all its namespaces",
	   taken[0] >= (long)(ALL / 4) && taken[0] + taken[1] <= (long)(ALL / 3));
	ok("users: nor as one of its subordinate ids", !taken[2]);
	ok("users: another one has a share of what is left", taken[3] >= (long)(ALL / 16));
	end_greedy(pid, ARRAY_SIZE(user), told);
	memory_max(was);
}

/* Without privilege. Return: the step that failed */
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

static void test_ordinary(void)
{
	static char data[2 << 20];
	int x, y, st = 1, room = sizeof(data);
	pid_t pid;

	pair(&x, &y);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(ordinary(x));
	waitpid(pid, &st, 0);
	if (st)
		printf("# step %d\n", WEXITSTATUS(st));
	ok("ordinary user: 64 MiB at once, but no SO_SNDBUF beyond wmem_max", st == 0);
	unpair(x, y);
	pair(&x, &y);
	room = 100000;
	setsockopt(x, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
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

static void test_sysctl(void)
{
	static char data[1 << 20];
	int fd = new_socket(), x, y, was = sndbuf(fd);

	close(fd);
	sysctl(SYSCTL "wmem_default", 1 << 20);
	fd = new_socket();
	ok("sysctl wmem_default: SO_SNDBUF of new sockets", sndbuf(fd) == 1 << 20);
	close(fd);
	sysctl(SYSCTL "wmem_default", was);
	pair(&x, &y);
	sysctl(SYSCTL "mem_max", 1 << 20);
	ok_errno("sysctl mem_max: more is ENOBUFS", send(x, data, sizeof(data), 0), ENOBUFS);
	sysctl(SYSCTL "mem_max", 1 << 30);
	ok("sysctl mem_max: less is not", send(x, data, sizeof(data), 0) == sizeof(data));
	unpair(x, y);
}

static long read_sysctl(const char *name)
{
	FILE *f = fopen(name, "r");
	long value = -1;

	if (f && fscanf(f, "%ld", &value) != 1)
		value = -1;
	if (f)
		fclose(f);
	return value;
}

/* In a user's namespace. Return: the step that failed */
static int guest_sysctl(const long *want)
{
	unsigned int i;

	if (!alone(NOBODY))
		return 1;
	for (i = 0; i < ARRAY_SIZE(sysctls); i++) {
		if (read_sysctl(sysctls[i]) != want[i])
			return 10 + i;
		if (open(sysctls[i], O_WRONLY | O_CLOEXEC) >= 0 || errno != EACCES)
			return 20 + i;
	}
	return 0;
}

static void test_sysctl_guest(void)
{
	static const long set[] = { 1 << 20, 1 << 21, 1000 };
	long was[ARRAY_SIZE(sysctls)];
	unsigned int i;
	int st = 1;
	pid_t pid;

	for (i = 0; i < ARRAY_SIZE(sysctls); i++)
		was[i] = machine_sysctl(sysctls[i], set[i]);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(guest_sysctl(set));
	waitpid(pid, &st, 0);
	if (st)
		printf("# step %d\n", WEXITSTATUS(st));
	ok("sysctl: a user's namespace has the machine's, and cannot change them", st == 0);
	for (i = 0; i < ARRAY_SIZE(sysctls); i++)
		machine_sysctl(sysctls[i], was[i]);
}

const struct api_test memory_tests[] = {
	{ "namespaces", test_namespaces },
	{ "guests", test_guests },
	{ "users", test_users },
	{ "ordinary", test_ordinary },
	{ "sysctl", test_sysctl },
	{ "sysctl_guest", test_sysctl_guest },
	{ NULL, NULL }
};
