/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Kinds of times that softirqs wait for the module */
#ifndef SELFTESTS_BENCH_SOFTIRQ_H
#define SELFTESTS_BENCH_SOFTIRQ_H

enum softirq_kind {
	SOFTIRQ_PACKET,		/* softirq: a packet came */
	SOFTIRQ_TIMER,		/* softirq: the core's deadline */
	SOFTIRQ_GO_ON,		/* softirq: the module continues work that was left */
	SOFTIRQ_LOCK,		/* process: canary_comm.lock is held */
	SOFTIRQ_SEND,		/* process: packets are handed to IP */
	SOFTIRQ_TIMERS,		/* softirq: all timers that were due, one after the other */
	SOFTIRQ_TASKLETS,	/* softirq: all tasklets, one after the other */
	SOFTIRQ_POLL,		/* softirq: up to 64 packets, one after the other */
	SOFTIRQ_KINDS
};

#endif /* SELFTESTS_BENCH_SOFTIRQ_H */
