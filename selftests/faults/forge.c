// SPDX-License-Identifier: BSD-2-Clause
/*
 * A forger: it is no member, has no key, and sends all the packets that it can think of. They go to
 * members and switches, from made-up addresses, at a given rate, until it is ended.
 *
 *	forge --kind contributions|results|restorations|rendezvous|all|overtaking|hostile --comm ID --members N
 *	      --member A:P ... [--switch A ...] [--rate BITS] [--seed N] [--sniff NETNS:DEV ...]
 *
 * Without --sniff it knows the communicator, its members and the switches, and guesses the rest.
 * With --sniff it sees all packets of these devices. It sends them again: as they were, with other
 * data, or with a field changed. It also sends contributions that it saw from its own address, as a
 * child that does not exist.
 *
 * "overtaking" are contributions with other data, under a right sum, and otherwise unchanged. They
 * are taken if, and only if, they come first. "hostile" are packets of every type: random ones, and
 * packets that it saw, unchanged, with bytes changed, or cut off.
 *
 * It prints "at work" when it has sent WORK (or WORK_HOSTILE) packets made of what it saw. It
 * prints one JSON object when SIGTERM ends it. results_read counts results that were sent to it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
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
#include "forge.h"

#define DIE_STATUS	2
#include "selftests/die.h"

#define FRAME_MAX	2048
#define BURST_NS	2000000		/* how much it may send ahead of the rate, as time */
#define WORK		50
#define WORK_HOSTILE	1000

static const char * const kind_names[] = {
	"contributions", "results", "restorations", "rendezvous", "all", "overtaking",
	"hostile",
};

struct forge_options opt = { .kind = ALL, .rate = 100000000 };
struct forge_count count;
struct packet seen[SEEN_MAX];
struct in_addr own;
uint64_t state = 1;
static volatile sig_atomic_t over;

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

/* Return: is there a Canary packet in the frame? */
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

/* Count results of the communicator that come to our own address. */
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
		die_errno("packet socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	if (device) {
		sll.sll_ifindex = if_nametoindex(device);
		if (!sll.sll_ifindex || bind(fd, (struct sockaddr *)&sll, sizeof(sll)))
			die_errno(device);
	}
	return fd;
}

static void add_sniff(char *text)
{
	int back = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), there;
	char *device = strrchr(text, ':');

	if (!device || opt.nsniff == SNIFF_MAX)
		die("--sniff: %s", text);
	*device++ = 0;
	there = open(text, O_RDONLY | O_CLOEXEC);
	if (there < 0 || setns(there, CLONE_NEWNET))
		die_errno(text);
	opt.sniff[opt.nsniff++] = open_tap(device);
	if (setns(back, CLONE_NEWNET))
		die_errno("setns");
	close(there);
	close(back);
}

static void add_member(char *text)
{
	struct sockaddr_in *to = &opt.member[opt.nmember++];
	char *port = strchr(text, ':');

	if (opt.nmember > TARGETS_MAX || !port)
		die("--member: %s", text);
	*port++ = 0;
	if (!inet_aton(text, &to->sin_addr))
		die("--member: %s", text);
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
				die("--kind: %s", optarg);
			break;
		case 'c': opt.comm = strtoul(optarg, NULL, 0); break;
		case 'n': opt.members = atoi(optarg); break;
		case 'm': add_member(optarg); break;
		case 's':
			if (opt.nswitches == TARGETS_MAX ||
			    !inet_aton(optarg, &opt.switches[opt.nswitches++]))
				die("--switch: %s", optarg);
			break;
		case 'o': own.s_addr = inet_addr(optarg); break;
		case 'r': opt.rate = strtoull(optarg, NULL, 0); break;
		case 'S': state = strtoull(optarg, NULL, 0); break;
		case 'f': add_sniff(optarg); break;
		default: exit(2);
		}
	}
	if (!opt.nmember || opt.members < 2 || !own.s_addr || !opt.rate)
		die("usage: see the head of forge.c");
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
		die_errno("raw socket");
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
