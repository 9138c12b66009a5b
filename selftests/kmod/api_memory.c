// SPDX-License-Identifier: GPL-2.0
/* Memory: what a socket, a network namespace and an ordinary user may take. */
#include "api.h"

#define NOBODY		65534
#define ALL		(32UL << 20)	/* memory_max in the test of two namespaces */
#define LENGTH		(512 << 10)
#define GRADIENT	(64 << 20)
#define SYSCTL		"/proc/sys/net/canary/"

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

/* Takes all that it gets, in a namespace of its own, until it is told to end. */
static void greedy(int told, int tell)
{
	static char data[LENGTH];
	int fd[2], n = 0;
	char c = 0;

	if (unshare(CLONE_NEWNET))
		_exit(1);
	loopback(true);
	pair(&fd[0], &fd[1]);
	while (send(fd[0], data, LENGTH, MSG_DONTWAIT) == LENGTH)
		n++;
	c = n * (long)LENGTH >= (long)(ALL / 4);
	(void)!write(tell, &c, 1);
	(void)!read(told, &c, 1);
	_exit(0);
}

static void test_namespaces(void)
{
	static char data[1 << 20];
	int told[2], tell[2], x, y, st;
	unsigned long was = memory_max(ALL);
	char got = 0;
	pid_t pid;

	if (pipe(told) || pipe(tell))
		return;
	fflush(stdout);
	pid = fork();
	if (!pid)
		greedy(told[0], tell[1]);
	(void)!read(tell[0], &got, 1);
	ok("two namespaces: one takes what it gets", got);
	pair(&x, &y);
	ok("two namespaces: the other one still works",
	   send(x, data, sizeof(data), 0) == sizeof(data) &&
	   send(y, data, sizeof(data), 0) == sizeof(data) &&
	   recv(x, data, sizeof(data), 0) == sizeof(data) &&
	   recv(y, data, sizeof(data), 0) == sizeof(data));
	unpair(x, y);
	(void)!write(told[1], "e", 1);
	waitpid(pid, &st, 0);
	memory_max(was);
	ok("two namespaces: all was given back", proc_value("vector-bytes") == 0 &&
	   proc_value("core-bytes") == 0);
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

const struct api_test memory_tests[] = {
	{ "namespaces", test_namespaces },
	{ "ordinary", test_ordinary },
	{ "sysctl", test_sysctl },
	{ NULL, NULL }
};
