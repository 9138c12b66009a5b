// SPDX-License-Identifier: BSD-2-Clause
/*
 * Slots and what bypasses them: full buckets and queues, what makes room, what a switch cannot
 * take.
 */
#include "cases.h"

/* The same bucket, with 16 slots: every fourth block */
#define SAME(n)		.block = 5 + 4 * (n)

static const struct test_case cases[] = {
	{
		.name = "a full bucket: bypass, with our address as origin",
		.step = {
			{ GET(1, CONTRIB(H1, 1, SAME(0))) },
			{ GET(1, CONTRIB(H1, 1, SAME(1))) },
			{ GET(1, CONTRIB(H1, 1, SAME(2))) },
			{ GET(1, CONTRIB(H1, 1, SAME(3))) },
			{ GET(1, CONTRIB(H1, 1, SAME(4))),
			  .out = { PUT(4, .from = H1, .ranks = R(1), SAME(4), .ttl = 63,
				       .flags = CANARY_F_BYPASS, .origin = SELF) } },
			/* the four blocks still get contributions, and another bucket is free */
			{ GET(2, CONTRIB(H3, 2, SAME(3))) },
			{ GET(2, CONTRIB(H3, 2, .block = 6)) },
			/* aggregates are bypassed, too */
			{ GET(2, .from = SWITCH2, .ranks = R(1) | R(2), SAME(5)),
			  .out = { PUT(4, .from = SWITCH2, .ranks = R(1) | R(2), SAME(5),
				       .ttl = 63, .flags = CANARY_F_BYPASS, .origin = SELF) } },
		},
		.count = { { CSW_NEW, 5 }, { CSW_MERGED, 1 }, { CSW_BYPASS_COLLISION, 2 } },
	}, {
		.name = "a holder older than the lifetime makes room, the oldest first",
		.lifetime_us = 10000,
		.step = {
			{ GET(1, CONTRIB(H1, 1, SAME(0))), LATER(300) },
			{ GET(1, CONTRIB(H1, 1, SAME(1))), LATER(200) },
			{ GET(1, CONTRIB(H1, 1, SAME(2))), LATER(400) },
			{ GET(1, CONTRIB(H1, 1, SAME(3))), LATER(500) },
			{ GET(2, CONTRIB(H3, 2, SAME(4))), LATER(10200),
			  .out = { PUT(4, .from = H3, .ranks = R(2), SAME(4), .ttl = 63,
				       .flags = CANARY_F_BYPASS, .origin = SELF) } },
			/* the lifetime of block 1 is over, and it was never sent on */
			{ GET(2, CONTRIB(H3, 2, SAME(4))), LATER(10201),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(0)) } },
			{ GET(3, CONTRIB(H4, 3, SAME(4))), LATER(10400),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(2)) } },
			/* the queue entry of the evicted block is ignored */
			{ FLUSH, .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(3)) } },
			{ FLUSH },
			{ FLUSH, LATER(11201),
			  .out = { PUT(4, .from = SELF, .ranks = R(2) | R(3), SAME(4)) } },
		},
		.count = { { CSW_NEW, 5 }, { CSW_MERGED, 1 }, { CSW_BYPASS_COLLISION, 1 },
			   { CSW_EVICTED, 1 }, { CSW_SENT_CARRIER, 2 }, { CSW_SENT_CLOCK, 2 } },
	}, {
		.name = "what was sent on makes room when somebody has its result",
		.step = {
			{ GET(1, CONTRIB(H1, 1, SAME(0))) },
			{ GET(1, CONTRIB(H1, 1, SAME(1))) },
			{ GET(1, CONTRIB(H1, 1, SAME(2))) },
			{ FLUSH, LATER(1000),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(0)) } },
			{ FLUSH, .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(1)) } },
			{ FLUSH, .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(2)) } },
			{ GET(1, CONTRIB(H1, 1, SAME(3))) },
			/*
			 * 5 is the first block; no slot is free for another communicator, or if a
			 * block before 6 is not done
			 */
			{ GET(2, CONTRIB(H3, 2, .block = 37, .done = 30, .epoch = 0xe90c8)),
			  .out = { PUT(4, .from = H3, .ranks = R(2), .block = 37, .done = 30,
				       .epoch = 0xe90c8, .ttl = 63, .flags = CANARY_F_BYPASS,
				       .origin = SELF) } },
			{ GET(2, CONTRIB(H3, 2, SAME(4), .done = 5)),
			  .out = { PUT(4, .from = H3, .ranks = R(2), SAME(4), .done = 5, .ttl = 63,
				       .flags = CANARY_F_BYPASS, .origin = SELF) } },
			{ GET(2, CONTRIB(H3, 2, SAME(4), .done = 6)) },
			/*
			 * the second and the third slot are there; a block that collects is never
			 * taken
			 */
			{ GET(2, CONTRIB(H3, 2, SAME(5), .done = 6)),
			  .out = { PUT(4, .from = H3, .ranks = R(2), SAME(5), .done = 6, .ttl = 63,
				       .flags = CANARY_F_BYPASS, .origin = SELF) } },
			{ GET(2, CONTRIB(H3, 2, SAME(5), .done = 22)) },
			{ GET(2, CONTRIB(H3, 2, SAME(6), .done = 22)) },
			{ GET(2, CONTRIB(H3, 2, SAME(7), .done = 22)),
			  .out = { PUT(4, .from = H3, .ranks = R(2), SAME(7), .done = 22, .ttl = 63,
				       .flags = CANARY_F_BYPASS, .origin = SELF) } },
		},
		.count = { { CSW_NEW, 7 }, { CSW_EVICTED, 3 }, { CSW_SENT_CLOCK, 3 },
			   { CSW_BYPASS_COLLISION, 4 } },
	}, {
		.name = "of several that are too old the oldest makes room, others stay",
		.lifetime_us = 10000,
		.step = {
			{ GET(1, CONTRIB(H1, 1, SAME(0))), LATER(300) },
			{ GET(1, CONTRIB(H1, 1, SAME(1))), LATER(200) },
			{ GET(1, CONTRIB(H1, 1, SAME(2))), LATER(400) },
			{ GET(1, CONTRIB(H1, 1, SAME(3))), LATER(500) },
			{ FLUSH, LATER(1500),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(0)) } },
			{ FLUSH, .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(1)) } },
			{ FLUSH, .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(2)) } },
			{ FLUSH, .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(3)) } },
			{ GET(2, CONTRIB(H3, 2, SAME(4))), LATER(20000) },
			{ GET(2, CONTRIB(H3, 2, SAME(0))),
			  .out = { PUT(4, .from = SELF, .ranks = R(2), SAME(0), .ttl = 63) } },
			{ GET(2, CONTRIB(H3, 2, SAME(2))),
			  .out = { PUT(4, .from = SELF, .ranks = R(2), SAME(2), .ttl = 63) } },
			{ GET(2, CONTRIB(H3, 2, SAME(3))),
			  .out = { PUT(4, .from = SELF, .ranks = R(2), SAME(3), .ttl = 63) } },
		},
		.count = { { CSW_NEW, 5 }, { CSW_EVICTED, 1 }, { CSW_SENT_CLOCK, 4 },
			   { CSW_STRAGGLER, 3 } },
	}, {
		.name = "children list full: bypass while collecting and after sending on",
		.children = 2,
		.step = {
			{ GET(1, CONTRIB(H1, 1, .members = 8)) },
			{ GET(2, CONTRIB(H3, 2, .members = 8)) },
			{ GET(3, CONTRIB(H4, 3, .members = 8)),
			  .out = { PUT(4, .from = H4, .ranks = R(3), .members = 8, .ttl = 63,
				       .flags = CANARY_F_BYPASS, .origin = SELF) } },
			/* a known child is not added again */
			{ GET(1, CONTRIB(H1, 4, .members = 8)) },
			{ FLUSH, LATER(1000), .out = { PUT(4, .from = SELF, .members = 8,
							   .ranks = R(1) | R(2) | R(4)) } },
			{ GET(1, CONTRIB(H1B, 5, .members = 8)),
			  .out = { PUT(4, .from = H1B, .ranks = R(5), .members = 8, .ttl = 63,
				       .flags = CANARY_F_BYPASS, .origin = SELF) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 2 }, { CSW_BYPASS_CHILDREN, 2 },
			   { CSW_SENT_CLOCK, 1 } },
	}, {
		.name = "another operation, length, leader or size of communicator: bypass",
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(2, CONTRIB(H3, 2, .opsig = 9)),
			  .out = { PUT(4, .from = H3, .ranks = R(2), .opsig = 9, .ttl = 63,
				       .flags = CANARY_F_BYPASS, .origin = SELF) } },
			{ GET(2, CONTRIB(H3, 2, .elements = 36)),
			  .out = { PUT(4, .from = H3, .ranks = R(2), .elements = 36, .ttl = 63,
				       .flags = CANARY_F_BYPASS, .origin = SELF) } },
			{ GET(2, CONTRIB(H3, 2, .members = 5)),
			  .out = { PUT(4, .from = H3, .ranks = R(2), .members = 5, .ttl = 63,
				       .flags = CANARY_F_BYPASS, .origin = SELF) } },
			{ GET(2, CONTRIB(H3, 2, .to = H4)),
			  .out = { PUT(3, .from = H3, .to = H4, .ranks = R(2), .ttl = 63,
				       .flags = CANARY_F_BYPASS, .origin = SELF) } },
			/* a newer attempt of another operation does not replace it */
			{ GET(2, CONTRIB(H3, 2, .opsig = 9, .attempt = 1)),
			  .out = { PUT(4, .from = H3, .ranks = R(2), .opsig = 9, .ttl = 63,
				       .attempt = 1, .flags = CANARY_F_BYPASS,
				       .origin = SELF) } },
			{ FLUSH, LATER(1000), .out = { PUT(4, .from = SELF, .ranks = R(1)) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_BYPASS_OPSIG, 5 }, { CSW_SENT_CLOCK, 1 } },
	}, {
		.name = "a kind that the switch does not know: untouched",
		.step = {
			{ GET(1, CONTRIB(H1, 1, .kind = UNKNOWN_KIND)),
			  .out = { PUT(KERNEL, CONTRIB(H1, 1, .kind = UNKNOWN_KIND)) } },
			{ GET(1, CONTRIB(H1, 1, .kind = CANARY_KIND(1, 4))),
			  .out = { PUT(KERNEL, CONTRIB(H1, 1, .kind = CANARY_KIND(1, 4))) } },
		},
		.count = { { DROPPED(OPERATOR), 2 }, { CSW_TO_KERNEL, 2 } },
	}, {
		.name = "lock busy: bypass; the clock waits",
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ HOLD },
			{ GET(2, CONTRIB(H3, 2)),
			  .out = { PUT(4, .from = H3, .ranks = R(2), .ttl = 63,
				       .flags = CANARY_F_BYPASS, .origin = SELF) } },
			{ FLUSH, LATER(1000) },
			{ RELEASE },
			{ FLUSH, .out = { PUT(4, .from = SELF, .ranks = R(1)) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_BYPASS_LOCK, 1 }, { CSW_SENT_CLOCK, 1 } },
	}, {
		.name = "queue busy: bypass, and counted as that",
		.step = {
			{ HOLD_QUEUE },
			{ GET(1, CONTRIB(H1, 1)),
			  .out = { PUT(4, .from = H1, .ranks = R(1), .ttl = 63,
				       .flags = CANARY_F_BYPASS, .origin = SELF) } },
			{ RELEASE },
			{ GET(1, CONTRIB(H1, 1)) },
		},
		.count = { { CSW_NEW, 1 }, { CSW_BYPASS_QUEUE_LOCK, 1 } },
	}, {
		.name = "queue busy: what was sent on is kept when another attempt is not taken",
		.step = {
			{ GET(2, CONTRIB(H3, 1)) },
			{ FLUSH, LATER(1000), .out = { PUT(4, .from = SELF, .ranks = R(1)) } },
			{ HOLD_QUEUE },
			{ GET(2, CONTRIB(H3, 1, .attempt = 1)),
			  .out = { PUT(4, .from = H3, .ranks = R(1), .ttl = 63, .attempt = 1,
				       .flags = CANARY_F_BYPASS, .origin = SELF) } },
			{ RELEASE },
			{ GET(4, .type = CANARY_RESULT),
			  .out = { PUT(2, .type = CANARY_RESULT, .from = SELF, .to = H3) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_SENT_CLOCK, 1 }, { CSW_BYPASS_QUEUE_LOCK, 1 },
			   { CSW_RESULTS, 1 }, { CSW_REPLICATED, 1 } },
	}, {
		.name = "slots whose last blocks are still queued: due at the new block's time",
		.step = {
			{ GET(1, CONTRIB(H1, 1, SAME(0), .members = 3)) },
			{ GET(2, CONTRIB(H3, 2, SAME(0), .members = 3)),
			  .out = { PUT(4, .from = SELF, .ranks = R(1) | R(2), .members = 3,
				       SAME(0)) } },
			{ GET(1, CONTRIB(H1, 1, SAME(1), .members = 3)) },
			{ GET(2, CONTRIB(H3, 2, SAME(1), .members = 3)),
			  .out = { PUT(4, .from = SELF, .ranks = R(1) | R(2), .members = 3,
				       SAME(1)) } },
			{ GET(1, CONTRIB(H1, 1, SAME(2), .members = 3)) },
			{ GET(2, CONTRIB(H3, 2, SAME(2), .members = 3)),
			  .out = { PUT(4, .from = SELF, .ranks = R(1) | R(2), .members = 3,
				       SAME(2)) } },
			{ GET(1, CONTRIB(H1, 1, SAME(3), .members = 3)) },
			{ GET(2, CONTRIB(H3, 2, SAME(3), .members = 3)),
			  .out = { PUT(4, .from = SELF, .ranks = R(1) | R(2), .members = 3,
				       SAME(3)) } },
			{ GET(1, CONTRIB(H1, 1, SAME(4), .members = 3, .done = 21)), LATER(600) },
			{ FLUSH, LATER(1000) },
			{ FLUSH, LATER(1599) },
			{ FLUSH, LATER(1600), .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(4),
							   .members = 3, .done = 21) } },
			{ FLUSH },
		},
		.count = { { CSW_NEW, 5 }, { CSW_MERGED, 4 }, { CSW_SENT_COMPLETE, 4 },
			   { CSW_EVICTED, 1 }, { CSW_SENT_CLOCK, 1 } },
	}, {
		.name = "a free slot that is not queued comes first",
		.spread = 1,
		.step = {
			{ GET(1, CONTRIB(H1, 1, SAME(0), .members = 3)) },
			{ GET(2, CONTRIB(H3, 2, SAME(0), .members = 3)),
			  .out = { PUT(4, .from = SELF, .ranks = R(1) | R(2), .members = 3,
				       SAME(0)) } },
			{ GET(4, .type = CANARY_RESULT, .members = 3, SAME(0)),
			  .out = { PUT(1, .type = CANARY_RESULT, .members = 3, SAME(0),
				       .from = SELF, .to = H1),
				   PUT(2, .type = CANARY_RESULT, .members = 3, SAME(0),
				       .from = SELF, .to = H3) } },
			{ GET(1, CONTRIB(H1, 1, SAME(1), .members = 3)), LATER(500) },
			{ GET(1, CONTRIB(H1, 1, .block = 6, .members = 3)), LATER(900) },
			{ FLUSH, LATER(1000) },
			{ FLUSH, LATER(1500), .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(1),
							   .members = 3) } },
			{ FLUSH, LATER(1900), .out = { PUT(4, .from = SELF, .ranks = R(1), .block = 6,
							   .members = 3) } },
		},
		.count = { { CSW_NEW, 3 }, { CSW_MERGED, 1 }, { CSW_SENT_COMPLETE, 1 },
			   { CSW_RESULTS, 1 }, { CSW_REPLICATED, 2 }, { CSW_SENT_CLOCK, 2 } },
	}, {
		.name = "what others bypassed passes by, even beside its own descriptor",
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(2, CONTRIB(H3, 2, .flags = CANARY_F_BYPASS, .origin = SWITCH2)),
			  .out = { PUT(4, .from = H3, .ranks = R(2), .flags = CANARY_F_BYPASS,
				       .origin = SWITCH2, .ttl = 63) } },
			{ GET(2, CONTRIB(H3, 2, .flags = CANARY_F_BYPASS)),
			  .out = { PUT(4, .from = H3, .ranks = R(2), .flags = CANARY_F_BYPASS,
				       .ttl = 63) } },
			{ FLUSH, LATER(1000), .out = { PUT(4, .from = SELF, .ranks = R(1)) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_BYPASSED, 2 }, { CSW_SENT_CLOCK, 1 } },
	},
};

const struct case_list slot_cases = { cases, ARRAY(cases) };
