/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cases: what comes in, what has to come out, what has to be counted. The table is in cases.c,
 * test_switch.c runs it.
 */
#ifndef SELFTESTS_BPF_CASES_H
#define SELFTESTS_BPF_CASES_H

#include "world.h"

#define STEPS_MAX	24
#define OUTS_MAX	8
#define COUNTS_MAX	10

enum what {
	END,
	IN,		/* a frame arrives at a port */
	FLUSH,		/* the clock thread runs the flush program */
	HOLD,		/* somebody holds the lock of all slots */
	RELEASE,
};

struct out {
	int port;
	struct msg m;
	bool is;	/* set by the macros */
};

struct step {
	enum what what;
	uint32_t us;	/* from here on it is so late (us since the beginning); 0: as before */
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
 * @slots, @children, @timeout_us, @lifetime_us: 16, 8, 1000, 5000000 unless given
 * @patience: of the root switch; none unless given
 * @counts: all that is counted, but packets and bytes in and out, which the runner knows
 */
struct test_case {
	const char *name;
	uint32_t slots, queue, children, patience, timeout_us, lifetime_us;
	struct step step[STEPS_MAX];
	struct count count[COUNTS_MAX];
};

#define DROPPED(reason)	(CSW_COUNTER_COUNT + CANARY_DROP_##reason)

extern const struct test_case cases[];
extern const int cases_n;

/* Frames that no switch may touch: forwarded as they are, and counted */
struct bad_frame {
	const char *name;
	struct msg m;
	uint32_t counter;	/* 0: nothing is counted, it is none of our business */
};

extern const struct bad_frame bad_frames[];
extern const int bad_frames_n;

#endif /* SELFTESTS_BPF_CASES_H */
