/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The little world that the switch tests take place in: a switch with four ports, who is
 * behind them, and packets described by what they say. The frames are made here, by code that
 * shares nothing with bpf/lib; what is expected of the switch is made by it too.
 */
#ifndef SELFTESTS_BPF_WORLD_H
#define SELFTESTS_BPF_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/types.h>
#include <linux/canary_wire.h>

#ifndef cnr_be16
#include <endian.h>
#define cnr_be16(x)	be16toh(x)
#define cnr_be32(x)	be32toh(x)
#endif
#include "core/parse.h"
#include "bpf/shared.h"

#define PORTS		4
#define FRAME_MAX	4096
#define FRAME_DATA	106	/* where a frame's elements begin */
#define WORLD_QUEUE	25500	/* bytes that may wait at the egress of a port */
#define KERNEL		0	/* the port that stands for "left to the kernel" */

#define MSEC		1000000ULL

/* Members on hosts, and others. In this order in the table of world.c. */
enum who {
	NOBODY,
	SELF,		/* the switch */
	LEADER,		/* behind the gateway of port 4 */
	H1,		/* on port 1 */
	H1B,		/* another rank on the same host: another UDP port */
	H2,		/* behind a plain router on port 1 */
	H3,		/* on port 2 */
	H4,		/* on port 3 */
	SWITCH2,	/* another switch, on port 2 */
	MULTI,		/* a leader with two equal-cost next hops: ports 3 and 4 */
	ABSENT,		/* on port 3, but only the kernel knows its link-layer address */
	ABSENT2,	/* another one */
	NOWHERE,	/* there is no route to it */
	LOCAL,		/* on the switch's own machine */
	FAR,		/* behind a port that takes only small packets */
	PEOPLE,
};

struct person {
	__be32 addr;
	__be16 udp;
	uint8_t mac[6];		/* of the next hop towards it */
	int port;
};

extern const struct person people[PEOPLE];

/* A VLAN of port 3 that is a port of the switch itself */
#define VLAN_PORT	3
#define VLAN_TAG	(0x8100U << 16 | 30)

/* Which data are in a packet: a bit for each member */
#define R(n)		(1U << (n))

/*
 * struct msg - a packet, by what it says; 0 means the usual
 * @from, @to: who
 * @type: a contribution by default
 * @ranks: whose data are in it; with one rank the packet has its rank and mac
 * @poke: bytes to be overwritten at the end, up to a 0 offset; then the IP checksum is set
 *	right again if @fix_ip
 * @cut: shorten the frame (or lengthen it) by so many bytes, whatever the headers say
 */
/* What is in the UDP header */
enum udp_checksum {
	WHOLE,
	LEFT_OUT,	/* the sum of the pseudo header: a virtual link does not need more; of what
			 * leaves: if the kernel gets it
			 */
	LEFT_OUT_STILL,	/* of what leaves: in any case */
	WRONG,
	NONE,
};

struct msg {
	enum who from, to;
	uint8_t type, flags, attempt, load, ttl, kind, path;
	uint32_t ranks;
	uint32_t block, opsig, done, comm, epoch;
	uint16_t members, elements;
	bool no_elements;
	bool no_last;
	enum udp_checksum checksum;
	enum who origin;
	enum who child[4];
	uint16_t children;	/* that many made-up ones instead */
	uint16_t list;		/* number of the restoration, or of the one that the result follows */
	bool old_cookies;	/* under the switch's last secret */
	bool bad_cookie;	/* of the last child */
	uint8_t salt;		/* other data and tags from the same ranks */
	bool other_mac;		/* addressed to another machine on the link */
	uint32_t tag[5];	/* of VLANs, the outer one first: type << 16 | VLAN */
	struct {
		uint16_t offset;
		uint8_t value;
	} poke[6];
	bool fix_ip;
	int cut;
};

struct frame {
	int port;
	uint32_t length;
	uint8_t bytes[FRAME_MAX];
};

/* Addresses of the switch's ports, its routes and neighbours, as the daemon would set them */
void world_port(int port, struct csw_port *p, bool shaped);
int world_routes(struct csw_route_key *key, struct csw_route *route, int i);
int world_neighbours(struct csw_neigh_key *key, struct csw_neigh *neigh, int i);
/* Neighbours that only the kernel knows */
int world_kernel_neighbours(struct csw_neigh_key *key, struct csw_neigh *neigh, int i);

/* Who is admitted where that is asked: see world.c */
int world_admissions(struct csw_admission_key *key, struct csw_admission *admission, int i);

/* The switch's secrets, the present one first. Cookies are made with them by themselves. */
extern const uint64_t world_secret[2][2];

/* Frames leave by the kernel, which knows what was left out. */
extern bool world_shaped;

/* The UDP checksum of a frame that was changed */
void frame_checksum(struct frame *f);

/* The frame that says @m, as it arrives at @port from outside. */
void frame_in(struct frame *f, int port, const struct msg *m);

/*
 * The frame that says @m, as the switch sends it out of @port; for KERNEL as it would leave the
 * frame that came in at @in_port.
 */
void frame_out(struct frame *f, int port, int in_port, const struct msg *m);

/* The element that a rank contributes */
uint32_t element(int rank, uint32_t block, uint8_t salt, uint32_t i);
uint64_t tag_of(int rank, const struct msg *m);

#endif /* SELFTESTS_BPF_WORLD_H */
