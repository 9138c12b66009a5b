// SPDX-License-Identifier: BSD-2-Clause
/*
 * Kept trees: several results go down the descriptor of one block. How such a descriptor ends, and
 * what nobody can do with it who makes up results. Only a switch with rules keeps trees. Without
 * rules, nobody makes it send more bytes than it got.
 */
#include "cases.h"

/* The same bucket, with 16 slots: every fourth block */
#define SAME(n)		.block = 5 + 4 * (n)

/* A contribution without data, which makes a tree */
#define MAKES(who, n, ...)	CONTRIB(who, n, .no_elements = true, ##__VA_ARGS__)

/* What the switch made of such contributions */
#define MADE(r, ...)	PUT(4, .from = SELF, .ranks = (r), .no_elements = true, ##__VA_ARGS__)

/* The result number @t of the tree of block 5 */
#define DOWN(t, ...)	.type = CANARY_RESULT, .block = 5 + (t), .tree = (t), ##__VA_ARGS__

/* It is not the last one. */
#define MORE		.no_last = true

/* It goes to H1, H3 and H4. */
#define TO_ALL(t, ...)									\
	{ GET(4, DOWN(t, ##__VA_ARGS__)),						\
	  .out = { PUT(1, DOWN(t, .from = SELF, .to = H1, ##__VA_ARGS__)),		\
		   PUT(2, DOWN(t, .from = SELF, .to = H3, ##__VA_ARGS__)),		\
		   PUT(3, DOWN(t, .from = SELF, .to = H4, ##__VA_ARGS__)) } }

/* It goes to H3, the only child. */
#define TO_ONE(t, ...)									\
	{ GET(4, DOWN(t, ##__VA_ARGS__)),						\
	  .out = { PUT(2, DOWN(t, .from = SELF, .to = H3, ##__VA_ARGS__)) } }

/* A contribution that finds no slot */
#define PASSES(n, who, r, ...)								\
	{ GET(n, CONTRIB(who, r, ##__VA_ARGS__)),					\
	  .out = { PUT(4, CONTRIB(who, r, .ttl = 63, .flags = CANARY_F_BYPASS,		\
				  .origin = SELF, ##__VA_ARGS__)) } }

static const struct test_case cases[] = {
	{
		.name = "8 results go down one tree; the last one frees it",
		.spread = 8,
		.admit = true,
		.step = {
			{ GET(1, MAKES(H1, 1)) },
			{ GET(3, MAKES(H4, 2)) },
			{ GET(2, MAKES(H3, 3)), .out = { MADE(ALL3) } },
			TO_ALL(0, MORE), TO_ALL(1, MORE), TO_ALL(2, MORE), TO_ALL(3, MORE),
			/* a later block has a tree of its own beside it */
			{ GET(1, MAKES(H1, 1, .block = 13)) },
			/* of another attempt or operation, or down another tree */
			{ GET(4, DOWN(4, .attempt = 1)) },
			{ GET(4, DOWN(4, .opsig = 7)) },
			{ GET(4, .type = CANARY_RESULT, .block = 9, .tree = 3) },
			{ GET(4, .type = CANARY_RESULT, .block = 9) },
			TO_ALL(4, MORE), TO_ALL(5, MORE), TO_ALL(6, MORE), TO_ALL(7),
			{ GET(4, DOWN(7)) },
			{ GET(4, DOWN(8, MORE)) },
			{ GET(3, MAKES(H4, 2, .block = 13)) },
			{ GET(2, MAKES(H3, 3, .block = 13)), .out = { MADE(ALL3, .block = 13) } },
		},
		.count = { { CSW_NEW, 2 }, { CSW_MERGED, 4 }, { CSW_SENT_COMPLETE, 2 },
			   { CSW_RESULTS, 8 }, { CSW_REPLICATED, 24 }, { DROPPED(DESCRIPTOR), 6 } },
	}, {
		.name = "a tree with one child",
		.admit = true,
		.step = {
			{ GET(2, MAKES(H3, 1)) },
			{ FLUSH, LATER(1000), .out = { MADE(R(1)) } },
			TO_ONE(0, MORE), TO_ONE(1, MORE), TO_ONE(2),
			{ GET(4, DOWN(3)) },
			/* the slot is free */
			{ GET(2, MAKES(H3, 1)) },
		},
		.count = { { CSW_NEW, 2 }, { CSW_SENT_CLOCK, 1 }, { CSW_RESULTS, 3 },
			   { CSW_REPLICATED, 3 }, { DROPPED(DESCRIPTOR), 1 } },
	}, {
		.name = "results may be lost or late; each goes down once",
		.admit = true,
		.step = {
			{ GET(2, MAKES(H3, 1)) },
			{ FLUSH, LATER(1000), .out = { MADE(R(1)) } },
			TO_ONE(2, MORE), TO_ONE(0, MORE),
			{ GET(4, DOWN(2, MORE)) },
			{ GET(4, DOWN(0, MORE)) },
			{ GET(4, DOWN(0)) },
			TO_ONE(30, MORE), TO_ONE(31),
		},
		.count = { { CSW_NEW, 1 }, { CSW_SENT_CLOCK, 1 }, { CSW_RESULTS, 4 },
			   { CSW_REPLICATED, 4 }, { DROPPED(DESCRIPTOR), 3 } },
	}, {
		.name = "a result with data and without LAST keeps no descriptor of a sum",
		.step = {
			{ GET(2, CONTRIB(H3, 1)) },
			{ FLUSH, LATER(1000), .out = { PUT(4, .from = SELF, .ranks = R(1)) } },
			{ GET(4, DOWN(0, MORE)) },
			{ GET(4, DOWN(0, MORE, .no_elements = true)) },
			{ GET(4, DOWN(1)) },
			{ GET(4, DOWN(1, MORE)) },
			TO_ONE(0),
		},
		.count = { { CSW_NEW, 1 }, { CSW_SENT_CLOCK, 1 }, { CSW_RESULTS, 1 },
			   { CSW_REPLICATED, 1 }, { DROPPED(DESCRIPTOR), 4 } },
	}, {
		.name = "a straggler gets the results that follow",
		.spread = 2,
		.admit = true,
		.step = {
			{ GET(2, MAKES(H3, 1)) },
			{ FLUSH, LATER(1000), .out = { MADE(R(1)) } },
			TO_ONE(0, MORE),
			{ GET(1, MAKES(H1, 2)),
			  .out = { MADE(R(2), .ttl = 63) } },
			{ GET(4, DOWN(1, MORE)),
			  .out = { PUT(2, DOWN(1, MORE, .from = SELF, .to = H3)),
				   PUT(1, DOWN(1, MORE, .from = SELF, .to = H1)) } },
			{ GET(4, DOWN(2)),
			  .out = { PUT(2, DOWN(2, .from = SELF, .to = H3)),
				   PUT(1, DOWN(2, .from = SELF, .to = H1)) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_SENT_CLOCK, 1 }, { CSW_STRAGGLER, 1 },
			   { CSW_RESULTS, 3 }, { CSW_REPLICATED, 5 } },
	}, {
		.name = "a tree that is kept before it was sent on: nothing is sent on any more",
		.spread = 1,
		.admit = true,
		.step = {
			{ GET(2, MAKES(H3, 1)) },
			TO_ONE(0, MORE),
			{ FLUSH, LATER(1000) },
			{ GET(1, MAKES(H1, 2)), .out = { MADE(R(2), .ttl = 63) } },
			{ GET(4, DOWN(1)),
			  .out = { PUT(2, DOWN(1, .from = SELF, .to = H3)),
				   PUT(1, DOWN(1, .from = SELF, .to = H1)) } },
			{ FLUSH, LATER(2000) },
		},
		.count = { { CSW_NEW, 1 }, { CSW_STRAGGLER, 1 }, { CSW_RESULTS, 2 },
			   { CSW_REPLICATED, 3 } },
	}, {
		.name = "a new attempt takes the slot; the old tree is gone",
		.admit = true,
		.step = {
			{ GET(2, MAKES(H3, 1)) },
			{ FLUSH, LATER(1000), .out = { MADE(R(1)) } },
			TO_ONE(0, MORE),
			{ GET(2, MAKES(H3, 1, .attempt = 1)) },
			{ GET(4, DOWN(1, MORE)) },
			{ FLUSH, LATER(2000), .out = { MADE(R(1), .attempt = 1) } },
			/* what went down the old one goes down this one, too */
			TO_ONE(0, MORE, .attempt = 1), TO_ONE(1, .attempt = 1),
		},
		.count = { { CSW_NEW, 2 }, { CSW_RESTARTED, 1 }, { CSW_SENT_CLOCK, 2 },
			   { CSW_RESULTS, 3 }, { CSW_REPLICATED, 3 }, { DROPPED(DESCRIPTOR), 1 } },
	}, {
		.name = "who has all results of a kept tree makes room in it, not before",
		.admit = true,
		.step = {
			{ GET(2, MAKES(H3, 1)) },
			{ FLUSH, LATER(1000), .out = { MADE(R(1)) } },
			{ GET(1, CONTRIB(H1, 1, SAME(1))) },
			{ GET(1, CONTRIB(H1, 1, SAME(2))) },
			{ GET(1, CONTRIB(H1, 1, SAME(3))) },
			TO_ONE(0, MORE),
			PASSES(2, H3, 1, SAME(4), .done = 6),
			PASSES(2, H3, 1, SAME(4), .done = 5 + 31),
			TO_ONE(1, MORE),
			{ GET(2, CONTRIB(H3, 1, SAME(4), .done = 5 + 32)) },
			{ GET(4, DOWN(2, MORE)) },
		},
		.count = { { CSW_NEW, 5 }, { CSW_EVICTED, 1 }, { CSW_SENT_CLOCK, 1 },
			   { CSW_RESULTS, 2 }, { CSW_REPLICATED, 2 }, { CSW_BYPASS_COLLISION, 2 },
			   { DROPPED(DESCRIPTOR), 1 } },
	}, {
		.name = "a kept tree does not outlive the lifetime if its slot is needed",
		.admit = true,
		.lifetime_us = 10000,
		.step = {
			{ GET(2, MAKES(H3, 1)) },
			{ FLUSH, LATER(1000), .out = { MADE(R(1)) } },
			TO_ONE(0, MORE),
			{ GET(4, DOWN(1, MORE)), LATER(9000),
			  .out = { PUT(2, DOWN(1, MORE, .from = SELF, .to = H3)) } },
			{ GET(1, CONTRIB(H1, 1, SAME(1))) },
			{ GET(1, CONTRIB(H1, 1, SAME(2))) },
			{ GET(1, CONTRIB(H1, 1, SAME(3))) },
			PASSES(2, H3, 1, SAME(4)),
			{ GET(2, CONTRIB(H3, 1, SAME(4))), LATER(10001),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(1)) } },
			{ GET(4, DOWN(2, MORE)),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), SAME(2)) } },
		},
		.count = { { CSW_NEW, 5 }, { CSW_EVICTED, 1 }, { CSW_SENT_CLOCK, 1 },
			   { CSW_SENT_CARRIER, 2 }, { CSW_RESULTS, 2 }, { CSW_REPLICATED, 2 },
			   { CSW_BYPASS_COLLISION, 1 }, { DROPPED(DESCRIPTOR), 1 } },
	}, {
		.name = "who is not admitted keeps no tree; kept trees give way to others' share",
		.admit = true,
		.step = {
			{ GET(1, MAKES(H1, 1, SAME(0))) },
			{ GET(1, MAKES(H1, 1, SAME(1))), LATER(10) },
			{ FLUSH, LATER(1100), .out = { MADE(R(1), SAME(0)) } },
			{ FLUSH, .out = { MADE(R(1), SAME(1)) } },
			/* as if from a host that has no rule */
			{ GET(3, DOWN(0, MORE, .from = H1)) },
			{ GET(3, DOWN(0, .from = H1)) },
			{ GET(4, DOWN(0, MORE)),
			  .out = { PUT(1, DOWN(0, MORE, .from = SELF, .to = H1)) } },
			{ GET(1, CONTRIB(H1, 1, SAME(2))) },
			{ GET(1, CONTRIB(H1, 1, SAME(3))) },
			PASSES(1, H1, 1, SAME(4)),
			{ GET(2, CONTRIB(H3, 2, SAME(4))) },
			{ GET(4, DOWN(1, MORE)) },
		},
		.count = { { CSW_NEW, 5 }, { CSW_EVICTED, 1 }, { CSW_DISPLACED, 1 },
			   { CSW_SENT_CLOCK, 2 }, { CSW_RESULTS, 1 }, { CSW_REPLICATED, 1 },
			   { CSW_BYPASS_COLLISION, 1 }, { CSW_MARKED, 2 },
			   { DROPPED(ADMISSION), 2 }, { DROPPED(DESCRIPTOR), 1 } },
	}, {
		.name = "without rules no tree is kept, and no result is longer than contributions",
		.spread = 1,
		.step = {
			{ GET(1, MAKES(H1, 1)) },
			{ GET(3, MAKES(H4, 2)) },
			{ GET(2, MAKES(H3, 3)), .out = { MADE(ALL3) } },
			{ GET(4, DOWN(0, MORE)) },
			{ GET(4, DOWN(1, MORE)) },
			{ GET(4, DOWN(1)) },
			{ GET(4, DOWN(0)) },
			{ GET(4, DOWN(0, .elements = 1)) },
			{ GET(4, DOWN(0, MORE, .no_elements = true)) },
			{ GET(4, DOWN(1, .no_elements = true)) },
			TO_ALL(0, .no_elements = true),
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 2 }, { CSW_SENT_COMPLETE, 1 },
			   { CSW_RESULTS, 1 }, { CSW_REPLICATED, 3 }, { DROPPED(DESCRIPTOR), 7 } },
	}, {
		.name = "with rules, the only result of a tree may be longer than contributions",
		.spread = 1,
		.admit = true,
		.step = {
			{ GET(1, MAKES(H1, 1)) },
			{ GET(3, MAKES(H4, 2)) },
			{ GET(2, MAKES(H3, 3)), .out = { MADE(ALL3) } },
			TO_ALL(0),
			{ GET(4, DOWN(0)) },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 2 }, { CSW_SENT_COMPLETE, 1 },
			   { CSW_RESULTS, 1 }, { CSW_REPLICATED, 3 }, { DROPPED(DESCRIPTOR), 1 } },
	}, {
		.name = "with rules, a result is not longer than contributions with data",
		.admit = true,
		.step = {
			{ GET(2, CONTRIB(H3, 1, .elements = 1)) },
			{ FLUSH, LATER(1000),
			  .out = { PUT(4, .from = SELF, .ranks = R(1), .elements = 1) } },
			{ GET(4, DOWN(0)) },
			{ GET(4, DOWN(0, .elements = 2)) },
			TO_ONE(0, .elements = 1),
		},
		.count = { { CSW_NEW, 1 }, { CSW_SENT_CLOCK, 1 }, { CSW_RESULTS, 1 },
			   { CSW_REPLICATED, 1 }, { DROPPED(DESCRIPTOR), 2 } },
	}, {
		.name = "restoration of a block without data: the result has none either",
		.credit = BYTES(2),
		.step = {
			{ GET(4, .type = CANARY_RESTORATION, .child = { H1, H4 },
			      .no_elements = true) },
			{ GET(4, DOWN(0)) },
			{ GET(4, DOWN(0, .elements = 1)) },
			{ GET(4, DOWN(0, .no_elements = true)),
			  .out = { PUT(1, DOWN(0, .no_elements = true, .from = SELF, .to = H1)),
				   PUT(3, DOWN(0, .no_elements = true, .from = SELF,
					       .to = H4)) } },
		},
		.count = { { CSW_RESTORATIONS, 1 }, { CSW_RESTORED, 2 },
			   { DROPPED(DESCRIPTOR), 2 } },
	}, {
		.name = "with rules, too",
		.admit = true,
		.credit = BYTES(1),
		.step = {
			{ GET(4, .type = CANARY_RESTORATION, .child = { H4 }, .no_elements = true) },
			{ GET(4, DOWN(0)) },
			{ GET(4, DOWN(0, .no_elements = true)),
			  .out = { PUT(3, DOWN(0, .no_elements = true, .from = SELF,
					       .to = H4)) } },
		},
		.count = { { CSW_RESTORATIONS, 1 }, { CSW_RESTORED, 1 },
			   { DROPPED(DESCRIPTOR), 1 } },
	}, {
		.name = "a barrier's result frees its descriptor, as ever",
		.spread = 1,
		.step = {
			{ GET(1, MAKES(H1, 1)) },
			{ GET(3, MAKES(H4, 2)) },
			{ GET(2, MAKES(H3, 3)), .out = { MADE(ALL3) } },
			TO_ALL(0, .no_elements = true),
			{ GET(4, DOWN(0, .no_elements = true)) },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 2 }, { CSW_SENT_COMPLETE, 1 },
			   { CSW_RESULTS, 1 }, { CSW_REPLICATED, 3 }, { DROPPED(DESCRIPTOR), 1 } },
	}, {
		.name = "the first result of a kept tree tells how many contribute",
		.spread = 2,
		.admit = true,
		.learn = true,
		.step = {
			{ GET(1, MAKES(H1, 1, .members = 8)) },
			{ GET(2, MAKES(H3, 2, .members = 8)) },
			{ FLUSH, LATER(1000), .out = { MADE(R(1) | R(2), .members = 8) } },
			{ GET(4, DOWN(0, MORE, .members = 8)),
			  .out = { PUT(1, DOWN(0, MORE, .from = SELF, .to = H1, .members = 8)),
				   PUT(2, DOWN(0, MORE, .from = SELF, .to = H3,
					       .members = 8)) } },
			/* what comes later does not come by in time */
			{ GET(3, MAKES(H4, 3, .members = 8)),
			  .out = { MADE(R(3), .members = 8, .ttl = 63) } },
			{ GET(4, DOWN(1, .members = 8)),
			  .out = { PUT(1, DOWN(1, .from = SELF, .to = H1, .members = 8)),
				   PUT(2, DOWN(1, .from = SELF, .to = H3, .members = 8)),
				   PUT(3, DOWN(1, .from = SELF, .to = H4, .members = 8)) } },
			{ GET(1, MAKES(H1, 1, .members = 8, .block = 13)) },
			{ GET(2, MAKES(H3, 2, .members = 8, .block = 13)),
			  .out = { MADE(R(1) | R(2), .members = 8, .block = 13) } },
		},
		.count = { { CSW_NEW, 2 }, { CSW_MERGED, 2 }, { CSW_SENT_CLOCK, 1 },
			   { CSW_SENT_EXPECTED, 1 }, { CSW_STRAGGLER, 1 }, { CSW_RESULTS, 2 },
			   { CSW_REPLICATED, 5 }, { CSW_LEARNED, 1 } },
	},
};

const struct case_list kept_cases = { cases, ARRAY(cases) };
