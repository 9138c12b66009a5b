// SPDX-License-Identifier: BSD-2-Clause
/*
 * Admission: who may make the switch act, by which port, for which communicator (world.c has the
 * table), and what happens to packets of others.
 */
#include "cases.h"

#define IP	14
#define UDP	34
#define HDR	42

/* A packet that is not admitted goes to the stack, with the switch's mark and without a cookie. */
#define MARKED	.flags = CANARY_F_BYPASS, .origin = SELF, \
		.poke = { { HDR + 60, 0 }, { HDR + 61, 0 }, { HDR + 62, 0 }, { HDR + 63, 0 } }
#define TWO	(R(2) | R(3))
/* The same bucket, with 16 slots */
#define SAME(n)	.block = 5 + 4 * (n)
#define TAG(tci)	(0x8100U << 16 | (tci))
#define SERVICE(tci)	(0x88a8U << 16 | (tci))

static const struct test_case cases[] = {
	{
		.name = "who is admitted is merged and answered",
		.spread = 1,
		.admit = true,
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(3, CONTRIB(H4, 3)) },
			{ GET(2, CONTRIB(SWITCH2, 2)),
			  .out = { PUT(4, .from = SELF, .ranks = ALL3) } },
			{ GET(4, .type = CANARY_RESULT),
			  .out = { PUT(1, .type = CANARY_RESULT, .from = SELF, .to = H1),
				   PUT(2, .type = CANARY_RESULT, .from = SELF, .to = SWITCH2),
				   PUT(3, .type = CANARY_RESULT, .from = SELF, .to = H4) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 2 }, { CSW_SENT_COMPLETE, 1 },
			   { CSW_RESULTS, 1 }, { CSW_REPLICATED, 3 } },
	}, {
		.name = "an admitted address by another port is not: its leader has to look at it",
		.admit = true,
		.step = {
			{ GET(1, CONTRIB(H3, 2)), .out = { PUT(KERNEL, CONTRIB(H3, 2, MARKED)) } },
			{ GET(1, CONTRIB(SWITCH2, 2)),
			  .out = { PUT(KERNEL, CONTRIB(SWITCH2, 2, MARKED)) } },
			{ GET(2, CONTRIB(H1, 1)), .out = { PUT(KERNEL, CONTRIB(H1, 1, MARKED)) } },
			/* an address that is admitted nowhere */
			{ GET(1, CONTRIB(H2, 2)), .out = { PUT(KERNEL, CONTRIB(H2, 2, MARKED)) } },
			{ FLUSH, LATER(2000) },
		},
		.count = { { CSW_BYPASS_ADMISSION, 4 }, { CSW_TO_KERNEL, 4 } },
	}, {
		.name = "what is not admitted is neither added nor becomes a child",
		.spread = 1,
		.admit = true,
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			/* the same member, with other data before its own contribution */
			{ GET(1, CONTRIB(H3, 2, .salt = 1)),
			  .out = { PUT(KERNEL, CONTRIB(H3, 2, MARKED, .salt = 1)) } },
			{ GET(2, CONTRIB(H3, 2)) },
			{ GET(3, CONTRIB(H4, 3)),
			  .out = { PUT(4, .from = SELF, .ranks = ALL3) } },
			/* a straggler */
			{ GET(1, CONTRIB(H2, 3)), .out = { PUT(KERNEL, CONTRIB(H2, 3, MARKED)) } },
			{ GET(4, .type = CANARY_RESULT),
			  .out = { PUT(1, .type = CANARY_RESULT, .from = SELF, .to = H1),
				   PUT(2, .type = CANARY_RESULT, .from = SELF, .to = H3),
				   PUT(3, .type = CANARY_RESULT, .from = SELF, .to = H4) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 2 }, { CSW_SENT_COMPLETE, 1 },
			   { CSW_BYPASS_ADMISSION, 2 }, { CSW_TO_KERNEL, 2 },
			   { CSW_RESULTS, 1 }, { CSW_REPLICATED, 3 } },
	}, {
		.name = "merged ones that are not admitted go nowhere, whatever they say",
		.admit = true,
		.step = {
			{ GET(1, .from = SWITCH2, .ranks = TWO) },
			{ GET(1, .from = SWITCH2, .ranks = TWO, .flags = CANARY_F_BYPASS,
			      .origin = SWITCH2) },
			{ GET(1, .from = SWITCH2, .ranks = ALL3) },
			{ GET(1, .from = SWITCH2, .ranks = TWO, .ttl = 1) },
			{ GET(1, .from = H1, .ranks = TWO, .comm = 81) },
			{ GET(1, .from = H2, .ranks = TWO, .to = LOCAL) },
			{ GET(1, .from = H2, .ranks = TWO, .to = SELF) },
			/* the same by the right port */
			{ GET(2, .from = SWITCH2, .ranks = TWO, .flags = CANARY_F_BYPASS,
			      .origin = SWITCH2),
			  .out = { PUT(4, .from = SWITCH2, .ranks = TWO, .flags = CANARY_F_BYPASS,
				       .origin = SWITCH2, .ttl = 63) } },
		},
		.count = { { DROPPED(ADMISSION), 7 }, { CSW_BYPASSED, 1 },
			   { CSW_RX_CONTRIBUTION, 8 }, { CSW_RX_BYTES, 8 * 254 } },
	}, {
		.name = "others' marks and cookies do not help who is not admitted",
		.admit = true,
		.step = {
			{ GET(1, CONTRIB(H3, 2, .flags = CANARY_F_BYPASS, .origin = SELF)),
			  .out = { PUT(KERNEL, CONTRIB(H3, 2, MARKED)) } },
			{ GET(1, CONTRIB(H3, 2, .flags = CANARY_F_BYPASS)),
			  .out = { PUT(KERNEL, CONTRIB(H3, 2, MARKED)) } },
			/* the TTL is over: the kernel says so */
			{ GET(1, CONTRIB(H3, 2, .ttl = 1)),
			  .out = { PUT(KERNEL, CONTRIB(H3, 2, MARKED, .ttl = 1)) } },
		},
		.count = { { CSW_BYPASS_ADMISSION, 3 }, { CSW_TO_KERNEL, 2 }, { DROPPED(TTL), 1 } },
	}, {
		.name = "ranges of communicators, and their ends",
		.admit = true,
		.slots = 64,
		.step = {
			{ GET(1, CONTRIB(H1, 1, .comm = 70)) },
			{ GET(1, CONTRIB(H1, 1, .comm = 80)) },
			{ GET(1, CONTRIB(H1, 1, .comm = 69)),
			  .out = { PUT(KERNEL, CONTRIB(H1, 1, MARKED, .comm = 69)) } },
			{ GET(1, CONTRIB(H1, 1, .comm = 81)),
			  .out = { PUT(KERNEL, CONTRIB(H1, 1, MARKED, .comm = 81)) } },
			{ GET(3, CONTRIB(H4, 1, .comm = 200, .block = 8)) },
			{ GET(3, CONTRIB(H4, 1, .comm = 300, .block = 9)) },
			{ GET(3, CONTRIB(H4, 1, .comm = 77, .block = 10)) },
			{ GET(3, CONTRIB(H4, 1, .comm = 0xffffffff, .block = 11)) },
			{ GET(3, CONTRIB(H4, 1, .comm = 0xfffffffe)),
			  .out = { PUT(KERNEL, CONTRIB(H4, 1, MARKED, .comm = 0xfffffffe)) } },
			{ GET(3, CONTRIB(H4, 1, .comm = 199)),
			  .out = { PUT(KERNEL, CONTRIB(H4, 1, MARKED, .comm = 199)) } },
			/* the longest prefix */
			{ GET(3, CONTRIB(ABSENT, 1, .comm = 5, .block = 12)) },
			{ GET(3, CONTRIB(ABSENT, 1, .comm = 77)),
			  .out = { PUT(KERNEL, CONTRIB(ABSENT, 1, MARKED, .comm = 77)) } },
			{ GET(3, CONTRIB(ABSENT2, 1, .comm = 77, .block = 6)) },
			/* the shortest */
			{ GET(4, CONTRIB(NOWHERE, 1, .comm = 4, .to = H4, .block = 13)) },
		},
		.count = { { CSW_NEW, 9 }, { CSW_BYPASS_ADMISSION, 5 }, { CSW_TO_KERNEL, 5 } },
	}, {
		.name = "who fills a bucket makes room for others' share, and they for his",
		.admit = true,
		.step = {
			{ GET(1, CONTRIB(H1, 1, SAME(0))) },
			{ GET(1, CONTRIB(H1, 1, SAME(1))), LATER(10) },
			{ GET(1, CONTRIB(H1, 1, SAME(2))), LATER(20) },
			{ FLUSH, LATER(1100), .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(0)) } },
			{ FLUSH, .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(1)) } },
			{ FLUSH, .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(2)) } },
			{ GET(1, CONTRIB(H1, 1, SAME(3))) },
			/* the tenant itself cannot take more */
			{ GET(1, CONTRIB(H1, 1, SAME(4))),
			  .out = { PUT(4, CONTRIB(H1, 1, SAME(4), .ttl = 63, .origin = SELF,
						  .flags = CANARY_F_BYPASS)) } },
			/*
			 * another tenant: it takes the oldest slots until both have the same number
			 */
			{ GET(2, CONTRIB(H3, 2, SAME(4))) },
			{ GET(2, CONTRIB(H3, 2, SAME(1))),
			  .out = { PUT(4, .from = SELF, .ranks = R(2), SAME(1), .ttl = 63) } },
			{ GET(2, CONTRIB(H3, 2, SAME(5))) },
			{ GET(2, CONTRIB(H3, 2, SAME(6))),
			  .out = { PUT(4, CONTRIB(H3, 2, SAME(6), .ttl = 63, .origin = SELF,
						  .flags = CANARY_F_BYPASS)) } },
			/* a third tenant: it takes the last slot that the first one has too many */
			{ GET(3, CONTRIB(H4, 3, SAME(6))),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(3)) },
			  LATER(2150) },
		},
		.count = { { CSW_NEW, 7 }, { CSW_EVICTED, 3 }, { CSW_DISPLACED, 3 },
			   { CSW_SENT_CLOCK, 3 }, { CSW_STRAGGLER, 1 }, { CSW_BYPASS_COLLISION, 2 },
			   { CSW_SENT_CARRIER, 1 } },
	}, {
		.name = "who collects does not make room",
		.admit = true,
		.step = {
			{ GET(1, CONTRIB(H1, 1, SAME(0))) },
			{ GET(1, CONTRIB(H1, 1, SAME(1))) },
			{ GET(1, CONTRIB(H1, 1, SAME(2))) },
			{ GET(1, CONTRIB(H1, 1, SAME(3))) },
			{ GET(2, CONTRIB(H3, 2, SAME(4))),
			  .out = { PUT(4, CONTRIB(H3, 2, SAME(4), .ttl = 63, .origin = SELF,
						  .flags = CANARY_F_BYPASS)) } },
		},
		.count = { { CSW_NEW, 4 }, { CSW_BYPASS_COLLISION, 1 } },
	}, {
		.name = "nobody makes room for what cannot be taken",
		.admit = true,
		.timeout_us = 100,
		.step = {
			{ GET(1, CONTRIB(H1, 1, SAME(0))) },
			{ GET(1, CONTRIB(H1, 1, SAME(1))) },
			{ GET(1, CONTRIB(H1, 1, SAME(2))) },
			{ GET(1, CONTRIB(H1, 1, SAME(3))) },
			{ FLUSH, LATER(1100), .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(0)) } },
			{ FLUSH, .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(1)) } },
			{ FLUSH, .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(2)) } },
			{ FLUSH, .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(3)) } },
			/* busy queue, no route, damaged data */
			{ HOLD_QUEUE },
			{ GET(2, CONTRIB(H3, 2, SAME(4))),
			  .out = { PUT(4, CONTRIB(H3, 2, SAME(4), .ttl = 63, .origin = SELF,
						  .flags = CANARY_F_BYPASS)) } },
			{ RELEASE },
			{ GET(2, CONTRIB(H3, 2, SAME(4), .to = NOWHERE)),
			  .out = { PUT(KERNEL, CONTRIB(H3, 2, SAME(4), .to = NOWHERE)) } },
			{ GET(2, CONTRIB(H3, 2, SAME(4), .elements = 20, .poke = { { 150, 1 } })) },
			/* nothing was lost: the results come */
			{ GET(4, .type = CANARY_RESULT, SAME(0)),
			  .out = { PUT(1, .type = CANARY_RESULT, .from = SELF, .to = H1, SAME(0)) } },
			{ GET(4, .type = CANARY_RESULT, SAME(1)),
			  .out = { PUT(1, .type = CANARY_RESULT, .from = SELF, .to = H1, SAME(1)) } },
			{ GET(4, .type = CANARY_RESULT, SAME(2)),
			  .out = { PUT(1, .type = CANARY_RESULT, .from = SELF, .to = H1, SAME(2)) } },
			{ GET(4, .type = CANARY_RESULT, SAME(3)),
			  .out = { PUT(1, .type = CANARY_RESULT, .from = SELF, .to = H1, SAME(3)) } },
		},
		.count = { { CSW_NEW, 4 }, { CSW_SENT_CLOCK, 4 }, { CSW_BYPASS_QUEUE_LOCK, 1 },
			   { CSW_TO_KERNEL, 1 }, { DROPPED(SUM), 1 }, { CSW_RESULTS, 4 },
			   { CSW_REPLICATED, 4 } },
	}, {
		.name = "without rules who comes first is served",
		.step = {
			{ GET(1, CONTRIB(H1, 1, SAME(0))) },
			{ GET(1, CONTRIB(H1, 1, SAME(1))) },
			{ GET(1, CONTRIB(H1, 1, SAME(2))) },
			{ GET(1, CONTRIB(H1, 1, SAME(3))) },
			{ FLUSH, LATER(1100), .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(0)) } },
			{ GET(2, CONTRIB(H3, 2, SAME(4))),
			  .out = { PUT(4, CONTRIB(H3, 2, SAME(4), .ttl = 63, .origin = SELF,
						  .flags = CANARY_F_BYPASS)) } },
		},
		.count = { { CSW_NEW, 4 }, { CSW_SENT_CLOCK, 1 }, { CSW_BYPASS_COLLISION, 1 } },
	}, {
		.name = "rings have macs of their own",
		.admit = true,
		.step = {
			{ GET(1, .from = H3, .type = CANARY_RING_SUM, .to = LEADER),
			  .out = { PUT(KERNEL, .from = H3, .type = CANARY_RING_SUM,
				       .to = LEADER) } },
			{ GET(1, .from = H3, .type = CANARY_RING_RESULT, .to = LEADER),
			  .out = { PUT(KERNEL, .from = H3, .type = CANARY_RING_RESULT,
				       .to = LEADER) } },
		},
	}, {
		.name = "results: from who is admitted; others' are marked for all switches",
		.spread = 1,
		.admit = true,
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(2, CONTRIB(H3, 2)) },
			{ GET(1, .type = CANARY_RESULT) },
			{ GET(4, .type = CANARY_RESULT, .flags = CANARY_F_BYPASS) },
			{ GET(1, .type = CANARY_RESULT, .to = SWITCH2),
			  .out = { PUT(KERNEL, .type = CANARY_RESULT, .to = SWITCH2,
				       .flags = CANARY_F_BYPASS) } },
			{ GET(3, .type = CANARY_RESULT, .from = H4, .to = SWITCH2),
			  .out = { PUT(KERNEL, .type = CANARY_RESULT, .from = H4, .to = SWITCH2) } },
			{ GET(4, .type = CANARY_RESULT),
			  .out = { PUT(1, .type = CANARY_RESULT, .from = SELF, .to = H1),
				   PUT(2, .type = CANARY_RESULT, .from = SELF, .to = H3) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 1 }, { CSW_RESULTS, 1 },
			   { CSW_REPLICATED, 2 }, { CSW_MARKED, 2 }, { DROPPED(ADMISSION), 2 } },
	}, {
		.name = "a mark of another switch counts without rules of our own",
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(4, .type = CANARY_RESULT, .flags = CANARY_F_BYPASS) },
			{ GET(4, .type = CANARY_RESTORATION, .child = { H1 },
			      .flags = CANARY_F_BYPASS) },
			{ GET(4, .type = CANARY_RESULT),
			  .out = { PUT(1, .type = CANARY_RESULT, .from = SELF, .to = H1) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_RESULTS, 1 }, { CSW_REPLICATED, 1 },
			   { DROPPED(ADMISSION), 2 } },
	}, {
		.name = "restorations the same",
		.admit = true,
		.credit = BYTES(8),
		.step = {
			{ GET(1, .type = CANARY_RESTORATION, .child = { H1, H3 }) },
			{ GET(1, .type = CANARY_RESTORATION, .child = { H1, H3 }, .to = SWITCH2),
			  .out = { PUT(KERNEL, .type = CANARY_RESTORATION, .child = { H1, H3 },
				       .to = SWITCH2, .flags = CANARY_F_BYPASS) } },
			{ GET(4, .type = CANARY_RESULT) },
			{ GET(4, .type = CANARY_RESTORATION, .child = { H1, H3 }) },
			{ GET(4, .type = CANARY_RESULT),
			  .out = { PUT(1, .type = CANARY_RESULT, .from = SELF, .to = H1),
				   PUT(2, .type = CANARY_RESULT, .from = SELF, .to = H3) } },
		},
		.count = { { CSW_MARKED, 2 }, { DROPPED(ADMISSION), 1 }, { DROPPED(DESCRIPTOR), 1 },
			   { CSW_RESTORATIONS, 1 }, { CSW_RESTORED, 2 } },
	}, {
		.name = "contributions are not smuggled to hosts in other forms",
		.admit = true,
		.step = {
			/* no UDP checksum, wrong lengths, unknown kind */
			{ GET(1, .from = H2, .ranks = TWO, .checksum = NONE) },
			{ GET(1, .from = H2, .ranks = TWO, .poke = { { UDP + 5, 0xd8 } }) },
			{ GET(1, CONTRIB(H2, 2, .checksum = NONE)) },
			{ GET(1, CONTRIB(H2, 2, .poke = { { UDP + 5, 0xd8 } })) },
			{ GET(1, .from = H2, .ranks = TWO, .kind = UNKNOWN_KIND) },
			{ GET(1, .from = H2, .ranks = TWO, .kind = UNKNOWN_KIND, .flags = CANARY_F_BYPASS) },
			/* options, first fragment */
			{ GET(1, .from = H2, .ranks = TWO, .fix_ip = true,
			      .poke = { { IP, 0x46 }, { UDP + 6, 0x58 }, { UDP + 7, 0x4b } }) },
			{ GET(1, .from = H2, .ranks = TWO, .fix_ip = true,
			      .poke = { { IP + 6, 0x20 } }) },
			{ GET(2, .from = H1, .ranks = R(1), .fix_ip = true,
			      .poke = { { IP + 6, 0x20 } }) },
			/* tags of VLANs, for which the kernel may have devices */
			{ GET(1, CONTRIB(H2, 2, .tag = { TAG(5) })) },
			{ GET(1, .from = H2, .ranks = TWO, .tag = { TAG(5) }) },
			{ GET(1, CONTRIB(H2, 2, .tag = { TAG(0xe000) })) },
			{ GET(1, CONTRIB(H2, 2, .tag = { SERVICE(7), TAG(5) })) },
			{ GET(1, CONTRIB(H2, 2, .tag = { SERVICE(7), TAG(5), TAG(0x2000), TAG(6) })) },
			{ GET(1, CONTRIB(H2, 2, .tag = { TAG(5), TAG(5), TAG(5), TAG(5), TAG(5) })) },
			{ GET(1, CONTRIB(H2, 2, .tag = { TAG(5) }, .fix_ip = true,
					 .poke = { { IP, 0x46 }, { UDP + 6, 0x58 }, { UDP + 7, 0x4b } })) },
			/* a VLAN that is a port, but of another one; behind another tag; of another type */
			{ GET(1, CONTRIB(H2, 2, .tag = { VLAN_TAG })) },
			{ GET(3, CONTRIB(H2, 2, .tag = { TAG(0x2000), VLAN_TAG })) },
			{ GET(3, CONTRIB(H2, 2, .tag = { SERVICE(30) })) },
			/* to another address on the link, which may be that of a macvlan */
			{ GET(1, .from = H2, .ranks = TWO, .other_mac = true) },
		},
		.count = { { DROPPED(ADMISSION), 6 }, { DROPPED(FORM), 14 },
			   { CSW_RX_CONTRIBUTION, 1 }, { CSW_RX_BYTES, 254 } },
	}, {
		.name = "but what can do no harm passes",
		.admit = true,
		.step = {
			/* a VLAN that is a port: its program decides, whatever the packet is */
			{ GET(3, CONTRIB(H2, 2, .tag = { VLAN_TAG })),
			  .out = { PUT(KERNEL, CONTRIB(H2, 2, .tag = { VLAN_TAG })) } },
			{ GET(3, CONTRIB(H2, 2, .tag = { VLAN_TAG | 0xe000, TAG(5) })),
			  .out = { PUT(KERNEL, CONTRIB(H2, 2, .tag = { VLAN_TAG | 0xe000, TAG(5) })) } },
			/* in another VLAN, but not for Canary */
			{ GET(1, CONTRIB(H2, 2, .tag = { TAG(5) }, .poke = { { UDP + 2, 1 } })),
			  .out = { PUT(KERNEL, CONTRIB(H2, 2, .tag = { TAG(5) },
						       .poke = { { UDP + 2, 1 } })) } },
			{ GET(1, CONTRIB(H2, 2, .tag = { TAG(0) }, .poke = { { UDP + 2, 1 } })),
			  .out = { PUT(KERNEL, CONTRIB(H2, 2, .tag = { TAG(0) },
						       .poke = { { UDP + 2, 1 } })) } },
			/* of an unknown kind: marked like any other */
			{ GET(1, CONTRIB(H2, 2, .kind = UNKNOWN_KIND)),
			  .out = { PUT(KERNEL, CONTRIB(H2, 2, MARKED, .kind = UNKNOWN_KIND)) } },
			/* an aggregate of an admitted switch, of an unknown kind */
			{ GET(2, .from = SWITCH2, .ranks = TWO, .kind = UNKNOWN_KIND),
			  .out = { PUT(KERNEL, .from = SWITCH2, .ranks = TWO, .kind = UNKNOWN_KIND) } },
			/* later fragments; options towards another port; TCP */
			{ GET(1, CONTRIB(H2, 2, .poke = { { IP + 6, 0x20 }, { IP + 7, 1 } },
					 .fix_ip = true)),
			  .out = { PUT(KERNEL, CONTRIB(H2, 2, .poke = { { IP + 6, 0x20 }, { IP + 7, 1 } },
						       .fix_ip = true)) } },
			{ GET(1, CONTRIB(H2, 2, .poke = { { IP, 0x46 } }, .fix_ip = true)),
			  .out = { PUT(KERNEL, CONTRIB(H2, 2, .poke = { { IP, 0x46 } },
						       .fix_ip = true)) } },
			{ GET(1, CONTRIB(H2, 2, .poke = { { IP + 9, 6 }, { IP + 6, 0x20 } },
					 .fix_ip = true)),
			  .out = { PUT(KERNEL, CONTRIB(H2, 2, .poke = { { IP + 9, 6 },
						       { IP + 6, 0x20 } }, .fix_ip = true)) } },
			/* rendezvous, questions */
			{ GET(1, .type = CANARY_REQUEST, .from = H2, .to = LEADER),
			  .out = { PUT(KERNEL, .type = CANARY_REQUEST, .from = H2,
				       .to = LEADER) } },
		},
		.count = { { CSW_BYPASS_ADMISSION, 1 }, { CSW_TO_KERNEL, 2 },
			   { DROPPED(OPERATOR), 1 }, { CSW_RX_CONTRIBUTION, 1 },
			   { CSW_RX_BYTES, 254 } },
	},
};

const struct case_list admission_cases = { cases, ARRAY(cases) };
