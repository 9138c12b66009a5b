// SPDX-License-Identifier: BSD-2-Clause
/*
 * Learned fan-in: what the switch expects of the blocks of a leader, and when it is wrong. Of 7
 * members that contribute, some pass this switch.
 */
#include "cases.h"

#define OF8(n)		.members = 8, .block = (n)
#define RESULT_TO(p, who, n) \
	PUT(p, .type = CANARY_RESULT, .from = SELF, .to = who, OF8(n))

/* Contributions to a block come from one or both of two members. The result goes to those. */
#define LEAVE(n)	.out = { PUT(4, .from = SELF, .ranks = R(1) | R(2), OF8(n)) }
#define RESULT_OF_BOTH(n) \
	{ GET(4, .type = CANARY_RESULT, OF8(n)), \
	  .out = { RESULT_TO(1, H1, n), RESULT_TO(2, H3, n) } }
#define TWO_CAME(n) \
	{ GET(1, CONTRIB(H1, 1, OF8(n))) }, { GET(2, CONTRIB(H3, 2, OF8(n))) }, \
	{ FLUSH, LATER(1000), LEAVE(n) }, RESULT_OF_BOTH(n)
#define BOTH(n, ...) \
	{ GET(1, CONTRIB(H1, 1, OF8(n))) }, { GET(2, CONTRIB(H3, 2, OF8(n))), __VA_ARGS__ }, \
	RESULT_OF_BOTH(n)
#define ONE(n, t) \
	{ GET(1, CONTRIB(H1, 1, OF8(n))) }, \
	{ FLUSH, LATER(t), .out = { PUT(4, .from = SELF, .ranks = R(1), OF8(n)) } }, \
	{ GET(4, .type = CANARY_RESULT, OF8(n)), .out = { RESULT_TO(1, H1, n) } }

static const struct test_case cases[] = {
	{
		.name = "with as many as came for the block before, it leaves",
		.spread = 2,
		.learn = true,
		.step = {
			TWO_CAME(5),
			{ GET(2, CONTRIB(H3, 2, OF8(13))) },
			{ GET(1, CONTRIB(H1, 1, OF8(13))),
			  .out = { PUT(4, .from = SELF, .ranks = R(1) | R(2), OF8(13)) } },
			{ GET(4, .type = CANARY_RESULT, OF8(13)),
			  .out = { RESULT_TO(1, H1, 13), RESULT_TO(2, H3, 13) } },
			/* an aggregate counts as all members that are in it */
			{ GET(2, .from = SWITCH2, .ranks = R(1) | R(2), OF8(14)),
			  .out = { PUT(4, .from = SELF, .ranks = R(1) | R(2), OF8(14),
				       .ttl = 63) } },
			/* more than expected count as well */
			{ GET(1, CONTRIB(H1, 1, OF8(15))) },
			{ GET(2, .from = SWITCH2, .ranks = R(2) | R(3), OF8(15)),
			  .out = { PUT(4, .from = SELF, .ranks = ALL3, OF8(15)) } },
			{ FLUSH, LATER(3000) },
		},
		.count = { { CSW_NEW, 4 }, { CSW_MERGED, 3 }, { CSW_SENT_CLOCK, 1 },
			   { CSW_SENT_EXPECTED, 3 }, { CSW_RESULTS, 2 }, { CSW_REPLICATED, 4 },
			   { CSW_LEARNED, 1 } },
	}, {
		.name = "of another leader, epoch or communicator nothing is known",
		.spread = 1,
		.learn = true,
		.slots = 64,
		.step = {
			TWO_CAME(5),
			{ GET(1, CONTRIB(H1, 1, OF8(6), .to = H4)) },
			{ GET(2, CONTRIB(H3, 2, OF8(6), .to = H4)) },
			{ GET(1, CONTRIB(H1, 1, OF8(7), .epoch = 9)) },
			{ GET(2, CONTRIB(H3, 2, OF8(7), .epoch = 9)) },
			{ GET(1, CONTRIB(H1, 1, OF8(8), .comm = 9)) },
			{ GET(2, CONTRIB(H3, 2, OF8(8), .comm = 9)) },
		},
		.count = { { CSW_NEW, 4 }, { CSW_MERGED, 4 }, { CSW_SENT_CLOCK, 1 },
			   { CSW_RESULTS, 1 }, { CSW_REPLICATED, 2 }, { CSW_LEARNED, 1 } },
	}, {
		.name = "of an unknown leader as many are expected as of others behind its port",
		.spread = 1,
		.learn = true,
		.slots = 64,
		.step = {
			TWO_CAME(5),
			{ GET(1, CONTRIB(H1, 1, OF8(6), .to = MULTI)) },
			{ GET(2, CONTRIB(H3, 2, OF8(6), .to = MULTI)),
			  .out = { PUT(4, .from = SELF, .to = MULTI, .ranks = R(1) | R(2),
				       OF8(6)) } },
			/* to a leader by another port */
			{ GET(1, CONTRIB(H1, 1, OF8(7), .to = MULTI)) },
			{ GET(2, CONTRIB(H3, 2, OF8(7), .to = MULTI)) },
		},
		.count = { { CSW_NEW, 3 }, { CSW_MERGED, 3 }, { CSW_SENT_CLOCK, 1 },
			   { CSW_SENT_EXPECTED, 1 }, { CSW_RESULTS, 1 }, { CSW_REPLICATED, 2 },
			   { CSW_LEARNED, 1 } },
	}, {
		.name = "stragglers are expected from the next block on",
		.spread = 1,
		.learn = true,
		.step = {
			{ GET(1, CONTRIB(H1, 1, OF8(5))) },
			{ FLUSH, LATER(1000), .out = { PUT(4, .from = SELF, .ranks = R(1), OF8(5)) } },
			{ GET(4, .type = CANARY_RESULT, OF8(5)), .out = { RESULT_TO(1, H1, 5) } },
			/* a contribution alone: it leaves at once, and others follow it */
			{ GET(1, CONTRIB(H1, 1, OF8(13))),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), OF8(13), .ttl = 63) } },
			{ GET(2, .from = SWITCH2, .ranks = R(2) | R(3), OF8(13)),
			  .out = { PUT(4, .from = SELF, .ranks = R(2) | R(3), OF8(13),
				       .ttl = 63) } },
			{ GET(2, .from = SWITCH2, .ranks = R(2) | R(3), OF8(13)) },
			{ GET(4, .type = CANARY_RESULT, OF8(13)),
			  .out = { RESULT_TO(1, H1, 13), RESULT_TO(2, SWITCH2, 13) } },
			{ GET(1, CONTRIB(H1, 1, OF8(21))) },
			{ GET(2, .from = SWITCH2, .ranks = R(2) | R(3), OF8(21)),
			  .out = { PUT(4, .from = SELF, .ranks = ALL3, OF8(21)) } },
			{ FLUSH, LATER(3000) },
		},
		.count = { { CSW_NEW, 3 }, { CSW_MERGED, 1 }, { CSW_SENT_CLOCK, 1 },
			   { CSW_SENT_EXPECTED, 2 }, { CSW_STRAGGLER, 1 }, { CSW_RESULTS, 2 },
			   { CSW_REPLICATED, 3 }, { CSW_LEARNED, 2 }, { DROPPED(DUPLICATE), 1 } },
	}, {
		.name = "fewer are only believed when three blocks in a row agree",
		.spread = 2,
		.learn = true,
		.step = {
			TWO_CAME(4),
			ONE(5, 2000), ONE(6, 3000), BOTH(7, LEAVE(7)),
			ONE(8, 4000), ONE(9, 5000), ONE(10, 6000),
			{ GET(1, CONTRIB(H1, 1, OF8(11))),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), OF8(11), .ttl = 63) } },
		},
		.count = { { CSW_NEW, 8 }, { CSW_MERGED, 2 }, { CSW_SENT_CLOCK, 6 },
			   { CSW_SENT_EXPECTED, 2 }, { CSW_RESULTS, 7 }, { CSW_REPLICATED, 9 },
			   { CSW_LEARNED, 2 } },
	}, {
		.name = "a result before sending on teaches nothing",
		.learn = true,
		.step = {
			{ GET(1, CONTRIB(H1, 1, OF8(5))) },
			{ GET(4, .type = CANARY_RESULT, OF8(5)), .out = { RESULT_TO(1, H1, 5) } },
			{ GET(1, CONTRIB(H1, 1, OF8(6))) },
		},
		.count = { { CSW_NEW, 2 }, { CSW_RESULTS, 1 }, { CSW_REPLICATED, 1 } },
	}, {
		.name = "told in advance: at once, and what is learned does not count",
		.spread = 1,
		.learn = true,
		.configured = 2,
		.step = {
			{ GET(1, CONTRIB(H1, 1, OF8(5))) },
			{ GET(2, CONTRIB(H3, 2, OF8(5))),
			  .out = { PUT(4, .from = SELF, .ranks = R(1) | R(2), OF8(5)) } },
			{ GET(3, CONTRIB(H4, 3, OF8(5))),
			  .out = { PUT(4, .from = SELF, .ranks = R(3), OF8(5), .ttl = 63) } },
			{ GET(4, .type = CANARY_RESULT, OF8(5)),
			  .out = { RESULT_TO(1, H1, 5), RESULT_TO(2, H3, 5),
				   RESULT_TO(3, H4, 5) } },
			{ GET(1, CONTRIB(H1, 1, OF8(6))) },
			{ GET(3, CONTRIB(H4, 3, OF8(6))),
			  .out = { PUT(4, .from = SELF, .ranks = R(1) | R(3), OF8(6)) } },
			/* no more than members - 1 can be expected */
			{ GET(1, CONTRIB(H1, 1, .members = 2, .block = 7)),
			  .out = { PUT(4, .from = H1, .ranks = R(1), .members = 2, .block = 7,
				       .ttl = 63) } },
			/* another leader */
			{ GET(1, CONTRIB(H1, 1, OF8(8), .to = H4)) },
			{ GET(2, CONTRIB(H3, 2, OF8(8), .to = H4)) },
		},
		.count = { { CSW_NEW, 3 }, { CSW_MERGED, 3 }, { CSW_SENT_EXPECTED, 2 },
			   { CSW_STRAGGLER, 1 }, { CSW_RESULTS, 1 }, { CSW_REPLICATED, 3 },
			   { CSW_PASSED, 1 }, { CSW_LEARNED, 1 } },
	}, {
		.name = "the timeout follows the skew of arrivals, within its bounds",
		.min_us = 200,
		.max_us = 4000,
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(2, CONTRIB(H3, 2)) },
			{ GET(3, CONTRIB(H4, 3)), LATER(10),
			  .out = { PUT(4, .from = SELF, .ranks = ALL3) } },
			/* deadlines never go backwards, so it is not due before an earlier block */
			{ GET(1, CONTRIB(H1, 1, .block = 6)), LATER(20) },
			{ FLUSH, LATER(999) },
			{ FLUSH, LATER(1000),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), .block = 6) } },
			/* the lower bound */
			{ GET(1, CONTRIB(H1, 1, .block = 7)), LATER(2000) },
			{ FLUSH, LATER(2199) },
			{ FLUSH, LATER(2200),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), .block = 7) } },
			/* 10 us, then 2 ms: mean 258.75, deviation 501.25 */
			{ GET(2, CONTRIB(H3, 2, .block = 7)), LATER(4000),
			  .out = { PUT(4, .from = SELF, .ranks = R(2), .block = 7,
				       .ttl = 63) } },
			{ GET(1, CONTRIB(H1, 1, .block = 8)), LATER(5000) },
			{ FLUSH, LATER(7263) },
			{ FLUSH, LATER(7264),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), .block = 8) } },
			/* very late: the upper bound */
			{ GET(2, CONTRIB(H3, 2, .block = 8)), LATER(900000),
			  .out = { PUT(4, .from = SELF, .ranks = R(2), .block = 8,
				       .ttl = 63) } },
			{ GET(1, CONTRIB(H1, 1, .block = 9)) },
			{ FLUSH, LATER(903999) },
			{ FLUSH, LATER(904000),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), .block = 9) } },
		},
		.count = { { CSW_NEW, 5 }, { CSW_MERGED, 2 }, { CSW_SENT_COMPLETE, 1 },
			   { CSW_SENT_CLOCK, 4 }, { CSW_STRAGGLER, 2 } },
	},
};

const struct case_list fan_in_cases = { cases, ARRAY(cases) };
