/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is told apart of the times that softirqs wait for the module. */
#ifndef SELFTESTS_BENCH_SOFTIRQ_H
#define SELFTESTS_BENCH_SOFTIRQ_H

enum softirq_kind {
	SOFTIRQ_PACKET,		/* softirq: a packet came */
	SOFTIRQ_TIMER,		/* softirq: the core's deadline */
	SOFTIRQ_GO_ON,		/* softirq: what was left is gone on with */
	SOFTIRQ_LOCK,		/* process: canary_comm.lock is held */
	SOFTIRQ_SEND,		/* process: packets are handed to IP */
	SOFTIRQ_TIMERS,		/* all timers that fell due, one after the other */
	SOFTIRQ_TASKLETS,	/* likewise, tasklets */
	SOFTIRQ_POLL,		/* up to 64 packets that came, one after the other */
	SOFTIRQ_KINDS
};

#endif /* SELFTESTS_BENCH_SOFTIRQ_H */
