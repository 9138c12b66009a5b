// SPDX-License-Identifier: BSD-2-Clause
/* Blocks: what is added up, when it is sent on, what comes too late, twice or anew. */
#include "cases.h"

/* A byte of the first element is another one than its rank would send. */
#define DAMAGED		.poke = { { FRAME_DATA + 1, 0x5a } }

static const struct test_case cases[] = {
	{
		.name = "three contributions become one when the count is complete",
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(2, CONTRIB(H3, 2)) },
			{ GET(3, CONTRIB(H4, 3)),
			  .out = { PUT(4, .from = SELF, .ranks = ALL3) } },
			{ FLUSH, LATER(2000) },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 2 }, { CSW_SENT_COMPLETE, 1 } },
	}, {
		.name = "two of three leave when the timeout is over, by the clock",
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(2, CONTRIB(H3, 2)), LATER(500) },
			{ FLUSH, LATER(999) },
			{ FLUSH, LATER(1000),
			  .out = { PUT(4, .from = SELF, .ranks = R(1) | R(2)) } },
			{ FLUSH },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 1 }, { CSW_SENT_CLOCK, 1 } },
	}, {
		.name = "the switch next to the leader waits longer, unless the count is complete",
		.patience = 2,
		.step = {
			{ GET(1, CONTRIB(H1, 1, .to = H4)) },
			{ GET(1, CONTRIB(H1, 1, .to = H4, .block = 6)) },
			{ GET(1, CONTRIB(H1, 1, .block = 7)) },
			{ FLUSH, LATER(1000),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), .block = 7) } },
			{ FLUSH, LATER(1999) },
			{ FLUSH, LATER(2000) },
			{ GET(2, CONTRIB(H3, 2, .to = H4, .block = 6)), LATER(2500) },
			{ GET(2, CONTRIB(SWITCH2, 3, .to = H4, .block = 6)),
			  .out = { PUT(3, .from = SELF, .to = H4, .ranks = ALL3, .block = 6) } },
			{ FLUSH, LATER(2999) },
			{ FLUSH, LATER(3000),
			  .out = { PUT(3, .from = SELF, .to = H4, .ranks = R(1)) } },
			{ FLUSH, LATER(4000) },
		},
		.count = { { CSW_NEW, 3 }, { CSW_MERGED, 2 }, { CSW_SENT_CLOCK, 2 },
			   { CSW_SENT_COMPLETE, 1 } },
	}, {
		.name = "a single one leaves with its rank and mac",
		.step = {
			{ GET(2, CONTRIB(H3, 2)) },
			{ FLUSH, LATER(1000), .out = { PUT(4, .from = SELF, .ranks = R(2)) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_SENT_CLOCK, 1 } },
	}, {
		.name = "aggregates of another switch are added like anything else",
		.step = {
			{ GET(2, .from = SWITCH2, .ranks = R(1) | R(2), .members = 8) },
			{ GET(3, CONTRIB(H4, 3, .members = 8)) },
			{ GET(1, .from = H1, .ranks = R(4) | R(5) | R(6) | R(7), .members = 8),
			  .out = { PUT(4, .from = SELF, .members = 8, .ranks = 0xfe) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 2 }, { CSW_SENT_COMPLETE, 1 } },
	}, {
		.name = "damaged data are not added, whether first, in between or last; the block goes on",
		.step = {
			{ GET(1, CONTRIB(H1, 1, DAMAGED)) },
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(2, CONTRIB(H3, 2, DAMAGED)) },
			{ GET(2, CONTRIB(H3, 2)) },
			{ GET(3, CONTRIB(H4, 3, DAMAGED)) },
			{ GET(3, CONTRIB(H4, 3)),
			  .out = { PUT(4, .from = SELF, .ranks = ALL3) } },
			{ FLUSH, LATER(2000) },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 2 }, { CSW_SENT_COMPLETE, 1 },
			   { DROPPED(SUM), 3 } },
	}, {
		.name = "a damaged one is a carrier all the same",
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(2, CONTRIB(H3, 2, .block = 6, DAMAGED)), LATER(1000),
			  .out = { PUT(4, .from = SELF, .ranks = R(1)) } },
			{ GET(2, CONTRIB(H3, 2, .block = 7)) },
			{ GET(1, CONTRIB(H1, 1, .block = 7)) },
			{ FLUSH, LATER(2000),
			  .out = { PUT(4, .from = SELF, .ranks = R(1) | R(2), .block = 7) } },
		},
		.count = { { CSW_NEW, 2 }, { CSW_MERGED, 1 }, { CSW_SENT_CARRIER, 1 },
			   { CSW_SENT_CLOCK, 1 }, { DROPPED(SUM), 1 } },
	}, {
		.name = "two blocks do not mix",
		.step = {
			{ GET(1, CONTRIB(H1, 1, .block = 6)) },
			{ GET(1, CONTRIB(H1, 1, .block = 7)) },
			{ GET(2, CONTRIB(H3, 2, .block = 7)) },
			{ GET(2, CONTRIB(H3, 2, .block = 6)) },
			{ GET(3, CONTRIB(H4, 3, .block = 6)),
			  .out = { PUT(4, .from = SELF, .ranks = ALL3, .block = 6) } },
			{ GET(3, CONTRIB(H4, 3, .block = 7)),
			  .out = { PUT(4, .from = SELF, .ranks = ALL3, .block = 7) } },
		},
		.count = { { CSW_NEW, 2 }, { CSW_MERGED, 4 }, { CSW_SENT_COMPLETE, 2 } },
	}, {
		.name = "two communicators, and two epochs, with the same block do not mix",
		.slots = 4,
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(1, CONTRIB(H1, 1, .comm = 78)) },
			{ GET(1, CONTRIB(H1, 1, .epoch = 5)) },
			{ FLUSH, LATER(1000), .out = { PUT(4, .from = SELF, .ranks = R(1)) } },
			{ FLUSH, .out = { PUT(4, .from = SELF, .ranks = R(1), .comm = 78) } },
			{ FLUSH, .out = { PUT(4, .from = SELF, .ranks = R(1), .epoch = 5) } },
		},
		.count = { { CSW_NEW, 3 }, { CSW_SENT_CLOCK, 3 } },
	}, {
		.name = "load is the maximum",
		.step = {
			{ GET(1, CONTRIB(H1, 1, .load = 9)) },
			{ GET(2, CONTRIB(H3, 2, .load = 200)) },
			{ GET(3, CONTRIB(H4, 3, .load = 30)),
			  .out = { PUT(4, .from = SELF, .ranks = ALL3, .load = 200) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 2 }, { CSW_SENT_COMPLETE, 1 } },
	}, {
		.name = "done is the earliest, across the wrap of serial numbers",
		.step = {
			{ GET(1, CONTRIB(H1, 1, .done = 4, .block = 8)) },
			{ GET(2, CONTRIB(H3, 2, .done = 0xfffffffe, .block = 8)) },
			{ GET(3, CONTRIB(H4, 3, .done = 0x7, .block = 8)),
			  .out = { PUT(4, .from = SELF, .ranks = ALL3, .done = 0xfffffffe,
				       .block = 8) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 2 }, { CSW_SENT_COMPLETE, 1 } },
	}, {
		.name = "a taken frame carries away a block that is due",
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(2, CONTRIB(H3, 2, .block = 6)), LATER(1000),
			  .out = { PUT(4, .from = SELF, .ranks = R(1)) } },
		},
		.count = { { CSW_NEW, 2 }, { CSW_SENT_CARRIER, 1 } },
	}, {
		.name = "an added frame carries away what was due at the last look at the clock",
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(1, CONTRIB(H1, 1, .block = 6)), LATER(100) },
			{ GET(1, CONTRIB(H1, 1, .block = 7)), LATER(1200),
			  .out = { PUT(4, .from = SELF, .ranks = R(1)) } },
			{ GET(2, CONTRIB(H3, 2, .block = 7)),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), .block = 6) } },
			{ GET(2, CONTRIB(H3, 3, .block = 7, .members = 4)), LATER(9000),
			  .out = { PUT(4, .from = SELF, .ranks = ALL3, .block = 7) } },
		},
		.count = { { CSW_NEW, 3 }, { CSW_MERGED, 2 }, { CSW_SENT_CARRIER, 2 },
			   { CSW_SENT_COMPLETE, 1 } },
	}, {
		.name = "a carrier becomes longer or shorter as the block needs",
		.step = {
			{ GET(1, CONTRIB(H1, 1, .elements = 300)) },
			{ GET(1, CONTRIB(H1, 1, .elements = 3, .block = 6)), LATER(10) },
			{ GET(2, CONTRIB(H3, 2, .block = 7)), LATER(1200),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), .elements = 300) } },
			{ GET(2, CONTRIB(H3, 2, .block = 8)),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), .elements = 3,
				       .block = 6) } },
		},
		.count = { { CSW_NEW, 4 }, { CSW_SENT_CARRIER, 2 } },
	}, {
		.name = "a dropped frame is a carrier too",
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(1, CONTRIB(H1, 1)), LATER(1000),
			  .out = { PUT(4, .from = SELF, .ranks = R(1)) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_SENT_CARRIER, 1 }, { DROPPED(DUPLICATE), 1 } },
	}, {
		.name = "one straggler: own address as source, rank and mac kept, not added",
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(2, CONTRIB(H3, 2)) },
			{ FLUSH, LATER(1000),
			  .out = { PUT(4, .from = SELF, .ranks = R(1) | R(2)) } },
			{ GET(3, CONTRIB(H4, 3)), LATER(1500),
			  .out = { PUT(4, .from = SELF, .ranks = R(3), .ttl = 63) } },
			/* and it gets the result */
			{ GET(4, .type = CANARY_RESULT),
			  .out = { PUT(1, .type = CANARY_RESULT, .from = SELF, .to = H1),
				   PUT(2, .type = CANARY_RESULT, .from = SELF, .to = H3),
				   PUT(3, .type = CANARY_RESULT, .from = SELF, .to = H4) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 1 }, { CSW_SENT_CLOCK, 1 },
			   { CSW_STRAGGLER, 1 }, { CSW_RESULTS, 1 }, { CSW_REPLICATED, 3 } },
	}, {
		.name = "several stragglers, one of them an aggregate of a known child",
		.step = {
			{ GET(2, .from = SWITCH2, .ranks = R(1) | R(2), .members = 8) },
			{ FLUSH, LATER(1000),
			  .out = { PUT(4, .from = SELF, .ranks = R(1) | R(2), .members = 8) } },
			{ GET(2, .from = SWITCH2, .ranks = R(3) | R(4), .members = 8),
			  .out = { PUT(4, .from = SELF, .ranks = R(3) | R(4), .members = 8,
				       .ttl = 63) } },
			{ GET(1, CONTRIB(H1, 5, .members = 8, .ttl = 9)),
			  .out = { PUT(4, .from = SELF, .ranks = R(5), .members = 8,
				       .ttl = 8) } },
			{ GET(4, .type = CANARY_RESULT, .members = 8),
			  .out = { PUT(2, .type = CANARY_RESULT, .members = 8, .from = SELF,
				       .to = SWITCH2),
				   PUT(1, .type = CANARY_RESULT, .members = 8, .from = SELF,
				       .to = H1) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_SENT_CLOCK, 1 }, { CSW_STRAGGLER, 2 },
			   { CSW_RESULTS, 1 }, { CSW_REPLICATED, 2 } },
	}, {
		.name = "a repeat is dropped while collecting and after sending on",
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(2, CONTRIB(H3, 2)) },
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(2, CONTRIB(H3, 2)) },
			{ FLUSH, LATER(1000),
			  .out = { PUT(4, .from = SELF, .ranks = R(1) | R(2)) } },
			{ GET(1, CONTRIB(H1, 1)) },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 1 }, { CSW_SENT_CLOCK, 1 },
			   { DROPPED(DUPLICATE), 3 } },
	}, {
		.name = "more members than there are: dropped",
		.step = {
			{ GET(2, .from = SWITCH2, .ranks = R(1) | R(2) | R(3), .members = 5,
			      .block = 6) },
			{ GET(1, .from = H1, .ranks = R(3) | R(4), .members = 5, .block = 6) },
			{ FLUSH, LATER(1000), .out = { PUT(4, .from = SELF, .ranks = ALL3,
							   .members = 5, .block = 6) } },
		},
		.count = { { CSW_NEW, 1 }, { DROPPED(COUNT), 1 }, { CSW_SENT_CLOCK, 1 } },
	}, {
		.name = "complete on arrival: nothing to add, the source stays",
		.step = {
			{ GET(2, .from = SWITCH2, .ranks = ALL3),
			  .out = { PUT(4, .from = SWITCH2, .ranks = ALL3, .ttl = 63) } },
			{ GET(2, CONTRIB(H3, 1, .members = 2)),
			  .out = { PUT(4, .from = H3, .ranks = R(1), .members = 2, .ttl = 63) } },
		},
		.count = { { CSW_PASSED, 2 } },
	}, {
		.name = "a newer attempt begins anew, an older one is dropped",
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(2, CONTRIB(H3, 2)) },
			{ GET(3, CONTRIB(H4, 3, .attempt = 1)) },
			{ GET(2, CONTRIB(H3, 2)) },
			{ GET(2, CONTRIB(H3, 2, .attempt = 1)) },
			{ GET(1, CONTRIB(H1, 1, .attempt = 1)),
			  .out = { PUT(4, .from = SELF, .ranks = ALL3, .attempt = 1) } },
			{ FLUSH, LATER(3000) },
		},
		.count = { { CSW_NEW, 2 }, { CSW_MERGED, 3 }, { CSW_RESTARTED, 1 },
			   { CSW_SENT_COMPLETE, 1 }, { DROPPED(STALE), 1 } },
	}, {
		.name = "a newer attempt begins anew after the older one was sent on",
		.step = {
			{ GET(1, CONTRIB(H1, 1)) },
			{ FLUSH, LATER(1000), .out = { PUT(4, .from = SELF, .ranks = R(1)) } },
			{ GET(2, CONTRIB(H3, 2, .attempt = 2)), LATER(1200) },
			{ FLUSH, LATER(2199) },
			{ FLUSH, LATER(2200),
			  .out = { PUT(4, .from = SELF, .ranks = R(2), .attempt = 2) } },
			/* the result of the older attempt is not for the children of the newer */
			{ GET(4, .type = CANARY_RESULT) },
			{ GET(4, .type = CANARY_RESULT, .attempt = 2),
			  .out = { PUT(2, .type = CANARY_RESULT, .from = SELF, .to = H3,
				       .attempt = 2) } },
		},
		.count = { { CSW_NEW, 2 }, { CSW_RESTARTED, 1 }, { CSW_SENT_CLOCK, 2 },
			   { CSW_RESULTS, 1 }, { CSW_REPLICATED, 1 }, { DROPPED(DESCRIPTOR), 1 } },
	},
};

const struct case_list block_cases = { cases, ARRAY(cases) };
