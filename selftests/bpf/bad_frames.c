// SPDX-License-Identifier: BSD-2-Clause
/* Frames that are almost a contribution. The switch forwards them unchanged. */
#include "cases.h"

#define IP	14
#define UDP	34
#define HDR	42

/* Apart from one fault, all are a good contribution of H1. */
const struct bad_frame bad_frames[] = {
	{ "IP checksum wrong", { .poke = { { IP + 10, 0x55 } } }, DROPPED(IPHDR) },
	{ "IP length beyond the frame", { .cut = -4 }, DROPPED(IPHDR) },
	{ "IP options", { .poke = { { IP, 0x46 } }, .fix_ip = true }, 0 },
	{ "IP version 6", { .poke = { { IP, 0x65 } }, .fix_ip = true }, 0 },
	{ "not IPv4", { .poke = { { 12, 0x86 }, { 13, 0xdd } } }, 0 },
	{ "a VLAN", { .poke = { { 12, 0x81 } } }, 0 },
	{ "first fragment", { .poke = { { IP + 6, 0x20 } }, .fix_ip = true }, 0 },
	{ "later fragment", { .poke = { { IP + 7, 1 } }, .fix_ip = true }, 0 },
	{ "TCP", { .poke = { { IP + 9, 6 } }, .fix_ip = true }, 0 },
	{ "another UDP port below", { .poke = { { UDP + 2, 0x58 }, { UDP + 3, 0x47 } } }, 0 },
	{ "another UDP port above", { .poke = { { UDP + 2, 0x58 }, { UDP + 3, 0x88 } } }, 0 },
	{ "UDP length too small", { .poke = { { UDP + 5, 0xd8 } } }, DROPPED(LENGTH) },
	{ "UDP length too large", { .poke = { { UDP + 4, 9 } } }, DROPPED(LENGTH) },
	{ "no UDP checksum", { .checksum = NONE }, DROPPED(CHECKSUM) },
	{ "too short for a header",
	  { .cut = -149, .poke = { { IP + 2, 0 }, { IP + 3, 91 }, { UDP + 4, 0 },
				   { UDP + 5, 71 } }, .fix_ip = true },
	  DROPPED(SHORT) },
	{ "no Canary header at all",
	  { .cut = -212, .poke = { { IP + 2, 0 }, { IP + 3, 28 }, { UDP + 4, 0 },
				   { UDP + 5, 8 } }, .fix_ip = true },
	  DROPPED(SHORT) },
	{ "cut inside the UDP header", { .cut = -215 }, 0 },
	{ "cut inside the IP header", { .cut = -230 }, 0 },
	{ "version 1", { .poke = { { HDR, 1 } } }, DROPPED(VERSION) },
	{ "a later version", { .poke = { { HDR, 3 } } }, DROPPED(VERSION) },
	{ "message type 0", { .poke = { { HDR + 1, 0 } } }, DROPPED(TYPE) },
	{ "a type for switches that this one does not know",
	  { .poke = { { HDR + 1, CANARY_SWITCH_TYPES } } }, DROPPED(TYPE) },
	{ "a type for members", { .poke = { { HDR + 1, CANARY_SWITCH_TYPES + 1 } } }, 0 },
	{ "a type that nobody knows", { .poke = { { HDR + 1, 255 } } }, 0 },
	{ "unknown flag", { .flags = 0x80 }, DROPPED(FLAGS) },
	{ "another type's flag", { .flags = CANARY_F_WAITING }, DROPPED(FLAGS) },
	{ "not the last shard", { .no_last = true }, DROPPED(FLAGS) },
	{ "another shard", { .poke = { { HDR + 55, 1 } } }, DROPPED(FLAGS) },
	{ "no members", { .poke = { { HDR + 21, 0 } } }, DROPPED(MEMBERS) },
	{ "rank outside", { .poke = { { HDR + 23, 4 } } }, DROPPED(RANK) },
	{ "count 0", { .poke = { { HDR + 49, 0 } } }, DROPPED(COUNT) },
	{ "count of all members", { .poke = { { HDR + 49, 4 } } }, DROPPED(COUNT) },
	{ "bypassed aggregate of nobody",
	  { .flags = CANARY_F_BYPASS, .poke = { { HDR + 49, 2 } } }, DROPPED(COUNT) },
	{ "more elements than allowed", { .poke = { { HDR + 50, 0x0c }, { HDR + 51, 0x84 } } },
	  DROPPED(ELEMENTS) },
	{ "one element more than in the packet", { .poke = { { HDR + 51, 4 * 38 } } },
	  DROPPED(LENGTH) },
	{ "one element less than in the packet", { .poke = { { HDR + 51, 4 * 36 } } },
	  DROPPED(LENGTH) },
	{ "a cookie without bypass", { .poke = { { HDR + 63, 1 } } }, DROPPED(FLAGS) },
	{ "128-bit lanes", { .kind = CANARY_KIND(1, 5) }, DROPPED(OPERATOR) },
	{ "a combination", { .kind = UNKNOWN_KIND }, DROPPED(OPERATOR) },
	{ "unknown kind in a bypassed one", { .kind = UNKNOWN_KIND, .flags = CANARY_F_BYPASS },
	  DROPPED(OPERATOR) },
};

const int bad_frames_n = sizeof(bad_frames) / sizeof(bad_frames[0]);
