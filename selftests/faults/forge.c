// SPDX-License-Identifier: BSD-2-Clause
/*
 * Somebody who is not a member, has no key, and sends all the packets it can think of: to
 * members and switches, from made-up addresses, at the rate it is told, until it is ended.
 *
 *	forge --kind contributions|results|restorations|rendezvous|all|overtaking|hostile --comm ID --members N
 *	      --member A:P ... [--switch A ...] [--rate BITS] [--seed N] [--sniff NETNS:DEV ...]
 *
 * Without --sniff it knows the communicator, its members and the switches, and guesses the rest.
 * With it, it sees all packets of these devices, and sends what it saw again: as it was, with
 * other data, and with one field or another altered. Observed contributions are sent by its own
 * address, too: as a child that there is not. "Overtaking" are contributions with other data under
 * the right checksum, and nothing else altered: right if, and only if, they come first. "Hostile"
 * are packets of every type that nobody thought about: random ones, and seen ones as they were, with
 * bytes altered, or cut off.
 *
 * Prints "at work" when it has sent WORK packets (or WORK_HOSTILE) that it made of what it saw, and one JSON object
 * when SIGTERM ends it. results_read counts results that were sent to it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <linux/canary_wire.h>

#define TARGETS_MAX	64
#define SNIFF_MAX	16
#define SEEN_MAX	256
#define FRAME_MAX	2048
#define BURST_NS	2000000		/* of sending ahead of the rate */
#define WORK		50
#define WORK_HOSTILE	1000

enum kind { CONTRIBUTIONS, RESULTS, RESTORATIONS, RENDEZVOUS, ALL, OVERTAKING, HOSTILE, KINDS };

static const char * const kind_names[] = {
	"contributions", "results", "restorations", "rendezvous", "all", "overtaking",
	"hostile",
};

struct packet {
	struct iphdr		ip;
	struct udphdr		udp;
	struct canary_hdr	h;
	uint32_t		data[CANARY_ELEMENTS_MAX];
} __attribute__((packed));

static struct {
	enum kind		kind;
	uint32_t		comm;
	unsigned int		members;
	struct sockaddr_in	member[TARGETS_MAX];
	unsigned int		nmember;
	struct in_addr		switches[TARGETS_MAX];
	unsigned int		nswitches;
	uint64_t		rate;
	int			sniff[SNIFF_MAX];
	unsigned int		nsniff;
} opt = { .kind = ALL, .rate = 100000000 };

static struct {
	uint64_t sent, bytes, observed, refused, results_read, kind[KINDS];
} count;

static struct packet seen[SEEN_MAX];
static struct in_addr own;
static uint64_t state = 1;
static volatile sig_atomic_t over;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "forge: %s: %s\n", what, why);
	exit(2);
}

static void on_term(int sig)
{
	over = 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static uint64_t rnd(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static unsigned int below(unsigned int n)
{
	return n ? rnd() % n : 0;
}

static uint32_t checksum(const struct packet *p)
{
	uint32_t sum = 0;
	unsigned int i;

	for (i = 0; i < ntohs(p->h.elements) && i < CANARY_ELEMENTS_MAX; i++)
		sum += le32toh(p->data[i]);
	return sum;
}

/* Bytes of the UDP payload that the header asks for */
static unsigned int payload(const struct packet *p)
{
	switch (p->h.type) {
	case CANARY_CONTRIBUTION:
	case CANARY_RESULT:
		return sizeof(p->h) + ntohs(p->h.elements) * 4;
	case CANARY_RESTORATION:
		return sizeof(p->h) + ntohs(p->h.children) * sizeof(struct canary_restored);
	case CANARY_JOIN:
		return sizeof(p->h) + 1408;
	case CANARY_WELCOME:
		return sizeof(p->h) + sizeof(struct canary_welcome) + ntohs(p->h.children) *
			(p->h.flags & CANARY_F_WAITING ? 2 : sizeof(struct canary_peer));
	case CANARY_ABORT:
		return sizeof(p->h) + ntohs(p->h.children) * 2;
	}
	return sizeof(p->h);
}

static void address(struct packet *p, struct in_addr from, struct in_addr to, uint16_t port)
{
	p->ip.saddr = from.s_addr;
	p->ip.daddr = to.s_addr;
	p->udp.source = htons(CANARY_PORT_BASE);
	p->udp.dest = port;
}

static const struct sockaddr_in *any_member(void)
{
	return &opt.member[below(opt.nmember)];
}

static struct in_addr any_switch(void)
{
	return opt.nswitches ? opt.switches[below(opt.nswitches)] : any_member()->sin_addr;
}

/* Its own address, a member's, a switch's */
static struct in_addr any_source(void)
{
	switch (below(3)) {
	case 0: return own;
	case 1: return any_member()->sin_addr;
	}
	return any_switch();
}

static void randomize(struct packet *p, unsigned int elements)
{
	unsigned int i;

	p->h.elements = htons(elements);
	for (i = 0; i < elements; i++)
		p->data[i] = rnd();
	p->h.sum = htonl(checksum(p));
}

/* A header as one who knows the protocol, but not the communicator's secrets, writes it */
static void guess(struct packet *p, enum canary_type type)
{
	memset(p, 0, sizeof(p->ip) + sizeof(p->udp) + sizeof(p->h));
	p->h.version = CANARY_VERSION;
	p->h.type = type;
	p->h.comm = htonl(opt.comm);
	p->h.epoch = rnd();
	p->h.block = rnd();
	p->h.opsig = rnd();
	p->h.members = htons(opt.members);
	p->h.rank = htons(below(opt.members));
	p->h.tag = rnd();
	p->h.mac = rnd();
	p->h.done = rnd();
}

/* One that was seen, or a guess while there is none; its data comes along. */
static bool observe(struct packet *p, enum canary_type type)
{
	unsigned int i, at;

	for (i = 0; opt.nsniff && i < 32; i++) {
		at = below(count.observed < SEEN_MAX ? count.observed : SEEN_MAX);
		if (count.observed && (seen[at].h.type == type || i > 16)) {
			memcpy(p, &seen[at], sizeof(*p));
			if (p->h.type == type)
				return true;
			/* Another type with the same secrets in it */
			p->h.type = type;
			p->h.flags = 0;
			if (type != CANARY_RESTORATION)
				p->h.cookie = 0;
			return true;
		}
	}
	guess(p, type);
	return false;
}

static void alter(struct packet *p)
{
	switch (below(8)) {
	case 0: p->h.tag = rnd(); break;
	case 1: p->h.block = htonl(ntohl(p->h.block) + below(64)); break;
	case 2: p->h.attempt += 1 + below(2); break;
	case 3: p->h.done = htonl(ntohl(p->h.block) + below(128)); break;
	case 4: p->h.rank = htons(below(opt.members)); break;
	case 5: p->h.flags ^= CANARY_F_BYPASS; break;
	case 6: p->h.load = rnd(); break;
	}
}

static void contribution(struct packet *p)
{
	bool real = observe(p, CANARY_CONTRIBUTION);
	struct in_addr to = { real ? p->ip.daddr : any_member()->sin_addr.s_addr };
	uint16_t port = real ? p->udp.dest : any_member()->sin_port;
	uint32_t sum;

	p->h.op = CANARY_OP_SUM;
	p->h.dtype = CANARY_INT32;
	if (!real)
		randomize(p, CANARY_ELEMENTS(1500));
	if (!p->h.count || ntohs(p->h.count) >= opt.members || !below(4))
		p->h.count = htons(1 + below(opt.members - 1));
	switch (real ? below(3) : 3) {
	case 0:
		break;
	case 1:
		sum = p->h.sum;
		randomize(p, ntohs(p->h.elements));
		p->h.sum = sum;
		break;
	default:
		alter(p);
	}
	address(p, any_source(), to, port);
}

static void overtaking(struct packet *p)
{
	struct in_addr to;

	if (!observe(p, CANARY_CONTRIBUTION) || p->h.op != CANARY_OP_SUM)
		return contribution(p);
	to.s_addr = p->ip.daddr;
	randomize(p, ntohs(p->h.elements));
	address(p, any_source(), to, p->udp.dest);
}

static void result(struct packet *p)
{
	const struct sockaddr_in *to = any_member();

	observe(p, CANARY_RESULT);
	p->h.op = CANARY_OP_SUM;
	p->h.dtype = CANARY_INT32;
	p->h.count = htons(opt.members);
	/* The leader says it, to whom is for it to choose. */
	p->h.rank = htons(ntohl(p->h.block) % opt.members);
	randomize(p, ntohs(p->h.elements) ?: CANARY_ELEMENTS(1500));
	if (below(2))
		alter(p);
	address(p, any_source(), below(3) ? to->sin_addr : any_switch(), to->sin_port);
}

static void restoration(struct packet *p)
{
	struct canary_restored child = { .port = htons(CANARY_PORT_BASE) };
	unsigned int n = 1 + below(8), i;

	observe(p, CANARY_RESTORATION);
	/* of a contribution that was bypassed, if one was seen */
	child.cookie = p->h.cookie;
	p->h.cookie = 0;
	p->h.elements = 0;
	p->h.count = 0;
	p->h.children = htons(n);
	for (i = 0; i < n; i++) {
		child.addr = any_source().s_addr;
		memcpy((char *)p->data + i * sizeof(child), &child, sizeof(child));
	}
	address(p, any_source(), any_switch(), htons(CANARY_PORT_BASE));
}

/* All that sets up, holds up and ends communicators */
static void rendezvous(struct packet *p)
{
	static const enum canary_type types[] = {
		CANARY_JOIN, CANARY_WELCOME, CANARY_ABORT, CANARY_LEAVE, CANARY_FAILURE,
		CANARY_REQUEST, CANARY_WAIT, CANARY_PROBE, CANARY_ALIVE, CANARY_DONE,
	};
	const struct sockaddr_in *to = any_member();
	unsigned int i;

	observe(p, types[below(sizeof(types) / sizeof(types[0]))]);
	p->h.elements = 0;
	p->h.count = 0;
	if (p->h.type == CANARY_JOIN || p->h.type == CANARY_WELCOME) {
		p->h.count = htons(64);
		p->h.elements = htons(CANARY_ELEMENTS(1500));
		p->h.tag = rnd();
		if (below(2))
			p->h.epoch = 0;
	}
	if (p->h.type == CANARY_WELCOME || p->h.type == CANARY_ABORT) {
		p->h.children = htons(1 + below(opt.members));
		p->h.count = htons(1 + below(4));
	}
	if (p->h.type == CANARY_FAILURE)
		p->h.attempt++;
	if (p->h.type == CANARY_DONE || p->h.type == CANARY_LEAVE)
		p->h.done = htonl(ntohl(p->h.block) + 1 + below(1000));
	for (i = 0; i < 360; i++)
		p->data[i] = rnd();
	address(p, any_source(), to->sin_addr, to->sin_port);
}

/* Any type, any header, any data: to a port that is listened to, or it would reach nobody */
static void noise(struct packet *p)
{
	const struct sockaddr_in *to = any_member();
	uint8_t *byte = (uint8_t *)&p->h;
	unsigned int i;

	for (i = 0; i < sizeof(p->h) + sizeof(p->data); i++)
		byte[i] = rnd();
	p->h.version = CANARY_VERSION;
	p->h.type = CANARY_CONTRIBUTION + below(CANARY_TYPE_MAX);
	p->h.elements = htons(below(CANARY_ELEMENTS_MAX));
	if (below(4))
		p->h.comm = htonl(opt.comm);
	address(p, any_source(), below(3) ? to->sin_addr : any_switch(), to->sin_port);
}

/* Return: how many bytes of UDP payload are sent */
static unsigned int hostile(struct packet *p)
{
	unsigned int i, n, length, how = below(4);

	if (!how || !count.observed) {
		noise(p);
		return below(CANARY_ELEMENTS(1500) * 4 + sizeof(p->h));
	}
	*p = seen[below(count.observed < SEEN_MAX ? count.observed : SEEN_MAX)];
	length = payload(p);
	/* his own ones are seen, too */
	if (length > sizeof(p->h) + CANARY_ELEMENTS(1500) * 4)
		length = sizeof(p->h) + CANARY_ELEMENTS(1500) * 4;
	n = how == 2 ? 1 + below(3) : 0;
	for (i = 0; i < n; i++)
		((uint8_t *)&p->h)[below(below(2) ? sizeof(p->h) : length)] = rnd();
	if (n && p->h.type == CANARY_CONTRIBUTION && below(2))
		p->h.sum = htonl(checksum(p));
	if (below(2))
		p->ip.saddr = any_source().s_addr;
	return how == 3 ? below(length) : length;
}

static void forge(struct packet *p)
{
	static void (*const make[])(struct packet *) = {
		contribution, result, restoration, rendezvous, NULL, overtaking,
	};
	enum kind kind = opt.kind == ALL ? below(ALL) : opt.kind;
	unsigned int length;

	if (kind == HOSTILE) {
		length = hostile(p);
	} else {
		make[kind](p);
		length = payload(p);
	}
	count.kind[kind]++;
	p->ip.version = 4;
	p->ip.ihl = 5;
	p->ip.tos = 0;
	p->ip.id = 0;
	p->ip.frag_off = htons(IP_DF);
	p->ip.ttl = 64;
	p->ip.protocol = IPPROTO_UDP;
	p->ip.tot_len = htons(sizeof(p->ip) + sizeof(p->udp) + length);
	p->ip.check = 0;
	p->udp.len = htons(sizeof(p->udp) + length);
	p->udp.check = 0;
}

/* Return: whether there is a Canary packet in the frame */
static bool take(const uint8_t *frame, ssize_t size, struct packet *p)
{
	unsigned int length;

	if (size < (ssize_t)(ETH_HLEN + offsetof(struct packet, data)) ||
	    frame[12] != ETH_P_IP >> 8 || frame[13] != (ETH_P_IP & 255))
		return false;
	length = size - ETH_HLEN;
	if (length > sizeof(*p))
		length = sizeof(*p);
	memset(p, 0, sizeof(*p));
	memcpy(p, frame + ETH_HLEN, length);
	return p->ip.ihl == 5 && p->ip.protocol == IPPROTO_UDP &&
	       (uint16_t)(ntohs(p->udp.dest) - CANARY_PORT_BASE) < CANARY_PORTS;
}

static void sniff(void)
{
	uint8_t frame[FRAME_MAX];
	struct packet p;
	unsigned int i, budget;
	ssize_t size;

	for (i = 0; i < opt.nsniff; i++) {
		for (budget = 0; budget < 64; budget++) {
			size = recv(opt.sniff[i], frame, sizeof(frame), MSG_DONTWAIT);
			if (size < 0)
				break;
			if (!take(frame, size, &p) || p.ip.saddr == own.s_addr || ntohl(p.h.comm) != opt.comm)
				continue;
			seen[count.observed++ % SEEN_MAX] = p;
		}
	}
}

/* Results of the communicator, to our own address */
static void look_at_mail(int fd)
{
	uint8_t frame[FRAME_MAX];
	struct packet p;
	ssize_t size;

	while ((size = recv(fd, frame, sizeof(frame), MSG_DONTWAIT)) > 0)
		if (take(frame, size, &p) && p.ip.daddr == own.s_addr &&
		    p.h.type == CANARY_RESULT && ntohl(p.h.comm) == opt.comm)
			count.results_read++;
}

static int open_tap(const char *device)
{
	struct sockaddr_ll sll = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL)), size = 4 << 20;

	if (fd < 0)
		die("packet socket", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	if (device) {
		sll.sll_ifindex = if_nametoindex(device);
		if (!sll.sll_ifindex || bind(fd, (struct sockaddr *)&sll, sizeof(sll)))
			die(device, strerror(errno));
	}
	return fd;
}

static void add_sniff(char *text)
{
	int back = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), there;
	char *device = strrchr(text, ':');

	if (!device || opt.nsniff == SNIFF_MAX)
		die("--sniff", text);
	*device++ = 0;
	there = open(text, O_RDONLY | O_CLOEXEC);
	if (there < 0 || setns(there, CLONE_NEWNET))
		die(text, strerror(errno));
	opt.sniff[opt.nsniff++] = open_tap(device);
	if (setns(back, CLONE_NEWNET))
		die("setns", strerror(errno));
	close(there);
	close(back);
}

static void add_member(char *text)
{
	struct sockaddr_in *to = &opt.member[opt.nmember++];
	char *port = strchr(text, ':');

	if (opt.nmember > TARGETS_MAX || !port)
		die("--member", text);
	*port++ = 0;
	if (!inet_aton(text, &to->sin_addr))
		die("--member", text);
	to->sin_port = htons(atoi(port));
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "kind",	required_argument, NULL, 'k' },
		{ "comm",	required_argument, NULL, 'c' },
		{ "members",	required_argument, NULL, 'n' },
		{ "member",	required_argument, NULL, 'm' },
		{ "switch",	required_argument, NULL, 's' },
		{ "own",	required_argument, NULL, 'o' },
		{ "rate",	required_argument, NULL, 'r' },
		{ "seed",	required_argument, NULL, 'S' },
		{ "sniff",	required_argument, NULL, 'f' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'k':
			opt.kind = 0;
			while (opt.kind < KINDS && strcmp(kind_names[opt.kind], optarg))
				opt.kind++;
			if (opt.kind == KINDS)
				die("--kind", optarg);
			break;
		case 'c': opt.comm = strtoul(optarg, NULL, 0); break;
		case 'n': opt.members = atoi(optarg); break;
		case 'm': add_member(optarg); break;
		case 's':
			if (opt.nswitches == TARGETS_MAX ||
			    !inet_aton(optarg, &opt.switches[opt.nswitches++]))
				die("--switch", optarg);
			break;
		case 'o': own.s_addr = inet_addr(optarg); break;
		case 'r': opt.rate = strtoull(optarg, NULL, 0); break;
		case 'S': state = strtoull(optarg, NULL, 0); break;
		case 'f': add_sniff(optarg); break;
		default: exit(2);
		}
	}
	if (!opt.nmember || opt.members < 2 || !own.s_addr || !opt.rate)
		die("usage", "see the head of forge.c");
}

static void report(void)
{
	unsigned int i;

	printf("{\"sent\":%llu,\"bytes\":%llu,\"refused\":%llu,\"observed\":%llu,\"results_read\":%llu",
	       (unsigned long long)count.sent, (unsigned long long)count.bytes,
	       (unsigned long long)count.refused, (unsigned long long)count.observed,
	       (unsigned long long)count.results_read);
	for (i = 0; i < KINDS; i++)
		if (i != ALL)
			printf(",\"%s\":%llu", kind_names[i], (unsigned long long)count.kind[i]);
	puts("}");
}

static void send_one(int fd, uint64_t *due)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct packet p;
	unsigned int length;

	forge(&p);
	length = ntohs(p.ip.tot_len);
	to.sin_addr.s_addr = p.ip.daddr;
	if (sendto(fd, &p, length, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to)) < 0)
		count.refused++;
	else
		count.sent++;
	count.bytes += length;
	*due += (length + ETH_HLEN) * 8000000000ULL / opt.rate;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_term };
	unsigned int work = 0;
	uint64_t due, now;
	int fd, mail;

	sigaction(SIGTERM, &sa, NULL);
	parse(argc, argv);
	fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	if (fd < 0)
		die("raw socket", strerror(errno));
	mail = open_tap(NULL);
	due = now_ns();
	while (!over) {
		sniff();
		look_at_mail(mail);
		now = now_ns();
		if (due + BURST_NS < now)
			due = now - BURST_NS;
		if (due > now) {
			usleep((due - now) / 1000 + 50);
			continue;
		}
		send_one(fd, &due);
		if (count.observed && ++work == (opt.kind == HOSTILE ? WORK_HOSTILE : WORK)) {
			puts("at work");
			fflush(stdout);
		}
	}
	look_at_mail(mail);
	report();
	return 0;
}
