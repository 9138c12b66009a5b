// SPDX-License-Identifier: BSD-2-Clause
/*
 * Measures how late a switch sends on what has fallen due. It sends single contributions through a
 * running switch daemon and reads the deadline of each where the switch keeps it (the map "queue").
 * It compares that with the receive timestamp of the frame that comes out: deadline to wire.
 * Between two contributions, in the same conditions, it sleeps by clock_nanosleep and notes how
 * late it wakes up. No daemon that sleeps can be better than that.
 *
 *	emission DAEMON-PID NETNS-FROM ADDRESS-FROM NETNS-TO ADDRESS-TO [N]
 *
 * Prints one JSON object: percentiles of both, in ns.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/canary_wire.h>
#include "bpf/shared.h"
#include "selftests/die.h"

#define MEMBERS		4	/* so that one contribution is never complete */
#define WARM_UP		20
#define WAIT_MS		1000
#define NAP_NS		1000000
#define ELEMENTS	CANARY_ELEMENTS(1500)

struct packet {
	struct canary_hdr hdr;
	uint32_t data[ELEMENTS];
};

static int64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Open a UDP socket like that of a member, in that network namespace. */
static int udp_socket(const char *netns, const char *address, struct sockaddr_in *sin)
{
	int ns = open(netns, O_RDONLY | O_CLOEXEC), fd, one = 1;

	if (ns < 0 || setns(ns, CLONE_NEWNET))
		die_errno(netns);
	close(ns);
	sin->sin_family = AF_INET;
	sin->sin_port = htons(CANARY_PORT_BASE);
	if (inet_pton(AF_INET, address, &sin->sin_addr) != 1)
		die_errno(address);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)sin, sizeof(*sin)) ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)))
		die_errno("socket");
	return fd;
}

static bool is_queue(int fd, uint32_t *entries)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len) || strcmp(info.name, "queue"))
		return false;
	*entries = info.max_entries;
	return true;
}

/* Map the deadline queue of the switch whose daemon is @pid. */
static const volatile struct csw_queue_entry *map_queue(const char *pid, uint32_t *entries)
{
	char path[64], line[128];
	int i, id, fd;
	void *p;
	FILE *f;

	for (i = 0; i < 1024; i++) {
		snprintf(path, sizeof(path), "/proc/%s/fdinfo/%d", pid, i);
		f = fopen(path, "re");
		id = 0;
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "map_id: %d", &id) == 1)
				break;
		if (f)
			fclose(f);
		fd = id ? bpf_map_get_fd_by_id(id) : -1;
		if (fd < 0)
			continue;
		if (is_queue(fd, entries)) {
			p = mmap(NULL, *entries * sizeof(struct csw_queue_entry), PROT_READ,
				 MAP_SHARED, fd, 0);
			if (p == MAP_FAILED)
				die_errno("mmap of the queue");
			return p;
		}
		close(fd);
	}
	errno = ENOENT;
	die_errno("the daemon's queue");
	return NULL;
}

static void make(struct packet *p, uint32_t block)
{
	memset(p, 0, sizeof(*p));
	p->hdr.version = CANARY_VERSION;
	p->hdr.type = CANARY_CONTRIBUTION;
	p->hdr.comm = htonl(1);
	p->hdr.epoch = htonl(getpid());
	p->hdr.block = htonl(block);
	p->hdr.opsig = htonl(1);
	p->hdr.members = htons(MEMBERS);
	p->hdr.contribution.count = htons(1);
	p->hdr.flags = CANARY_F_LAST;
	p->hdr.contribution.kind = CANARY_KIND(1, 2);
	p->hdr.contribution.length = htons(4 * ELEMENTS);
	p->hdr.rank = htons(1);
}

/* Return: when the contribution to @block arrived, on the clock of deadlines */
static int64_t arrival(int fd, uint32_t block)
{
	char control[CMSG_SPACE(sizeof(struct timespec))];
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int64_t offset = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);
	struct timespec ts = { 0 };
	struct cmsghdr *cmsg;
	struct packet p;
	struct iovec iov = { &p, sizeof(p) };

	for (;;) {
		struct msghdr msg = {
			.msg_iov = &iov, .msg_iovlen = 1,
			.msg_control = control, .msg_controllen = sizeof(control),
		};

		if (poll(&pfd, 1, WAIT_MS) != 1) {
			errno = ETIMEDOUT;
			die_errno("no frame came out of the switch");
		}
		if (recvmsg(fd, &msg, 0) < (ssize_t)sizeof(p.hdr))
			die_errno("recvmsg");
		if (p.hdr.block != htonl(block))
			continue;
		cmsg = CMSG_FIRSTHDR(&msg);
		if (!cmsg || cmsg->cmsg_type != SCM_TIMESTAMPNS)
			die_errno("no timestamp");
		memcpy(&ts, CMSG_DATA(cmsg), sizeof(ts));
		return ts.tv_sec * 1000000000LL + ts.tv_nsec - offset;
	}
}

static int64_t sleep_lateness(void)
{
	int64_t until = now(CLOCK_MONOTONIC) + NAP_NS;
	struct timespec ts = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	return now(CLOCK_MONOTONIC) - until;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void print(const char *name, int64_t *late, int n, const char *end)
{
	qsort(late, n, sizeof(*late), compare);
	printf("\"%s\":{\"p50\":%lld,\"p99\":%lld,\"min\":%lld,\"max\":%lld}%s", name,
	       (long long)late[n / 2], (long long)late[n * 99 / 100], (long long)late[0],
	       (long long)late[n - 1], end);
}

int main(int argc, char **argv)
{
	struct sockaddr_in from = { 0 }, to = { 0 };
	const volatile struct csw_queue_entry *queue;
	int n = argc > 6 ? atoi(argv[6]) : 1000, in, out, i;
	int64_t *late, *nap, came, deadline;
	uint32_t entries, block;
	struct packet p;

	if (argc < 6 || n < 1) {
		fprintf(stderr, "usage: emission PID NETNS-FROM ADDRESS-FROM NETNS-TO ADDRESS-TO [N]\n");
		return 2;
	}
	queue = map_queue(argv[1], &entries);
	out = udp_socket(argv[2], argv[3], &from);
	in = udp_socket(argv[4], argv[5], &to);
	late = calloc(n, sizeof(*late));
	nap = calloc(n, sizeof(*nap));
	if (!late || !nap)
		die_errno("memory");
	prctl(PR_SET_TIMERSLACK, 1UL);
	for (i = -WARM_UP; i < n; i++) {
		block = i + WARM_UP;
		make(&p, block);
		if (sendto(out, &p, sizeof(p), 0, (struct sockaddr *)&to, sizeof(to)) != sizeof(p))
			die_errno("sendto");
		came = arrival(in, block);
		/*
		 * Nothing else goes through the switch, so each contribution has one entry, in
		 * order.
		 */
		deadline = queue[block % entries].deadline;
		if (i < 0)
			continue;
		late[i] = came - deadline;
		if (late[i] < 0) {
			errno = 0;
			die_errno("a frame that came before its deadline: not what was queued");
		}
		nap[i] = sleep_lateness();
	}
	printf("{");
	print("emission", late, n, ",");
	print("sleep", nap, n, "}\n");
	return 0;
}
