// SPDX-License-Identifier: BSD-2-Clause
/*
 * core EVERY WAY...: each type and operator in the protocol core, in simulated time, around the
 * switch of bpf/lib as an ordinary program. What is right comes from the reference of canary perf,
 * which shares nothing with the core. Prints a JSON object for each cell, for table.py. Of the
 * cells each EVERY'th one is run. WAY is switch, passes (what the program does that is compiled
 * without CANARY_K_SWITCHES) or ring.
 */
#include "core/inside.h"
#include "tools/canary/reference.h"
#include "selftests/core/testnet_inside.h"
#include "selftests/core/trial.h"

#define FLIGHT_MOST	8

/* In the core, results always take the place of what was given: vectors are "in place". */
static const struct shape {
	u32	members;
	u32	elements;
	u32	flight;		/* operations in flight together, all with data of their own */
	u32	drop;
	bool	pinned;
} shapes[] = {
	{ 3, 1, 1 },
	{ 8, 21, 1 },			/* less than a block, and odd */
	{ 4, 441, 1, .pinned = true },	/* some blocks in memory of the application */
	{ 5, 9261, 1, .drop = 5000 },	/* many blocks, some packets are lost */
	{ 4, 999, FLIGHT_MOST },
};

/* Of the trial that runs */
static struct reference reference;
static void *result[FLIGHT_MOST];	/* of each operation: the first one that was right */

static void fill(void *to, u32 rank, u32 op, u32 elements)
{
	reference.seed = op + 1;
	reference_fill(&reference, rank, to, elements);
}

/* The first result of an operation is compared with the reference, all others with that one. */
static bool right(u32 op, const void *got, u32 elements)
{
	size_t bytes = (size_t)elements * cnr_element(reference.op, reference.dtype);

	if (op >= FLIGHT_MOST)
		return false;
	if (result[op])
		return !memcmp(result[op], got, bytes);
	reference.seed = op + 1;
	if (reference_wrong(&reference, got, elements, false))
		return false;
	result[op] = malloc(bytes);
	memcpy(result[op], got, bytes);
	return true;
}

/* What came out of all shapes */
struct cell {
	u32	right, cases;
	u64	aggregates, ring, merged, passed;
	u32	combine, pass;		/* how often the core says so */
};

static void judge(struct tnet *s, const struct shape *sh, struct cell *cell)
{
	struct tnet_native_counts counts = tnet_native_counts(s);
	struct cnr_info info;
	u32 i, done = 0;

	for (i = 0; i < sh->members; i++) {
		done += tnet_last_error(s, i) ? 0 : tnet_completed(s, i);
		cnr_info(tnet_comm(s, i), &info);
		if (info.op == reference.op && info.dtype == reference.dtype)
			info.switches ? cell->combine++ : cell->pass++;
	}
	cell->cases += sh->members * sh->flight;
	cell->right += done - tnet_wrong(s);
	cell->aggregates += counter(s, sh->members, CNR_C_contributions_merged);
	cell->ring += counter(s, sh->members, CNR_C_operations_ring);
	cell->merged += counts.merged;
	cell->passed += counts.passed;
}

static void trial(const struct shape *sh, bool ring, struct cell *cell)
{
	struct tnet_config cfg = {
		.members = sh->members, .aggregate = true, .switches = &tnet_native,
		.seed = 100 * reference.op + reference.dtype, .key = true,
		.algorithm = ring ? CANARY_ALG_RING : CANARY_ALG_TREE, .pinned = sh->pinned,
		.faults.drop = sh->drop, .dtype = reference.dtype, .op = reference.op,
		.element = cnr_element(reference.op, reference.dtype), .fill = fill, .right = right,
	};
	struct tnet *s = tnet_new(&cfg);
	u32 i, op;

	reference.members = sh->members;
	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	for (op = 0; op < sh->flight; op++)
		for (i = 0; i < sh->members; i++)
			if (tnet_post(s, i, sh->elements))
				abort();
	tnet_wait_completed(s, sh->flight, 20 * S);
	judge(s, sh, cell);
	tnet_free(s);
	for (op = 0; op < FLIGHT_MOST; op++) {
		free(result[op]);
		result[op] = NULL;
	}
}

static void run(const char *way)
{
	struct cell c = { 0 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		trial(&shapes[i], !strcmp(way, "ring"), &c);
	printf("{\"type\": \"%s\", \"operator\": \"%s\", \"engine\": \"core\", \"way\": \"%s\", ",
	       cnr_dtype_name(reference.dtype), cnr_operator_name(reference.op), way);
	printf("\"right\": %s, \"shapes\": %zu, \"cases\": %u, \"promised\": \"%s\", ",
	       c.right == c.cases ? "true" : "false", ARRAY_SIZE(shapes), c.cases,
	       !c.pass ? "combine" : c.combine ? "both" : "pass");
	printf("\"noise\": 0, \"aggregates\": %llu, \"ring\": %llu, ",
	       (unsigned long long)c.aggregates, (unsigned long long)c.ring);
	printf("\"merged\": %llu, \"passed\": %llu}\n",
	       (unsigned long long)c.merged, (unsigned long long)c.passed);
}

int main(int argc, char **argv)
{
	u32 every = argc > 1 ? atoi(argv[1]) : 1, op, dtype, n;
	int i;

	for (i = 2; i < argc; i++) {
		n = 0;
		for (dtype = 1; cnr_dtype_name(dtype); dtype++) {
			for (op = 1; cnr_operator_name(op); op++) {
				reference.op = op;
				reference.dtype = dtype;
				if (cnr_element(op, dtype) && !(++n % every))
					run(argv[i]);
			}
		}
	}
	return 0;
}
