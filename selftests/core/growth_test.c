// SPDX-License-Identifier: BSD-2-Clause
/*
 * Operations whose number of blocks is known late: sums of floats append blocks where numbers are
 * infinite, or do not fit. Until then, the operations behind them have no serial numbers, and some
 * are reserved.
 */
#include "core/inside.h"
#include "trial.h"

#define FAR	(1U << 26)	/* elements: vectors of 256 MiB */

static u64 nothing[1024];

/* Vectors of zeros, of any length */
static void *at(const struct cnr_op *op, u32 first, u32 n, enum cnr_use use)
{
	return nothing;
}

static struct cnr_op sum_of(u8 dtype, u32 elements, u8 how)
{
	return (struct cnr_op){ .op = CANARY_OP_SUM, .dtype = dtype, .elements = elements,
				.how = how, .at = at, .data = nothing };
}

/* ---- serial numbers ---- */

/* A single member is done at once, and needs no serial numbers later. */
static void test_alone(void)
{
	static const u8 how[] = { 0, CANARY_HOW_EXACT, CANARY_HOW_ELEMENTWISE };
	struct tnet *s = connected(1, false);
	struct cnr_comm *c = tnet_comm(s, 0);
	u32 done = 0, i;
	struct cnr_done d;
	struct cnr_op op;

	for (i = 0; i < 30000; i++) {
		op = sum_of(CANARY_FLOAT32, FAR, how[i % ARRAY_SIZE(how)]);
		op.memory = nothing;
		memset(nothing, 0, sizeof(nothing));
		if (cnr_post(c, tnet_now(s), &op))
			break;
		while (cnr_completion(c, &d))
			done++;
		while (cnr_released(c, &d))
			;
	}
	memset(nothing, 0, sizeof(nothing));
	tap(done == 30000 && !c->reserved && cnr_can_post(c),
	    "a single member: %u operations, %u serial numbers are reserved", done, c->reserved);
	tnet_free(s);
}

/* Who has to wait for serial numbers is told when there are some again. */
static void test_room(void)
{
	struct cnr_op op = sum_of(CANARY_FLOAT32, FAR, CANARY_HOW_EXACT), small;
	struct tnet *s = connected(2, false);
	struct cnr_comm *c = tnet_comm(s, 0);
	u32 posted = 0;
	bool good;
	int err;

	op.elements = 16 * FAR;
	op.memory = calloc(1, cnr_memory(c, &op));
	while (!(err = cnr_post(c, tnet_now(s), &op)))
		posted++;
	tap(err == -EAGAIN && posted < CNR_OPS && !cnr_can_post(c),
	    "after %u operations, there is no room for another one, and members say so", posted);
	small = sum_of(CANARY_FLOAT32, 1, 0);
	small.memory = calloc(1, cnr_memory(c, &small));
	good = !cnr_post(c, tnet_now(s), &small);
	tap(good && cnr_can_post(c), "there is room for a short one");
	tnet_free(s);
	free(op.memory);
	free(small.memory);
}

/* Waiting is useless for an operation that needs more serial numbers than there are. */
static void test_never(void)
{
	struct tnet_config cfg = {
		.members = 2, .mtu = 576, .seed = 5, .algorithm = CANARY_ALG_TREE,
	};
	struct cnr_op op = sum_of(CANARY_FLOAT64, 1U << 31, CANARY_HOW_EXACT);
	struct tnet *s = tnet_new(&cfg);
	struct cnr_comm *c = tnet_comm(s, 0);

	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	op.memory = nothing;	/* not used */
	tap(!cnr_op_fits(c, &op) && cnr_post(c, tnet_now(s), &op) == -EMSGSIZE,
	    "a vector that is too long for any communicator is refused");
	tap(cnr_can_post(c), "others may be posted");
	tnet_free(s);
}

/* ---- members that leave ---- */

#define BLOCK	2	/* its result is held back from rank 0; rank 2 leads it */

static bool hold;
static bool infinite;	/* rank 1 has infinities, so blocks are appended */

static bool holds(void *arg, int from, int to, const struct canary_hdr *h)
{
	return hold && !to && be32_to_cpu(h->block) == BLOCK &&
	       h->type == CANARY_RESULT;
}

static u64 give(u32 rank, u32 i)
{
	float f = rank + i;
	u32 bits;

	memcpy(&bits, &f, sizeof(bits));
	return infinite && rank == 1 && i % 40 == 3 ? 0x7f800000 : bits;
}

static bool any_result(u32 op, const void *got, u32 elements)
{
	return true;
}

static struct tnet *three(void)
{
	struct tnet_config cfg = {
		.members = 3, .seed = 2, .key = true, .algorithm = CANARY_ALG_TREE,
		.dtype = CANARY_FLOAT32, .element = 4, .give = give, .right = any_result,
		.fixed_first = true, .faults.filter = holds,
	};
	struct tnet *s = tnet_new(&cfg);

	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	return s;
}

/*
 * Rank 0 has posted a second operation, which has no serial numbers, as it lacks a result of the
 * first one. Rank 1 lacks nothing, and leaves.
 */
static void test_left(void)
{
	struct tnet *s;
	u16 rank = 99;
	u32 i;

	infinite = false;
	hold = true;
	s = three();
	post_all(s, 3, 256);
	if (tnet_post(s, 0, 256))
		abort();
	for (i = 0; i < 10000 && !tnet_completed(s, 1); i++)
		tnet_run(s, tnet_now(s) + 50 * CNR_USEC);
	tap(tnet_completed(s, 1) == 1 && !tnet_completed(s, 0), "rank 1 is done, rank 0 is not");
	tnet_close(s, 1, true);
	tnet_run(s, tnet_now(s) + MS);
	hold = false;
	tnet_run(s, tnet_now(s) + 20 * S);
	cnr_missing(tnet_comm(s, 0), &rank, 1);
	tap(cnr_state(tnet_comm(s, 0)) == CNR_FAILED && rank == 1 && tnet_completed(s, 0) == 2 &&
	    tnet_last_error(s, 0) == -ECONNRESET,
	    "rank 0 completes the first operation, the second one fails: rank %u left", rank);
	tnet_free(s);
}

/* Rank 1 leaves before the blocks that are appended, which rank 0 does not know of yet. */
static void test_left_growing(void)
{
	struct tnet *s;
	u16 rank = 99;
	u32 i;

	infinite = true;
	hold = true;
	s = three();
	post_all(s, 3, 256);
	for (i = 0; i < 10000 && tnet_comm(s, 1)->una < 8; i++)
		tnet_run(s, tnet_now(s) + 3 * CNR_USEC);
	tnet_close(s, 1, true);
	tnet_run(s, tnet_now(s) + MS);
	hold = false;
	tnet_run(s, tnet_now(s) + 20 * S);
	cnr_missing(tnet_comm(s, 0), &rank, 1);
	tap(cnr_state(tnet_comm(s, 0)) == CNR_FAILED && rank == 1 &&
	    tnet_last_error(s, 0) == -ECONNRESET,
	    "rank 1 leaves before appended blocks: the operation fails at rank 0");
	tnet_free(s);
}

int main(void)
{
	test_alone();
	test_room();
	test_never();
	test_left();
	test_left_growing();
	return tap_done("core-growth");
}
