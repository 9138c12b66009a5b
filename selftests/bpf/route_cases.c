// SPDX-License-Identifier: BSD-2-Clause
/* Routes, neighbours and ports: what is left to the kernel, and which way the rest takes. */
#include "cases.h"

static const struct test_case cases[] = {
	{
		.name = "time to live 1: to the kernel, which says so to the sender",
		.step = {
			{ GET(1, CONTRIB(H1, 1, .ttl = 1)),
			  .out = { PUT(KERNEL, .from = H1, .ranks = R(1), .ttl = 1) } },
			{ GET(1, CONTRIB(H1, 1, .ttl = 2)) },
		},
		.count = { { CSW_NEW, 1 }, { DROPPED(TTL), 1 } },
	}, {
		.name = "no route to the leader: to the kernel as it is, not taken",
		.step = {
			{ GET(1, CONTRIB(H1, 1, .to = NOWHERE)),
			  .out = { PUT(KERNEL, .from = H1, .ranks = R(1), .to = NOWHERE) } },
			{ GET(1, CONTRIB(H1, 1, .to = LOCAL)),
			  .out = { PUT(KERNEL, .from = H1, .ranks = R(1), .to = LOCAL) } },
			{ GET(1, CONTRIB(H1, 1, .to = NOWHERE, .flags = CANARY_F_BYPASS)),
			  .out = { PUT(KERNEL, .from = H1, .ranks = R(1), .to = NOWHERE,
				       .flags = CANARY_F_BYPASS) } },
		},
		.count = { { CSW_TO_KERNEL, 3 }, { CSW_BYPASSED, 1 } },
	}, {
		.name = "what is only forwarded through the stack, if that is wanted; the rest as ever",
		.stack = true,
		.children = 1,
		.step = {
			{ GET(1, CONTRIB(H1, 1, .flags = CANARY_F_BYPASS, .origin = SWITCH2)),
			  .out = { PUT(KERNEL, CONTRIB(H1, 1, .flags = CANARY_F_BYPASS,
						       .origin = SWITCH2)) } },
			{ GET(1, .from = SWITCH2, .ranks = ALL3),
			  .out = { PUT(KERNEL, .from = SWITCH2, .ranks = ALL3) } },
			{ GET(1, CONTRIB(H1, 1)) },
			{ GET(3, CONTRIB(H4, 3)),
			  .out = { PUT(KERNEL, CONTRIB(H4, 3, .flags = CANARY_F_BYPASS,
						       .origin = SELF)) } },
			{ FLUSH, LATER(1000), .out = { PUT(4, .from = SELF, .ranks = R(1)) } },
			{ GET(4, .type = CANARY_RESULT),
			  .out = { PUT(1, .type = CANARY_RESULT, .from = SELF, .to = H1) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_BYPASSED, 1 }, { CSW_PASSED, 1 },
			   { CSW_BYPASS_CHILDREN, 1 }, { CSW_TO_KERNEL, 3 }, { CSW_SENT_CLOCK, 1 },
			   { CSW_RESULTS, 1 }, { CSW_REPLICATED, 1 } },
	}, {
		.name = "to the switch itself nobody contributes",
		.step = {
			{ GET(1, CONTRIB(H1, 1, .to = SELF)),
			  .out = { PUT(KERNEL, .from = H1, .ranks = R(1), .to = SELF) } },
		},
	}, {
		.name = "no neighbour: the kernel resolves it for an aggregate and a result",
		.step = {
			{ GET(1, CONTRIB(H1, 1, .to = ABSENT)) },
			{ FLUSH, LATER(1000),
			  .out = { PUT(3, .from = SELF, .to = ABSENT, .ranks = R(1)) } },
			{ GET(2, CONTRIB(H3, 2, .to = ABSENT)),
			  .out = { PUT(3, .from = SELF, .to = ABSENT, .ranks = R(2), .ttl = 63) } },
			{ GET(3, CONTRIB(ABSENT, 1, .block = 6)) },
			{ GET(4, .type = CANARY_RESULT, .block = 6),
			  .out = { PUT(3, .type = CANARY_RESULT, .block = 6, .from = SELF,
				       .to = ABSENT) } },
		},
		.count = { { CSW_NEW, 2 }, { CSW_SENT_CLOCK, 1 }, { CSW_STRAGGLER, 1 },
			   { CSW_RESULTS, 1 }, { CSW_REPLICATED, 1 }, { CSW_TO_KERNEL, 3 } },
	}, {
		.name = "no neighbour: one of several copies can wait for it, a second is lost",
		.step = {
			{ GET(3, CONTRIB(ABSENT, 1, .members = 8)) },
			{ GET(3, CONTRIB(ABSENT2, 2, .members = 8)) },
			{ GET(2, CONTRIB(H3, 3, .members = 8)) },
			{ GET(4, .type = CANARY_RESULT, .members = 8),
			  .out = { PUT(3, .type = CANARY_RESULT, .members = 8, .from = SELF,
				       .to = ABSENT),
				   PUT(2, .type = CANARY_RESULT, .members = 8, .from = SELF,
				       .to = H3) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 2 }, { CSW_RESULTS, 1 },
			   { CSW_REPLICATED, 2 }, { CSW_TO_KERNEL, 1 }, { DROPPED(NOROUTE), 1 } },
	}, {
		.name = "no neighbour for a bypassed one: to the kernel, marked",
		.step = {
			{ GET(2, CONTRIB(H3, 2, .to = ABSENT)) },
			{ GET(1, CONTRIB(H1, 1, .to = ABSENT, .opsig = 3)),
			  .out = { PUT(KERNEL, .from = H1, .to = ABSENT, .opsig = 3, .ranks = R(1),
				       .flags = CANARY_F_BYPASS, .origin = SELF) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_BYPASS_OPSIG, 1 }, { CSW_TO_KERNEL, 1 } },
	}, {
		.name = "a child whose route is gone loses its copy, the others do not",
		.step = {
			{ GET(1, CONTRIB(NOWHERE, 1, .members = 8)) },
			{ GET(2, CONTRIB(H3, 2, .members = 8)) },
			{ GET(4, .type = CANARY_RESULT, .members = 8),
			  .out = { PUT(2, .type = CANARY_RESULT, .members = 8, .from = SELF,
				       .to = H3) } },
			{ GET(1, CONTRIB(NOWHERE, 1, .members = 8, .block = 6)) },
			{ GET(4, .type = CANARY_RESULT, .members = 8, .block = 6) },
		},
		.count = { { CSW_NEW, 2 }, { CSW_MERGED, 1 }, { CSW_RESULTS, 2 },
			   { CSW_REPLICATED, 1 }, { DROPPED(NOROUTE), 2 } },
	}, {
		.name = "too large for the port: to the kernel; of a result that copy is dropped",
		.step = {
			{ GET(1, CONTRIB(H1, 1, .to = H3, .elements = 360)),
			  .out = { PUT(KERNEL, .from = H1, .to = H3, .ranks = R(1),
				       .elements = 360) } },
			{ GET(1, CONTRIB(H1, 2, .to = H3, .elements = 360, .kind = UNKNOWN_KIND)),
			  .out = { PUT(KERNEL, .from = H1, .to = H3, .ranks = R(2), .kind = UNKNOWN_KIND,
				       .elements = 360) } },
			{ GET(2, CONTRIB(H3, 1, .elements = 360, .members = 8, .block = 7)) },
			{ GET(1, CONTRIB(H1, 2, .elements = 360, .members = 8, .block = 7)) },
			{ GET(4, .type = CANARY_RESULT, .elements = 360, .members = 8, .block = 7),
			  .out = { PUT(1, .type = CANARY_RESULT, .elements = 360, .members = 8,
				       .block = 7, .from = SELF, .to = H1) } },
			/* the same if it is the only next hop */
			{ GET(2, CONTRIB(H3, 1, .elements = 360, .block = 9)) },
			{ GET(4, .type = CANARY_RESULT, .elements = 360, .block = 9) },
		},
		.count = { { CSW_NEW, 2 }, { CSW_MERGED, 1 }, { DROPPED(OPERATOR), 1 },
			   { CSW_TO_KERNEL, 2 }, { CSW_RESULTS, 2 }, { CSW_REPLICATED, 1 },
			   { DROPPED(MTU), 2 } },
	}, {
		.name = "equal-cost next hops: blocks spread, a block always goes the same way",
		.step = {
			{ GET(1, CONTRIB(H1, 1, .to = MULTI, .members = 3, .block = 6)) },
			{ GET(1, CONTRIB(H1, 1, .to = MULTI, .members = 3, .block = 7)) },
			{ GET(2, CONTRIB(H3, 2, .to = MULTI, .members = 3, .block = 6)),
			  .out = { PUT(4, .from = SELF, .to = MULTI, .members = 3, .block = 6,
				       .ranks = R(1) | R(2)) } },
			{ GET(2, CONTRIB(H3, 2, .to = MULTI, .members = 3, .block = 7)),
			  .out = { PUT(3, .from = SELF, .to = MULTI, .members = 3, .block = 7,
				       .ranks = R(1) | R(2)) } },
			{ GET(1, CONTRIB(H1, 1, .to = MULTI, .members = 2, .block = 6)),
			  .out = { PUT(4, .from = H1, .to = MULTI, .members = 2, .block = 6,
				       .ranks = R(1), .ttl = 63) } },
		},
		.count = { { CSW_NEW, 2 }, { CSW_MERGED, 2 }, { CSW_SENT_COMPLETE, 2 },
			   { CSW_PASSED, 1 } },
	}, {
		.name = "a pinned path decides among next hops",
		.step = {
			{ GET(1, CONTRIB(H1, 1, .to = MULTI, .flags = CANARY_F_STATIC,
					 .path = 1)) },
			{ GET(1, CONTRIB(H1, 1, .to = MULTI, .flags = CANARY_F_STATIC, .path = 2,
					 .block = 6)) },
			{ FLUSH, LATER(1000),
			  .out = { PUT(4, .from = SELF, .to = MULTI, .flags = CANARY_F_STATIC,
				       .path = 1, .ranks = R(1)) } },
			{ FLUSH, .out = { PUT(3, .from = SELF, .to = MULTI, .block = 6,
					      .flags = CANARY_F_STATIC, .path = 2,
					      .ranks = R(1)) } },
		},
		.count = { { CSW_NEW, 2 }, { CSW_SENT_CLOCK, 2 } },
	}, {
		.name = "for another machine on the link: not ours",
		.step = {
			{ GET(1, CONTRIB(H1, 1, .other_mac = true)),
			  .out = { PUT(KERNEL, .from = H1, .ranks = R(1), .other_mac = true) } },
		},
	}, {
		.name = "a frame longer than its packet leaves without the rest",
		.step = {
			{ GET(1, CONTRIB(H1, 1, .members = 3)) },
			{ GET(2, CONTRIB(H3, 2, .members = 3, .cut = 10)),
			  .out = { PUT(4, .from = SELF, .members = 3, .ranks = R(1) | R(2)) } },
		},
		.count = { { CSW_NEW, 1 }, { CSW_MERGED, 1 }, { CSW_SENT_COMPLETE, 1 } },
	},
};

const struct case_list route_cases = { cases, ARRAY(cases) };
