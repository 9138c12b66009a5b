/* SPDX-License-Identifier: BSD-2-Clause */
/* canary perf: what is measured (perf.c), and how operations are run and checked (perf_run.c) */
#ifndef CANARY_PERF_H
#define CANARY_PERF_H

#include "comm_options.h"
#include "output.h"
#include "reference_float.h"

#define PERF_FLIGHT	32	/* most operations in flight together */

#define PERF_TIMES	(1 << 20)	/* most operations whose times are kept */

struct result {
	double		time_us;	/* of an operation, mean of all iterations and ranks */
	double		median_us, p99_us; /* at this rank; 0: not measured */
	double		algbw, busbw;	/* GB/s */
	uint64_t	wrong;		/* wrong elements of all ranks */
};

/*
 * What was seen of operations that were checked, to tell who combined their data
 * @aggregates:	packets with the data of several members that leaders took from switches, all ranks
 * @ring:	operations that ran as a ring, all ranks
 * @switches:	what canary comm show of rank 0 says of them: "combine", "pass", "-"
 */
struct seen {
	uint64_t	aggregates, ring;
	char		switches[16];
};

struct row {
	uint64_t		count;		/* elements */
	enum canary_dtype	dtype;
	enum canary_operator	op;
	uint32_t		method;		/* enum canary_method */
	struct result		out_of_place, in_place;
	struct seen		seen;
};

struct perf {
	struct comm_options	comm;
	uint64_t		min, max, step_bytes;
	uint64_t		factor, iters, warmup, check, aggregate;
	const char		*dtypes, *ops, *how;	/* as given; NULL: the usual one */
	const char		*json;
	struct output		output;
	struct canary		*c;
	uint32_t		rank, members;
	void			*send, *recv;	/* perf_room() bytes each */
	struct reference	reference;	/* the type and operator that run */
	struct row		*rows;
	int			row_count;
	uint64_t		wrong;
	double			busbw_sum;
	double			*times;		/* us, of operations that are measured; or NULL */
	size_t			times_n;
	uint32_t		method;		/* enum canary_method of what ran last */
	struct seen		seen;		/* of one row */
};

/* Return: how many operations are checked together */
uint64_t perf_together(const struct perf *p);

/* Return: bytes of a buffer for all that runs together */
size_t perf_room(const struct perf *p);

/* Return: the time now, us */
double perf_now_us(void);

/* All of these return 0, or -1 after an error message. */

/* Say why an operation failed. Return: -1 */
int perf_fail(const struct perf *p);

/* Run one operation. Without elements, all ranks wait for each other. */
int perf_reduce(struct perf *p, const void *in, void *out, size_t count);

/* Run @n operations, up to -m of them in flight, with the same vectors. p->times gets theirs. */
int perf_operations(struct perf *p, const void *in, void *out, size_t count, uint64_t n);

/* Sum a 64-bit number over all ranks, byte by byte, so that no part can wrap. */
int perf_sum(struct perf *p, uint64_t *value);

/*
 * Run operations with new data, and compare the results with what they have to be. Adds to p->seen.
 * @wrong:	receives how many elements of all ranks are not that
 */
int perf_check(struct perf *p, void *in, void *out, size_t count, uint64_t *wrong);

#endif /* CANARY_PERF_H */
