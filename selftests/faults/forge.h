/* SPDX-License-Identifier: BSD-2-Clause */
/* What the makers and the senders of forged packets share. One thread owns all of it. */
#ifndef FORGE_H
#define FORGE_H

#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdint.h>
#include <linux/canary_wire.h>

#define TARGETS_MAX	64
#define SNIFF_MAX	16
#define SEEN_MAX	256

enum kind { CONTRIBUTIONS, RESULTS, RESTORATIONS, RENDEZVOUS, ALL, OVERTAKING, HOSTILE, KINDS };

struct packet {
	struct iphdr		ip;
	struct udphdr		udp;
	struct canary_hdr	h;
	uint32_t		data[CANARY_ELEMENTS_MAX];
} __attribute__((packed));

/* Targets, from the command line */
struct forge_options {
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
};

/* struct forge_count - counters; of the packets in @observed, the last SEEN_MAX are kept */
struct forge_count {
	uint64_t sent, bytes, observed, refused, results_read, kind[KINDS];
};

extern struct forge_options opt;
extern struct forge_count count;
extern struct packet seen[SEEN_MAX];
extern struct in_addr own;
extern uint64_t state;	/* of the generator of random numbers */

/* forge() - make a packet of opt.kind, with lengths, but without checksums */
void forge(struct packet *p);

#endif
