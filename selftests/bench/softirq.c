// SPDX-License-Identifier: BSD-2-Clause
/*
 * Measures the longest time for which AF_CANARY keeps other softirqs waiting, by the number of
 * members. This process is rank 0, through the module. It also plays all other ranks from one UDP
 * socket, with as little as possible. They answer questions, then do what makes the module work
 * most, then are silent.
 *
 *	softirq MEMBERS
 *
 * Prints a JSON object: the longest times of each phase (softirq.bpf.c), in ns.
 */
#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <linux/canary.h>

#include "core/inside.h"
#include "selftests/bench/softirq.h"
#include "softirq.skel.h"
#include "selftests/die.h"

#define MTU		CNR_MTU_LEAST
#define ELEMENTS	CANARY_ELEMENTS(MTU)
#define NONCE		1000000		/* of rank 0; other ranks have the next ones */
#define BURST		32		/* packets sent before answers are read */
#define HEARD		1024		/* packets to read at once */
#define DEAD_MS		600000		/* CANARY_DEAD_AFTER, while ranks answer */
#define DEAD_LEAST_MS	100
#define LINGER_MS	100
#define QUIET_MS	100		/* after this time nothing more comes */
#define LIMIT_S		120		/* of one phase */
#define BLOCKS_LEAST	64		/* of an operation */
#define MANY		64	/* communicators at once, ... */
#define MANY_MEMBERS	80	/* ... which each send more than a batch when their timer fires */
#define MANY_MS		500	/* how long that phase goes on */
#define TOGETHER	"limit 100000 delay 20ms"	/* packets wait, and then come at once */
#define UNREAD		65536		/* operations that are over and that nobody received */

static struct play {
	u32			members;
	int			udp;		/* socket of all ranks but 0 */
	int			fd;		/* socket of rank 0 */
	struct cnr_comm		*c;		/* makes headers and keys */
	u64			*cookie;	/* by rank */
	u32			base;		/* first block of the operation */
	u32			blocks;		/* of an operation */
	u32			led;		/* block of the operation that rank 0 leads */
	u32			begun;		/* rank 0 has contributed all blocks before it */
	u32			opsig;
	u32			seq;
	bool			ready;		/* rank 0 has everything */
	bool			contributed;	/* to @led */
	bool			silent;
	bool			dying;		/* no results are given for @led and later blocks */
	bool			probed;
	bool			over;		/* rank 0 has reported the end */
} play;

static struct softirq *probes;

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * CNR_SEC + ts.tv_nsec;
}

/* ---- what is measured ---- */

static const struct {
	const char	*function;
	u32		kind;
} calls[] = {
	{ "canary_receive", SOFTIRQ_PACKET },
	{ "canary_comm_timer", SOFTIRQ_TIMER },
	{ "canary_comm_go_on", SOFTIRQ_GO_ON },
	{ "canary_send_queue", SOFTIRQ_SEND },
	{ "process_backlog", SOFTIRQ_POLL },
};

static void probe(struct bpf_program *program, bool end, const char *function, u32 kind)
{
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .bpf_cookie = kind, .retprobe = end);

	if (!bpf_program__attach_kprobe_opts(program, function, &opts))
		die_errno(function);
}

static void measure(void)
{
	u32 i;

	probes = softirq__open_and_load();
	if (!probes)
		die_errno("BPF");
	if (!bpf_program__attach(probes->progs.softirqs_begin) ||
	    !bpf_program__attach(probes->progs.softirqs_end))
		die_errno("softirq_entry, softirq_exit");
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		probe(probes->progs.call_begins, false, calls[i].function, calls[i].kind);
		probe(probes->progs.call_ends, true, calls[i].function, calls[i].kind);
	}
	probe(probes->progs.engine_starts, false, "canary_comm_start", 0);
	probe(probes->progs.lock_taken, false, "_raw_spin_lock_bh", 0);
	probe(probes->progs.lock_left, false, "_raw_spin_unlock_bh", 0);
}

static void phase_over(const char *name, bool last)
{
	static const char * const kinds[] = { "packet", "timer", "go_on", "lock", "send", "timers",
					     "tasklets", "poll" };
	u32 i;

	printf("\"%s\": {", name);
	for (i = 0; i < SOFTIRQ_KINDS; i++) {
		printf("%s\"%s\": %llu", i ? ", " : "", kinds[i],
		       (unsigned long long)probes->bss->longest[i]);
		probes->bss->longest[i] = 0;
	}
	printf("}%s\n", last ? "" : ",");
	fflush(stdout);
}

/* ---- ranks from 1 on ---- */

static const u32 zeros[ELEMENTS];

/* The next header comes from @rank. */
static void speak_as(u32 rank)
{
	play.c->cfg.rank = rank;
}

static void say(struct cnr_out *out)
{
	struct iovec iov[2] = {
		{ &out->hdr, sizeof(out->hdr) }, { (void *)out->payload, out->len },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = out->len ? 2 : 1 };

	if (canary_has_to(&out->hdr))
		out->hdr.request.to = 0;	/* rank 0 */
	cnr_seal(play.c, out);
	if (sendmsg(play.udp, &msg, 0) < 0 && errno != ECONNREFUSED)
		die_errno("sendmsg to rank 0");
}

static void join(u32 rank)
{
	struct cnr_out out;

	speak_as(rank);
	play.c->join.nonce = NONCE + rank;
	play.c->join.cookie = play.cookie[rank];
	cnr_join_build(play.c, play.c->table ? play.members : 0, &out);
	say(&out);
}

/*
 * Contribute the zeros of @count ranks, of which @rank is one. The tag of several ranks in one
 * packet is made up.
 */
static void contribute(u32 rank, u32 block, u8 attempt, u32 count, bool bypass)
{
	struct cnr_out out;

	speak_as(rank);
	cnr_header(play.c, &out, CANARY_CONTRIBUTION, block);
	out.hdr.attempt = attempt;
	out.hdr.flags = CANARY_F_LAST | (bypass ? CANARY_F_BYPASS : 0);
	out.hdr.opsig = cpu_to_be32(play.opsig);
	out.hdr.contribution.count = cpu_to_be16(count);
	out.hdr.contribution.kind = CANARY_KIND_ADD32;
	out.hdr.contribution.length = cpu_to_be16(4 * ELEMENTS);
	out.hdr.contribution.tag = cpu_to_be64(cnr_tag(play.c, rank, block, attempt, play.opsig));
	out.hdr.contribution.acked = cpu_to_be32(play.c->una);
	out.payload = zeros;
	out.len = sizeof(zeros);
	say(&out);
}

/* Answer a contribution or REQUEST with the result. All vectors are zeros. */
static void result(const struct canary_hdr *h)
{
	u32 block = be32_to_cpu(h->block);
	struct cnr_out out;

	if (play.dying && !canary_before(block, play.led))
		return;
	speak_as(block % play.members);
	cnr_header(play.c, &out, CANARY_RESULT, block);
	out.hdr.attempt = h->attempt;
	out.hdr.opsig = h->opsig;
	out.hdr.flags = CANARY_F_LAST;
	out.hdr.result.kind = CANARY_KIND_ADD32;
	out.hdr.result.length = cpu_to_be16(4 * ELEMENTS);
	out.hdr.result.acked = cpu_to_be32(play.c->una);
	out.payload = zeros;
	out.len = sizeof(zeros);
	say(&out);
}

/* Answer a PROBE. */
static void alive(const struct canary_hdr *h)
{
	struct cnr_out out;

	speak_as(be16_to_cpu(h->request.to));
	cnr_header(play.c, &out, CANARY_ALIVE, be32_to_cpu(h->block));
	out.hdr.alive.sent = cpu_to_be32(play.base);
	out.hdr.alive.answer = h->probe.question;
	say(&out);
}

static void hear_welcome(const struct canary_hdr *h)
{
	if (h->flags & CANARY_F_READY) {
		play.ready = true;
	} else if (!(h->flags & CANARY_F_WAITING) && !play.c->table) {
		play.c->epoch = be32_to_cpu(h->epoch);
		memcpy(play.c->salt, h + 1, sizeof(play.c->salt));
		cnr_derive_key(play.c);
		play.c->table = true;
		play.base = be32_to_cpu(h->block);
		play.c->una = play.base;
		play.begun = play.base;
	}
}

static void hear_cookie(const struct canary_hdr *h)
{
	u32 rank = be64_to_cpu(h->cookie.nonce) - NONCE;

	if (rank < play.members)
		play.cookie[rank] = be64_to_cpu(h->cookie.cookie);
}

static void hear(const struct canary_hdr *h)
{
	if (h->type == CANARY_WELCOME)
		hear_welcome(h);
	else if (h->type == CANARY_COOKIE)
		hear_cookie(h);
	play.probed |= h->type == CANARY_PROBE;
	play.over |= h->type == CANARY_LEAVE || h->type == CANARY_ABORT;
	if (play.silent)
		return;
	switch (h->type) {
	case CANARY_CONTRIBUTION:
		if (canary_before(play.begun, be32_to_cpu(h->block) + 1))
			play.begun = be32_to_cpu(h->block) + 1;
		result(h);
		break;
	case CANARY_REQUEST:
		result(h);
		break;
	case CANARY_FAILURE:
		contribute(be16_to_cpu(h->request.to), be32_to_cpu(h->block), h->attempt, 1,
			   h->flags & CANARY_F_BYPASS);
		break;
	case CANARY_PROBE:
		alive(h);
		break;
	}
}

/* The number of packets is limited, as each answer may cause a new question. */
static void listen_once(void)
{
	static u8 packet[CANARY_PAYLOAD_MAX + sizeof(struct canary_hdr)]
		__attribute__((__aligned__(8)));
	u32 n;

	for (n = 0; n < HEARD && recv(play.udp, packet, sizeof(packet), MSG_DONTWAIT) > 0; n++)
		hear((const void *)packet);
}

/* Wait for a packet. Ends the program if the phase has gone on for too long. */
static void listen_until(u64 limit)
{
	struct pollfd pfd = { .fd = play.udp, .events = POLLIN };

	poll(&pfd, 1, 1);
	listen_once();
	errno = ETIME;
	if (now_ns() > limit)
		die_errno("rank 0 does not answer");
}

static void join_all(void)
{
	u32 rank;

	for (rank = 1; rank < play.members && !play.ready; rank++) {
		join(rank);
		if (!(rank % BURST))
			listen_once();
	}
	listen_once();
}

static void contribute_all(u32 block)
{
	u32 rank;

	for (rank = 1; rank < play.members; rank++) {
		contribute(rank, block, 0, 1, false);
		if (!(rank % BURST))
			listen_once();
	}
}

/* ---- rank 0, and what happens ---- */

static void rank0(u32 comm, u32 dead, const struct sockaddr_canary *addr)
{
	struct canary_comm_req req = {
		.id = comm, .members = play.members, .mtu = MTU,
	};
	u32 tree = CANARY_ALG_TREE, linger = LINGER_MS;

	play.fd = socket(AF_CANARY, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	if (play.fd < 0 ||
	    setsockopt(play.fd, SOL_CANARY, CANARY_COMM, &req, sizeof(req)) ||
	    setsockopt(play.fd, SOL_CANARY, CANARY_ALGORITHM, &tree, sizeof(tree)) ||
	    setsockopt(play.fd, SOL_CANARY, CANARY_DEAD_AFTER, &dead, sizeof(dead)) ||
	    setsockopt(play.fd, SOL_CANARY, CANARY_LINGER, &linger, sizeof(linger)))
		die_errno("AF_CANARY");
	if (!connect(play.fd, (const void *)addr, sizeof(*addr)) || errno != EINPROGRESS)
		die_errno("connect");
}

static void others(u32 comm, const struct sockaddr_canary *root)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_addr.s_addr = canary_addr_ip4(&root->scan_addr),
		.sin_port = root->scan_port,
	};
	struct cnr_config cfg = {
		.comm = comm, .rank = 1, .members = play.members, .mtu = MTU,
		.addr = root->scan_addr, .port = htons(ntohs(root->scan_port) + 1),
		.root = root->scan_addr, .root_port = root->scan_port,
	};
	struct sockaddr_in own = sin;
	int room = 256 << 20;

	own.sin_port = cfg.port;
	play.c = cnr_init(calloc(1, cnr_size(&cfg)), &cfg);
	play.cookie = calloc(play.members, sizeof(*play.cookie));
	play.udp = socket(AF_INET, SOCK_DGRAM, 0);
	if (play.udp < 0 || setsockopt(play.udp, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    bind(play.udp, (const void *)&own, sizeof(own)) ||
	    connect(play.udp, (const void *)&sin, sizeof(sin)))
		die_errno("UDP");
}

static void rendezvous(u32 comm, u32 dead)
{
	struct sockaddr_canary addr = {
		.scan_family = AF_CANARY, .scan_addr = CANARY_ADDR_IP4(htonl(INADDR_LOOPBACK + comm)),
		.scan_port = htons(CANARY_PORT_BASE),
	};
	u64 limit = now_ns() + LIMIT_S * CNR_SEC;

	play.ready = false;
	play.over = false;
	play.silent = false;
	play.dying = false;
	play.probed = false;
	play.seq = 0;
	play.blocks = max_t(u32, play.members, BLOCKS_LEAST);
	others(comm, &addr);
	rank0(comm, dead, &addr);
	while (!play.ready) {
		join_all();
		listen_until(limit);
	}
}

/*
 * Send a packet of a ring, although there is none: it makes the module compute the order of the
 * ring.
 */
static void ring(void)
{
	struct cnr_out out;

	speak_as(1);
	cnr_header(play.c, &out, CANARY_RING_REQUEST, play.base);
	out.hdr.ring_request.question = cpu_to_be32(1);
	say(&out);
}

static void post(void)
{
	size_t bytes = (size_t)play.blocks * ELEMENTS * sizeof(u32);
	struct cnr_op op = {
		.op = CANARY_OP_SUM, .dtype = CANARY_INT32, .elements = bytes / sizeof(u32),
	};
	void *data = calloc(1, bytes);

	play.led = play.base + (play.members - play.base % play.members) % play.members;
	play.opsig = cnr_opsig(&op, play.seq++, CANARY_ALG_TREE);
	play.contributed = false;
	if (send(play.fd, data, bytes, 0) != bytes)
		die_errno("send");
	free(data);
}

/* Contributions to the block that rank 0 leads come when rank 0 has begun the block before. */
static bool led_begun(void)
{
	return !canary_before(play.begun, play.led);
}

/* @forged: a forged aggregate comes before the contributions of the ranks */
static void operation(bool forged)
{
	size_t bytes = (size_t)play.blocks * ELEMENTS * sizeof(u32);
	u64 limit = now_ns() + LIMIT_S * CNR_SEC;
	void *data = malloc(bytes);

	post();
	while (recv(play.fd, data, bytes, 0) != bytes) {
		if (errno != EAGAIN)
			die_errno("recv");
		/* in small communicators rank 0 leads several blocks */
		for (; led_begun() && canary_before(play.led, play.base + play.blocks);
		     play.led += play.members) {
			if (forged && play.members > 2)
				contribute(1, play.led, 0, play.members - 1, false);
			contribute_all(play.led);
		}
		listen_until(limit);
	}
	free(data);
	play.base += play.blocks;
	play.begun = play.base;
}

/* All ranks say that they have all results. */
static void done(void)
{
	struct cnr_out out;
	u32 rank;

	for (rank = 1; rank < play.members; rank++) {
		speak_as(rank);
		cnr_header(play.c, &out, CANARY_ACK, 0);
		out.hdr.ack.acked = cpu_to_be32(play.base);
		say(&out);
		if (!(rank % BURST))
			listen_once();
	}
	listen_once();
}

/* Wait until rank 0 has said goodbye twice to each rank. */
static void await_end(void)
{
	u64 limit = now_ns() + LIMIT_S * CNR_SEC, quiet = CNR_NEVER;

	while (now_ns() < quiet) {
		if (play.over)
			quiet = now_ns() + QUIET_MS * CNR_MSEC;
		play.over = false;
		listen_until(limit);
	}
}

static void leave(bool close_it)
{
	if (close_it)
		close(play.fd);
	await_end();
	if (!close_it)
		close(play.fd);
	close(play.udp);
	free(play.c);
	free(play.cookie);
}

/* When rank 0 asks for the first time, all ranks stop to answer. */
static void die_all(void)
{
	u64 limit = now_ns() + LIMIT_S * CNR_SEC;

	post();
	play.dying = true;
	while (!play.probed && !play.over)
		listen_until(limit);
	play.silent = true;
	leave(false);
}

/*
 * A member that is alone completes its operations at once, and may hold as many as fit into its
 * memory.
 */
static void unread(u32 comm)
{
	struct sockaddr_canary addr = {
		.scan_family = AF_CANARY, .scan_addr = CANARY_ADDR_IP4(htonl(INADDR_LOOPBACK + comm)),
		.scan_port = htons(CANARY_PORT_BASE),
	};
	struct canary_comm_req req = { .id = comm, .members = 1 };
	int fd = socket(AF_CANARY, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	u32 i;

	if (fd < 0 || setsockopt(fd, SOL_CANARY, CANARY_COMM, &req, sizeof(req)) ||
	    connect(fd, (const void *)&addr, sizeof(addr)))
		die_errno("one that is alone");
	for (i = 0; i < UNREAD; i++)
		if (send(fd, NULL, 0, 0))
			die_errno("send");
	close(fd);
}

/* Delay packets, or stop to do so. */
static void delay(const char *what)
{
	char command[128];

	snprintf(command, sizeof(command), "tc qdisc %s dev lo root netem %s", what, TOGETHER);
	if (system(command))
		die_errno(command);
}

/* The operation fails, and rank 0 says so twice to each rank. */
static void leave_early(void)
{
	struct cnr_out out;

	speak_as(1);
	cnr_header(play.c, &out, CANARY_LEAVE, 0);
	out.hdr.leave.end = cpu_to_be32(play.base);
	out.hdr.leave.acked = cpu_to_be32(play.base);
	say(&out);
}

/*
 * Ranks of many communicators fall silent at once. Rank 0 of each asks all its ranks, again and
 * again.
 * @leaving:	instead, one rank of each communicator leaves, all at once
 */
static void many(u32 comm, bool leaving)
{
	static struct play all[MANY];
	u32 i;

	play.members = MANY_MEMBERS;
	for (i = 0; i < MANY; i++) {
		rendezvous(comm + i, leaving ? DEAD_MS : DEAD_MS / 1000);
		all[i] = play;
	}
	for (i = 0; i < MANY; i++) {
		play = all[i];
		post();
	}
	if (leaving) {
		delay("add");
		for (i = 0; i < MANY; i++) {
			play = all[i];
			leave_early();
		}
	}
	usleep(MANY_MS * 1000);
	if (leaving)
		delay("del");
	for (i = 0; i < MANY; i++) {
		close(all[i].fd);
		close(all[i].udp);
		free(all[i].c);
		free(all[i].cookie);
	}
}

int main(int argc, char **argv)
{
	play.members = argc > 1 ? atoi(argv[1]) : 0;
	if (play.members < 3 || play.members > CANARY_MEMBERS_MAX) {
		fprintf(stderr, "usage: softirq MEMBERS\n");
		return 2;
	}
	measure();
	printf("{");
	rendezvous(1, DEAD_MS);
	phase_over("rendezvous", false);
	ring();
	phase_over("ring", false);
	operation(false);
	phase_over("operation", false);
	done();
	phase_over("done", false);
	operation(true);
	phase_over("forged", false);
	leave(true);
	phase_over("leave", false);
	rendezvous(2, DEAD_LEAST_MS);
	die_all();
	phase_over("dead", false);
	unread(3);
	phase_over("unread", false);
	many(4, false);
	phase_over("many", false);
	many(4 + MANY, true);
	phase_over("leaving", true);
	printf("}\n");
	return 0;
}
