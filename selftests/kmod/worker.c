// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that sum random vectors through AF_CANARY. Each is a process in a given network namespace.
 * Results are compared with a sum that every rank computes for itself: the elements depend on seed,
 * rank, operation and position.
 *
 *	worker [options] RANK@NETNS/ADDRESS[:PORT]...
 *
 * NETNS "-" is the present one. The first rank given is rank 0, which all others connect to. Prints
 * a line for each rank that did not do what was expected. The exit status is 0 if there is none.
 *
 *	-c communicator	-M members, if not all are given	-R address of rank 0, likewise
 *	-n operations	-e elements	-v vary their number	-f operations in flight
 *	-s seed		-m block, poll, epoll or plain (no control messages)
 *	-w window	-u MTU		-k key			-p port
 *	-t seconds for all	-d ms of CANARY_DEAD_AFTER	-l ms of CANARY_LINGER
 *	-i most ms to think before posting	-E errno that ranks must end with
 *	-a CANARY_ALGORITHM of rank 0; -A algorithm of the last operation of all ranks
 *	-V RANK:OPERATION:k|c	that rank is killed, or closes, before it receives the operation
 *	-S n	only make, connect and close so many sockets
 *	-r	print what was agreed
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/canary.h>
#include <linux/canary_wire.h>

#define RANKS_MAX	64

enum mode { MODE_BLOCK, MODE_POLL, MODE_EPOLL, MODE_PLAIN };

struct rank {
	unsigned int	rank;
	char		netns[64];
	struct in_addr	addr;
	unsigned int	port;
	pid_t		pid;
	int		status;
};

static struct {
	unsigned int	comm, members, window, mtu, port;
	unsigned int	operations, elements, inflight;
	unsigned int	timeout, dead_after, linger, think;
	uint64_t	seed;
	enum mode	mode;
	bool		vary;		/* lengths differ by operation */
	const char	*key;
	int		error;		/* with which all ranks but the victim must end */
	int		victim;		/* rank that goes, or -1 */
	unsigned int	victim_at;	/* the operation that it does not receive */
	char		victim_how;	/* k (is killed), c (closes) */
	struct in_addr	root;		/* of rank 0 if that is not one of ours */
	bool		stats;
	unsigned int	algorithm, ran;
	unsigned int	sockets;	/* to make, connect and close, and nothing else */
} opt = {
	.comm = 1, .operations = 4, .elements = 1000, .inflight = 2, .timeout = 60, .seed = 1,
	.linger = 2000, .victim = -1,
};

static struct rank ranks[RANKS_MAX];
static unsigned int nranks;
static unsigned int me;

#define DIE_TO		stdout
#define DIE_WHO		"rank %u", me
#define DIE_EXIT	_exit
#include "selftests/die.h"

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static uint32_t element(unsigned int rank, unsigned int op, unsigned int i)
{
	return mix(opt.seed ^ (uint64_t)rank << 48 ^ (uint64_t)op << 32 ^ i) >> 16;
}

static unsigned int length(unsigned int op)
{
	return opt.vary ? mix(opt.seed * 31 + op) % (opt.elements + 1) : opt.elements;
}

/* The time is over, which is an error: print what is known. It need not be signal-safe any more. */
static void on_alarm(int sig)
{
	static const char * const files[] = {
		"/proc/self/net/canary", "/proc/self/net/canary_stats",
	};
	char line[256];
	unsigned int i;
	FILE *f;

	printf("rank %u: timeout\n", me);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		f = fopen(files[i], "r");
		while (f && fgets(line, sizeof(line), f))
			if (!strstr(line, " 0\n"))
				printf("rank %u: %s", me, line);
	}
	fflush(stdout);
	_exit(2);
}

static void wait_for(int fd, int epfd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	struct epoll_event ev = { .events = events, .data.fd = fd };

	if (opt.mode == MODE_EPOLL) {
		epoll_ctl(epfd, EPOLL_CTL_MOD, fd, &ev);
		while (epoll_wait(epfd, &ev, 1, -1) < 0)
			if (errno != EINTR)
				die("epoll_wait: %s", strerror(errno));
		return;
	}
	while (poll(&pfd, 1, -1) < 0)
		if (errno != EINTR)
			die("poll: %s", strerror(errno));
}

/* Return: 0 or an errno that ends the communicator */
static int post(int fd, int epfd, unsigned int op)
{
	int flags = MSG_NOSIGNAL | (opt.mode == MODE_BLOCK || opt.mode == MODE_PLAIN ? 0 : MSG_DONTWAIT);
	struct canary_operation req = {
		.op = CANARY_OP_SUM, .dtype = CANARY_INT32, .tag = 1000 + op,
	};
	char control[CMSG_SPACE(sizeof(req))] = { 0 };
	unsigned int n = length(op), i;
	uint32_t *data = malloc(n * 4 + 4);
	struct iovec iov = { .iov_base = data, .iov_len = n * 4 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;
	ssize_t ret;

	for (i = 0; i < n; i++)
		data[i] = element(me, op, i);
	if (opt.mode != MODE_PLAIN) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_CANARY;
		cmsg->cmsg_type = CANARY_OPERATION;
		cmsg->cmsg_len = CMSG_LEN(sizeof(req));
		memcpy(CMSG_DATA(cmsg), &req, sizeof(req));
	}
	for (;;) {
		ret = sendmsg(fd, &msg, flags);
		if (ret >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
		if (errno == EAGAIN)
			wait_for(fd, epfd, POLLOUT);
	}
	free(data);
	if (ret < 0)
		return errno;
	if (ret != n * 4)
		die("sendmsg of operation %u returned %zd", op, ret);
	return 0;
}

static void check(unsigned int op, const uint32_t *data, ssize_t bytes)
{
	unsigned int n = length(op), i, r;
	uint32_t want;

	if (bytes != n * 4)
		die("operation %u: %zd bytes instead of %u", op, bytes, n * 4);
	for (i = 0; i < n; i++) {
		want = 0;
		for (r = 0; r < opt.members; r++)
			want += element(r, op, i);
		if (data[i] != want)
			die("operation %u: element %u is %u instead of %u", op, i, data[i], want);
	}
}

/* Return: 0 or an errno that ends the communicator */
static int complete(int fd, int epfd, unsigned int op)
{
	int flags = opt.mode == MODE_BLOCK || opt.mode == MODE_PLAIN ? 0 : MSG_DONTWAIT;
	struct canary_completion c = { 0 };
	char control[CMSG_SPACE(sizeof(c))];
	uint32_t *data = malloc(length(op) * 4 + 4);
	struct iovec iov = { .iov_base = data, .iov_len = length(op) * 4 + 4 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;
	ssize_t ret;

	for (;;) {
		if (opt.mode != MODE_PLAIN) {
			msg.msg_control = control;
			msg.msg_controllen = sizeof(control);
		}
		ret = recvmsg(fd, &msg, flags);
		if (ret >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
		if (errno == EAGAIN)
			wait_for(fd, epfd, POLLIN);
	}
	if (ret < 0) {
		free(data);
		return errno;
	}
	check(op, data, ret);
	free(data);
	if (opt.mode == MODE_PLAIN)
		return 0;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_level != SOL_CANARY || cmsg->cmsg_type != CANARY_COMPLETION)
		die("operation %u: no completion", op);
	memcpy(&c, CMSG_DATA(cmsg), sizeof(c));
	if (c.tag != 1000 + op || c.seq != op || c.error || c.bytes != length(op) * 4)
		die("operation %u: completion of seq %u tag %llu error %d bytes %u", op, c.seq,
		    (unsigned long long)c.tag, c.error, c.bytes);
	return 0;
}

/* Return: must the rank leave its loop? */
static bool be_victim(int fd, unsigned int op)
{
	if ((int)me != opt.victim || op != opt.victim_at)
		return false;
	switch (opt.victim_how) {
	case 'k':
		kill(getpid(), SIGKILL);
		break;
	case 'c':
		close(fd);
		break;
	}
	_exit(0);
}

static int run_operations(int fd)
{
	unsigned int posted = 0, done = 0;
	struct epoll_event ev = { .events = 0 };
	int epfd = epoll_create1(0), err;

	epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev);
	while (done < opt.operations) {
		while (posted < opt.operations && posted - done < opt.inflight) {
			if (opt.think)
				usleep(mix(opt.seed ^ me * 77 ^ posted) % (opt.think * 1000));
			err = post(fd, epfd, posted);
			if (err)
				return err;
			posted++;
		}
		be_victim(fd, done);
		err = complete(fd, epfd, done);
		if (err)
			return err;
		done++;
	}
	close(epfd);
	return 0;
}

static void enter(const struct rank *r)
{
	char path[128];
	int fd;

	if (!strcmp(r->netns, "-"))
		return;
	snprintf(path, sizeof(path), "/run/netns/%s", r->netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die("%s: %s", path, strerror(errno));
	close(fd);
}

static void configure(int fd)
{
	struct canary_comm_req req = {
		.id = opt.comm, .rank = me, .members = opt.members, .window = opt.window,
		.mtu = opt.mtu,
	};

	if (opt.key)
		memcpy(req.key, opt.key, strnlen(opt.key, sizeof(req.key)));
	if (setsockopt(fd, SOL_CANARY, CANARY_COMM, &req, sizeof(req)))
		die("CANARY_COMM: %s", strerror(errno));
	if (setsockopt(fd, SOL_CANARY, CANARY_LINGER, &opt.linger, sizeof(opt.linger)))
		die("CANARY_LINGER: %s", strerror(errno));
	if (opt.dead_after && setsockopt(fd, SOL_CANARY, CANARY_DEAD_AFTER, &opt.dead_after,
					 sizeof(opt.dead_after)))
		die("CANARY_DEAD_AFTER: %s", strerror(errno));
	if (!me && setsockopt(fd, SOL_CANARY, CANARY_ALGORITHM, &opt.algorithm,
			      sizeof(opt.algorithm)))
		die("CANARY_ALGORITHM: %s", strerror(errno));
}

static void check_algorithm(int fd)
{
	struct canary_status st = { 0 };
	socklen_t len = sizeof(st);

	getsockopt(fd, SOL_CANARY, CANARY_STATUS, &st, &len);
	if (opt.ran && st.last != opt.ran)
		die("algorithm %u ran (because of %u), not %u", st.last, st.why, opt.ran);
	if (opt.ran && st.number != opt.algorithm >> 8)
		die("%u trees, or blocks in a run, not %u", st.number, opt.algorithm >> 8);
}

static void show_stats(int fd)
{
	struct canary_status st = { 0 };
	socklen_t len = sizeof(st);

	getsockopt(fd, SOL_CANARY, CANARY_STATUS, &st, &len);
	printf("rank %u: elements %u window %u srtt %u us\n", me, st.elements, st.window,
	       st.srtt_us);
	fflush(stdout);
}

static int new_socket(int family, const struct rank *r)
{
	struct sockaddr_canary a = {
		.scan_family = family, .scan_addr = CANARY_ADDR_IP4(r->addr.s_addr),
		.scan_port = htons(r->port),
	};
	int fd = socket(family, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket: %s", strerror(errno));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)))
		die("bind: %s", strerror(errno));
	configure(fd);
	return fd;
}

static int rendezvous(int fd, int family)
{
	struct sockaddr_canary a = {
		.scan_family = family,
		.scan_addr = CANARY_ADDR_IP4(opt.root.s_addr ? opt.root.s_addr :
					     ranks[0].addr.s_addr),
	};

	a.scan_port = htons(opt.root.s_addr ? CANARY_PORT_BASE : ranks[0].port);
	return connect(fd, (struct sockaddr *)&a, sizeof(a)) ? errno : 0;
}

/* Cached routes expire each time, so that each socket has a route of its own. */
static void run_sockets(int family, const struct rank *r)
{
	int fd, flush = open("/proc/sys/net/ipv4/route/flush", O_WRONLY | O_CLOEXEC);
	unsigned int i;

	for (i = 0; i < opt.sockets; i++) {
		if (write(flush, "0\n", 2) != 2)
			die("route/flush: %s", strerror(errno));
		fd = new_socket(family, r);
		fcntl(fd, F_SETFL, O_NONBLOCK);
		if (rendezvous(fd, family) != EINPROGRESS)
			die("connect: %s", strerror(errno));
		close(fd);
	}
	exit(0);
}

static int family(void)
{
	FILE *f = fopen("/sys/module/canary/parameters/family", "r");
	int n = AF_CANARY;

	if (f) {
		if (fscanf(f, "%d", &n) != 1)
			n = AF_CANARY;
		fclose(f);
	}
	return n;
}

static void run_rank(const struct rank *r)
{
	int number = family(), fd, err;

	me = r->rank;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, on_alarm);
	alarm(opt.timeout);
	enter(r);
	if (opt.sockets)
		run_sockets(number, r);
	fd = new_socket(number, r);
	err = rendezvous(fd, number);
	if (!err)
		err = run_operations(fd);
	check_algorithm(fd);
	if (opt.stats)
		show_stats(fd);
	if (err != opt.error)
		die("%s (%s was expected)", err ? strerror(err) : "success",
		    opt.error ? strerror(opt.error) : "success");
	close(fd);
	exit(0);
}

static void parse_rank(const char *text)
{
	struct rank *r = &ranks[nranks++];
	char addr[64], *colon;

	if (nranks > RANKS_MAX ||
	    sscanf(text, "%u@%63[^/]/%63s", &r->rank, r->netns, addr) != 3) {
		fprintf(stderr, "worker: RANK@NETNS/ADDRESS[:PORT], not '%s'\n", text);
		exit(125);
	}
	r->port = opt.port ? opt.port : CANARY_PORT_BASE;
	colon = strchr(addr, ':');
	if (colon) {
		*colon = 0;
		r->port = atoi(colon + 1);
	}
	if (!inet_aton(addr, &r->addr)) {
		fprintf(stderr, "worker: no address '%s'\n", addr);
		exit(125);
	}
}

static void parse_victim(const char *text)
{
	/* RANK:OPERATION:HOW */
	if (sscanf(text, "%d:%u:%c", &opt.victim, &opt.victim_at, &opt.victim_how) != 3) {
		fprintf(stderr, "worker: victim RANK:OPERATION:k|c, not '%s'\n", text);
		exit(125);
	}
}

static enum mode parse_mode(const char *text)
{
	static const char * const names[] = { "block", "poll", "epoll", "plain" };
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(text, names[i]))
			return i;
	fprintf(stderr, "worker: no mode '%s'\n", text);
	exit(125);
}

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "c:n:e:f:s:m:w:u:p:k:t:d:l:i:E:V:M:R:S:a:A:vr")) != -1) {
		switch (c) {
		case 'c': opt.comm = atoi(optarg); break;
		case 'n': opt.operations = atoi(optarg); break;
		case 'e': opt.elements = atoi(optarg); break;
		case 'f': opt.inflight = atoi(optarg); break;
		case 's': opt.seed = atoll(optarg); break;
		case 'm': opt.mode = parse_mode(optarg); break;
		case 'w': opt.window = atoi(optarg); break;
		case 'u': opt.mtu = atoi(optarg); break;
		case 'p': opt.port = atoi(optarg); break;
		case 'k': opt.key = optarg; break;
		case 't': opt.timeout = atoi(optarg); break;
		case 'd': opt.dead_after = atoi(optarg); break;
		case 'l': opt.linger = atoi(optarg); break;
		case 'i': opt.think = atoi(optarg); break;
		case 'E': opt.error = atoi(optarg); break;
		case 'V': parse_victim(optarg); break;
		case 'M': opt.members = atoi(optarg); break;
		case 'R': opt.root.s_addr = inet_addr(optarg); break;
		case 'S': opt.sockets = atoi(optarg); break;
		case 'a': opt.algorithm = atoi(optarg); break;
		case 'A': opt.ran = atoi(optarg); break;
		case 'v': opt.vary = true; break;
		case 'r': opt.stats = true; break;
		default: exit(125);
		}
	}
	for (; optind < argc; optind++)
		parse_rank(argv[optind]);
	if (!opt.members)
		opt.members = nranks;
}

int main(int argc, char **argv)
{
	unsigned int i;
	int bad = 0;

	parse(argc, argv);
	for (i = 0; i < nranks; i++) {
		ranks[i].pid = fork();
		if (ranks[i].pid < 0)
			die("fork: %s", strerror(errno));
		if (!ranks[i].pid)
			run_rank(&ranks[i]);
	}
	for (i = 0; i < nranks; i++) {
		if (waitpid(ranks[i].pid, &ranks[i].status, 0) < 0)
			bad++;
		else if ((int)ranks[i].rank == opt.victim)
			continue;
		else if (ranks[i].status)
			bad++;
	}
	return bad ? 1 : 0;
}
