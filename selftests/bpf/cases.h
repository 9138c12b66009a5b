/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cases: what comes in, what has to come out, what has to be counted. The tables are in *_cases.c.
 * test_switch.c runs them.
 */
#ifndef SELFTESTS_BPF_CASES_H
#define SELFTESTS_BPF_CASES_H

#include "world.h"

#define STEPS_MAX	32
#define OUTS_MAX	8
#define COUNTS_MAX	10

enum what {
	END,
	IN,		/* a frame arrives at a port */
	FLUSH,		/* the clock thread runs the flush program */
	HOLD,		/* somebody holds the lock of all slots */
	HOLD_QUEUE,	/* ... of the queue */
	RELEASE,
};

struct out {
	int port;
	struct msg m;
	bool is;	/* whether there is one; set by the macros */
};

struct step {
	enum what what;
	uint32_t us;	/* us since the beginning, from here on; 0: as before */
	int port;
	struct msg m;
	struct out out[OUTS_MAX];
};

struct count {
	uint32_t index;
	uint64_t n;
};

/*
 * struct test_case
 *
 * @slots, @children, @timeout_us, @lifetime_us:	16, 8, 1000, 5000000 if they are 0
 * @root_waits:						of the root switch; 0: none
 * @credit:						bytes of copies for restorations
 * @min_us, @max_us:					bounds of an adaptive timeout
 * @admit:						with the rules of world.c
 * @stack:						what is only forwarded goes through the
 *							stack
 * @learn:						the fan-in is learned
 * @configured:						fan-in that is configured for LEADER
 * @spread:						results that are broadcast where groups are
 *							used
 * @counts:						all counters that rise, but packets and
 *							bytes in and out, which the runner knows
 */
struct test_case {
	const char *name;
	uint32_t slots, children, root_waits, timeout_us, lifetime_us, configured, credit,
		 min_us, max_us;
	int spread;
	bool learn, admit, stack;
	struct step step[STEPS_MAX];
	struct count count[COUNTS_MAX];
};

#define DROPPED(reason)	(CSW_COUNTER_COUNT + CANARY_DROP_##reason)


#define ARRAY(a)	((int)(sizeof(a) / sizeof((a)[0])))

/* The packet that the rest describes arrives at port @p. */
#define GET(p, ...)	.what = IN, .port = (p), .m = { __VA_ARGS__ }
/* The packet that the rest describes leaves by port @p. */
#define PUT(p, ...)	{ .port = (p), .m = { __VA_ARGS__ }, .is = true }
#define LATER(t)	.us = (t)

#define CONTRIB(who, n, ...)	.from = who, .ranks = R(n), ##__VA_ARGS__
#define ALL3	(R(1) | R(2) | R(3))

/* Bytes of @n contributions of 37 elements, as packets have them that do not say it */
#define BYTES(n)	((n) * (FRAME_DATA + 4 * 37))

struct case_list {
	const struct test_case *test_case;
	int n;
};

extern const struct case_list block_cases, slot_cases, result_cases, kept_cases, route_cases,
			      fan_in_cases, admission_cases;

/* Frames that no switch may change: they are forwarded as they are, and counted. */
struct bad_frame {
	const char *name;
	struct msg m;
	uint32_t counter;	/* 0: nothing is counted, as the frame is not for Canary */
};

extern const struct bad_frame bad_frames[];
extern const int bad_frames_n;

#endif /* SELFTESTS_BPF_CASES_H */
