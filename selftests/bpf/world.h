/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The world of the switch tests: a switch with four ports, the hosts behind them, and packets
 * described by what they say. The code that makes frames shares nothing with bpf/lib. The frames
 * that are expected of the switch are made by it, too.
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
#define FRAME_DATA	106	/* offset of a frame's elements */
#define WORLD_QUEUE	25500	/* bytes that may wait at the egress of a port */
#define KERNEL		0	/* the port that stands for "left to the kernel" */

#define MSEC		1000000ULL

/* Members on hosts, and other nodes. The table of world.c has the same order. */
enum who {
	NOBODY,
	SELF,		/* the switch */
	LEADER,		/* behind the gateway of port 4 */
	H1,		/* on port 1 */
	H1B,		/* another rank on the same host, with another UDP port */
	H2,		/* behind a plain router on port 1 */
	H3,		/* on port 2 */
	H4,		/* on port 3 */
	SWITCH2,	/* another switch, on port 2 */
	MULTI,		/* a leader with two equal-cost next hops: ports 3 and 4 */
	ABSENT,		/* on port 3, but only the kernel knows its link-layer address */
	ABSENT2,	/* the same as ABSENT */
	NOWHERE,	/* there is no route to it */
	LOCAL,		/* on the switch's own machine */
	FAR,		/* behind a port with a small MTU */
	PEOPLE,
};

struct person {
	__be32 addr;
	__be16 udp;
	uint8_t mac[6];		/* of the next hop towards it */
	int port;
};

extern const struct person people[PEOPLE];

/* A VLAN of port 3 that is a port of the switch, too */
#define VLAN_PORT	3
#define VLAN_TAG	(0x8100U << 16 | 30)

/* Keys of ports: a sum tells how many children are behind each. There are groups of so many. */
#define WORLD_KEY(port)		(1ULL << 8 * ((port) - 1))
#define WORLD_KEY_COUNT(key, port)	((key) >> 8 * ((port) - 1) & 0xff)
#define WORLD_GROUP_MAX	5

/* A bit for each member whose data are in a packet */
#define R(n)		(1U << (n))

#define UNKNOWN_KIND	CANARY_KIND(9, 2)

/*
 * struct msg - a packet, by what it says; 0 means the usual value
 *
 * @from, @to:	sender and receiver
 * @type:	0: a contribution
 * @ranks:	members whose data are in it; with one rank the packet has its rank and mac
 * @poke:	bytes to overwrite at the end; a 0 offset ends the list. The IP checksum is
 *		corrected after that if @fix_ip
 * @cut:	shorten the frame by so many bytes (or lengthen it), whatever the headers say
 */
/* The checksum in the UDP header */
enum udp_checksum {
	WHOLE,
	/* Sum of the pseudo header, as on virtual links. In what leaves: if the kernel sends it. */
	LEFT_OUT,
	LEFT_OUT_STILL,	/* in what leaves: unless it is broadcast */
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
	uint16_t children;	/* instead of @child: so many made-up children */
	uint16_t list;		/* number of the restoration that it is or belongs to */
	uint32_t tree;		/* RESULT: down whose tree it goes */
	bool old_cookies;	/* made with the switch's last secret */
	bool bad_cookie;	/* the last child has a wrong one */
	uint8_t salt;		/* changes data and tags of the ranks */
	bool other_mac;		/* sent to another machine on the link */
	uint32_t tag[5];	/* VLAN tags, the outer one first: type << 16 | VLAN */
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

/* The addresses of the switch's ports, its routes and neighbours, as the daemon would set them */
void world_port(int port, struct csw_port *p, bool shaped);
int world_routes(struct csw_route_key *key, struct csw_route *route, int i);
int world_neighbours(struct csw_neigh_key *key, struct csw_neigh *neigh, int i);
/* Neighbours that only the kernel knows */
int world_kernel_neighbours(struct csw_neigh_key *key, struct csw_neigh *neigh, int i);

/* Return: does a group of ports have that key? */
bool world_group(uint64_t key);

/* Who is admitted by the rules: see world.c */
int world_admissions(struct csw_admission_key *key, struct csw_admission *admission, int i);

/* The switch's secrets, the present one first. The tests compute cookies from them on their own. */
extern const uint64_t world_secret[2][2];

/* Frames leave through the kernel, which completes checksums. */
extern bool world_shaped;

/* Results with several copies are broadcast. */
extern bool world_groups;

/* The usual kind of data */
extern uint8_t world_kind;

/* Set the UDP checksum of a frame that was changed. */
void frame_checksum(struct frame *f);

/* Make the frame for @m, as it arrives at @port from outside. */
void frame_in(struct frame *f, int port, const struct msg *m);

/*
 * Make the frame for @m, as the switch sends it out of @port. For KERNEL, it is as the frame that
 * came in at @in_port would leave.
 */
void frame_out(struct frame *f, int port, int in_port, const struct msg *m);

uint64_t tag_of(int rank, const struct msg *m);

/* payload.c */
uint64_t mix(uint64_t x);
/* What a rank contributes */
void payload_of(int rank, const struct msg *m, uint8_t *p);
/* What comes of the data of all ranks of @m. Return: their checksum */
uint32_t payload_elements(uint8_t *p, const struct msg *m);
void payload_combine(uint8_t kind, uint8_t *to, const uint8_t *more, uint32_t bytes);
uint32_t payload_checksum(const uint8_t *p, uint32_t bytes);

#endif /* SELFTESTS_BPF_WORLD_H */
