// SPDX-License-Identifier: GPL-2.0
/*
 * Common functions of the socket tests: sockets, ranks in other processes, /proc. They do not use
 * the harness: the value that a function returns says what failed.
 */
#include <libgen.h>
#include <limits.h>

#include "api.h"

int family = AF_CANARY;
volatile sig_atomic_t pipes, alarms;
uint32_t pair_comm = 1000;

/*
 * Time on the clock of socket timeouts. When the guest's processor stands still, both stand still,
 * and catch up with its next tick. With another clock, a wait that began before that tick would be
 * too short.
 */
double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void on_signal(int sig)
{
	if (sig == SIGPIPE)
		pipes++;
	else
		alarms++;
}

void handle(int sig, int flags)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };

	sigaction(sig, &sa, NULL);
}

/*
 * Send alarms again and again, so that at least one comes while a call waits, however late that
 * begins. 0: stop
 */
void on_alarm_in(unsigned int ms, bool restart)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };
	struct itimerval it = { .it_interval = tv, .it_value = tv };

	handle(SIGALRM, restart ? SA_RESTART : 0);
	setitimer(ITIMER_REAL, &it, NULL);
}

bool loopback(bool up)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret = -1;

	if (!ioctl(fd, SIOCGIFFLAGS, &ifr)) {
		ifr.ifr_flags = up ? ifr.ifr_flags | IFF_UP : ifr.ifr_flags & ~IFF_UP;
		ret = ioctl(fd, SIOCSIFFLAGS, &ifr);
	}
	close(fd);
	return !ret;
}

/* Family number of the module; -1: it is not loaded */
int module_family(void)
{
	FILE *f = fopen("/sys/module/canary/parameters/family", "r");
	int value = -1;

	if (f && fscanf(f, "%d", &value) != 1)
		value = -1;
	if (f)
		fclose(f);
	return value;
}

struct canary_addr ip4(const char *addr)
{
	return (struct canary_addr)CANARY_ADDR_IP4(inet_addr(addr));
}

int same_address(const struct canary_addr *a, const struct canary_addr *b)
{
	return !memcmp(a, b, sizeof(*a));
}

struct sockaddr_canary address(const char *addr, unsigned int port)
{
	struct sockaddr_canary a = { .scan_family = family, .scan_port = htons(port) };

	a.scan_addr = ip4(addr);
	return a;
}

int set_u32(int fd, int name, uint32_t value)
{
	return setsockopt(fd, SOL_CANARY, name, &value, sizeof(value));
}

/* A socket that does not linger, so that its port is free after close() */
int new_socket(void)
{
	int fd = socket(family, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		set_u32(fd, CANARY_LINGER, 0);
	return fd;
}

int set_comm(int fd, uint32_t id, unsigned int rank, unsigned int members)
{
	struct canary_comm_req req = { .id = id, .rank = rank, .members = members };

	return setsockopt(fd, SOL_CANARY, CANARY_COMM, &req, sizeof(req));
}

void nonblock(int fd, bool on)
{
	fcntl(fd, F_SETFL, on ? O_NONBLOCK : 0);
}

void timeout(int fd, int name, unsigned int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	setsockopt(fd, SOL_SOCKET, name, &tv, sizeof(tv));
}

short wait_any(int fd, short want, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = want };

	while (poll(&pfd, 1, ms) < 0 && errno == EINTR)
		;
	return pfd.revents;
}

/* What poll() says at once about IN, OUT and @also */
short events(int fd, short also)
{
	return wait_any(fd, POLLIN | POLLOUT | also, 0);
}

/* What poll() says as soon as @want is there */
short wait_events(int fd, short want)
{
	wait_any(fd, want, PATIENCE);
	return events(fd, 0);
}

struct canary_status status(int fd)
{
	struct canary_status st = { 0 };
	socklen_t len = sizeof(st);

	getsockopt(fd, SOL_CANARY, CANARY_STATUS, &st, &len);
	return st;
}

/* Is exactly @rank missing within some time? */
bool wait_missing(int fd, uint16_t rank)
{
	double until = now() + PATIENCE / 1000;
	uint16_t ranks[4];
	socklen_t len;

	do {
		len = sizeof(ranks);
		if (!getsockopt(fd, SOL_CANARY, CANARY_RANKS, ranks, &len) && len == 2 &&
		    ranks[0] == rank)
			return true;
		usleep(10000);
	} while (now() < until);
	return false;
}

int connect_to(int fd, unsigned int port)
{
	struct sockaddr_canary a = address("127.0.0.1", port);

	return connect(fd, (struct sockaddr *)&a, sizeof(a)) ? errno : 0;
}

long proc_value(const char *name)
{
	char text[64];
	long value = -1;
	long found = -1;
	FILE *f = fopen("/proc/self/net/canary_stats", "r");

	while (f && fscanf(f, "%63s %ld", text, &value) == 2)
		if (!strcmp(text, name))
			found = value;
	if (f)
		fclose(f);
	return found;
}

/* Write a file of /proc or /sys, if @value is not negative. Return: its old value, or -1 */
long set_value(const char *name, long value)
{
	FILE *f = fopen(name, value < 0 ? "r" : "r+");
	long was = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%ld", &was) != 1)
		was = -1;
	if (value >= 0) {
		rewind(f);
		fprintf(f, "%ld\n", value);
	}
	return fclose(f) ? -1 : was;
}

/* set_value() for the module parameter */
long memory_max(long bytes)
{
	return set_value("/sys/module/canary/parameters/memory_max", bytes);
}

/* set_value() for a sysctl of the machine's network namespace, which is not this one */
long machine_sysctl(const char *name, long value)
{
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int machine = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC);
	long was = -1;

	if (!setns(machine, CLONE_NEWNET))
		was = set_value(name, value);
	if (setns(own, CLONE_NEWNET))
		was = -1;
	close(own);
	close(machine);
	return was;
}

/* Run the tool of the tree that this program belongs to. Return: did it succeed? */
bool tool(const char *words)
{
	char exe[PATH_MAX] = "", command[PATH_MAX + 256];

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return false;
	snprintf(command, sizeof(command), "%s/../../bin/canary %s", dirname(exe), words);
	return !system(command);
}

int proc_lines(void)
{
	FILE *f = fopen("/proc/self/net/canary", "r");
	char line[256];
	int n = -1;

	while (f && fgets(line, sizeof(line), f))
		n++;
	if (f)
		fclose(f);
	return n;
}

unsigned long inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

/* Is there a line for the socket with that inode, in that state, at 127.0.0.1? */
bool proc_has(unsigned long ino, const char *state)
{
	FILE *f = fopen("/proc/self/net/canary", "r");
	char line[256], got[32], local[32];
	unsigned long got_ino;
	bool found = false;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*u %*u %*u %31s %*u %*u %*u %*u %*u %*u %lu %31s", got,
			   &got_ino, local) == 3 &&
		    got_ino == ino && !strcmp(got, state) && !strncmp(local, "127.0.0.1:2", 11))
			found = true;
	if (f)
		fclose(f);
	return found;
}

/* Wait until no engine lingers, so that ports are free. */
void drain_ports(void)
{
	double until = now() + PATIENCE / 1000;

	while (proc_value("lingering") && now() < until)
		usleep(10000);
}

/* Connect two ranks; @x is rank 0. Return: are they connected? */
bool pair(int *x, int *y)
{
	*x = new_socket();
	*y = new_socket();
	pair_comm++;
	if (set_comm(*x, pair_comm, 0, 2) || set_comm(*y, pair_comm, 1, 2))
		return false;
	nonblock(*x, true);
	connect_to(*x, PAIR_PORT);
	if (connect_to(*y, PAIR_PORT) || !(wait_events(*x, POLLOUT) & POLLOUT))
		return false;
	nonblock(*x, false);
	return true;
}

void unpair(int x, int y)
{
	close(x);
	close(y);
	drain_ports();
}

bool send_both(int x, int y, const void *data, size_t len)
{
	return send(x, data, len, 0) == (ssize_t)len && send(y, data, len, 0) == (ssize_t)len;
}

int outq(int fd)
{
	int value = -1;

	ioctl(fd, SIOCOUTQ, &value);
	return value;
}

/* Number of completed operations, from CANARY_STATS. Its order is that of canary_stats */
long operations(int fd)
{
	uint64_t stats[256];
	socklen_t len = sizeof(stats);
	char text[64];
	long value, found = -1;
	int i = 0;
	FILE *f = fopen("/proc/self/net/canary_stats", "r");

	if (!f || getsockopt(fd, SOL_CANARY, CANARY_STATS, stats, &len))
		return -1;
	while (fscanf(f, "%63s %ld", text, &value) == 2) {
		if (!strcmp(text, "operations"))
			found = stats[i];
		i++;
	}
	fclose(f);
	return found;
}

/* sendmsg() with a control message. @type and @len 0 stand for the right ones. */
ssize_t send_operation(int fd, void *data, size_t size, const struct canary_operation *op,
		       int type, int len, bool twice)
{
	char control[2 * CMSG_SPACE(sizeof(*op))] = { 0 };
	struct iovec iov = { .iov_base = data, .iov_len = size };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = CMSG_SPACE(sizeof(*op)) * (twice ? 2 : 1),
	};
	struct cmsghdr *cmsg;

	for (cmsg = CMSG_FIRSTHDR(&msg); cmsg;
	     cmsg = (char *)cmsg == control && twice ?
		    (struct cmsghdr *)(control + CMSG_SPACE(sizeof(*op))) : NULL) {
		cmsg->cmsg_level = SOL_CANARY;
		cmsg->cmsg_type = type ? type : CANARY_OPERATION;
		cmsg->cmsg_len = CMSG_LEN(len ? len : (int)sizeof(*op));
		memcpy(CMSG_DATA(cmsg), op, sizeof(*op));
	}
	return sendmsg(fd, &msg, 0);
}

/* recvmsg() with @room bytes for the completion */
ssize_t recv_completion(int fd, void *data, size_t size, struct canary_completion *c, size_t room,
			int *flags)
{
	char control[CMSG_SPACE(sizeof(*c))] = { 0 };
	struct iovec iov = { .iov_base = data, .iov_len = size };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = CMSG_LEN(room),
	};
	struct cmsghdr *cmsg;
	ssize_t ret = recvmsg(fd, &msg, 0);

	memset(c, 0xff, sizeof(*c));
	cmsg = ret < 0 ? NULL : CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_level == SOL_CANARY && cmsg->cmsg_type == CANARY_COMPLETION)
		memcpy(c, CMSG_DATA(cmsg), sizeof(*c));
	*flags = msg.msg_flags;
	return ret;
}

/* Start a process that connects as a rank after a delay. */
void start_peer(struct child *child, uint32_t id, unsigned int rank, unsigned int members,
		unsigned int port, unsigned int delay)
{
	child->pid = fork();
	if (!child->pid) {
		int fd = new_socket();

		usleep(delay * 1000);
		_exit(set_comm(fd, id, rank, members) ? 255 : connect_to(fd, port));
	}
}

/* Start a process that posts as the rank of @fd after a delay, and receives. */
void start_post(struct child *child, int fd, size_t len, unsigned int delay)
{
	child->pid = fork();
	if (!child->pid) {
		void *data = calloc(1, len);

		usleep(delay * 1000);
		_exit(send(fd, data, len, 0) != (ssize_t)len ||
		      recv(fd, data, len, 0) != (ssize_t)len);
	}
}

bool end_peer(const struct child *child)
{
	int st = -1;

	while (waitpid(child->pid, &st, 0) < 0 && errno == EINTR)
		;
	return st == 0;
}

/* A PROBE of rank 1 of 2, without a mac. @at is 0 so far. */
void probe(void *at, uint32_t comm, uint32_t epoch)
{
	struct canary_hdr *h = at;

	h->version = CANARY_VERSION;
	h->type = CANARY_PROBE;
	h->comm = htonl(comm);
	h->epoch = htonl(epoch);
	h->members = htons(2);
	h->rank = htons(1);
}
