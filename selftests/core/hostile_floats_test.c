// SPDX-License-Identifier: BSD-2-Clause
/*
 * A member that lies, with valid macs, about floating-point numbers: exponents, escapes, lanes,
 * results, to all or to each something else. Or about pairs, complex numbers, wide lanes of
 * integers. It may spoil sums. It may stop an operation, as it
 * can by not taking part. But nothing is read or written out of bounds, nobody is flooded, and
 * everything is given back.
 *
 * Then operations that never settle: those behind them wait, and end when the communicator ends.
 * And barriers, which have no words: none may be written.
 */
#include "selftests/tap.h"
#include "core/driver.h"
#include "core/inside.h"
#include "fixture.h"

#define MEMBERS		4
#define LIAR		2
#define FLIGHT		3	/* operations posted at the same time */
#define QUIET		2000	/* most packets in 10 s that may go out when nothing is done */

static u64 seed;

static u64 random_bits(void)
{
	seed += 0x9e3779b97f4a7c15ULL;
	return (seed ^ seed >> 29) * 0xbf58476d1ce4e5b9ULL >> 7;
}

/* How the member lies. Each is about what it contributes and what it sends as a leader. */
enum lie {
	ONES,		/* the largest exponents, 2^32 - 1 escapes, the largest lanes */
	ZEROS,		/* no exponents, no escapes, the smallest lanes */
	BITS,		/* anything */
	FIRST,		/* only the first word: an escape, or some exponents */
	MARKED,		/* some exponents have all bits set */
	LEAST,		/* lanes of 128 bits are the least integer there is */
	LIES
};

static const char *const lie_name[] = {
	"ones", "zeros", "bits", "first words", "marks", "least integers"
};

struct liar {
	struct tnet *s;
	enum lie lie;
	u32	told;
};

static void spoil(enum lie lie, u32 *words, u32 n)
{
	u32 i;

	switch (lie) {
	case ONES:
		memset(words, 0xff, n * sizeof(*words));
		break;
	case ZEROS:
		memset(words, 0, n * sizeof(*words));
		break;
	case BITS:
		for (i = 0; i < n; i++)
			words[i] = random_bits();
		break;
	case FIRST:
		words[0] = random_bits() & 1 ? ~0U : random_bits();
		break;
	case LEAST:
		for (i = 0; i < n; i++)
			words[i] = i % 4 == 3 ? 1U << 31 : 0;
		break;
	default:
		for (i = 0; i < n; i++)
			if (random_bits() % 3 == 0)
				((u8 *)&words[i])[random_bits() % 4] = 0xff;
		break;
	}
}

/* A packet leaves the liar: change its data, and make sum and mac anew. */
static bool lie(void *arg, int from, int to, const struct canary_hdr *packet)
{
	struct canary_hdr *h = (struct canary_hdr *)packet;
	struct liar *liar = arg;
	struct cnr_comm *c = tnet_comm(liar->s, LIAR);
	u32 *words = (u32 *)tnet_payload(liar->s);

	if (from != LIAR || !cnr_has_data(h) || !canary_length(h))
		return false;
	spoil(liar->lie, words, canary_length(h) / 4);
	if (h->type == CANARY_RESULT || h->type == CANARY_RING_RESULT)
		h->result.sum = cpu_to_be32(cnr_checksum(canary_kind(h), words, canary_length(h)));
	else
		h->contribution.sum = cpu_to_be32(cnr_checksum(canary_kind(h), words,
							       canary_length(h)));
	h->mac = cpu_to_be64(cnr_mac(c, h, words, tnet_comm(liar->s, 0)->cfg.port));
	liar->told++;
	return false;
}

/* Of the trial that runs: bytes of an element; whether honest members have zeros only */
static struct {
	u8	element;
	bool	zeros;
} given;

static void give(void *to, u32 rank, u32 op, u32 elements)
{
	u32 i, step = min_t(u32, given.element, sizeof(u64));
	u64 bits;

	for (i = 0; i < elements * given.element / step; i++) {
		bits = given.zeros ? 0 : (rank + 1) * 0x123456789abcdULL * (i + 3);
		memcpy((u8 *)to + i * step, &bits, step);
	}
}

static bool any_right(u32 op, const void *got, u32 elements)
{
	return true;
}

/* How many members does the operation not wait for? It is no matter what the liar gets. */
static u32 over(struct tnet *s)
{
	u32 i, n = 0;

	for (i = 0; i < MEMBERS; i++)
		n += i == LIAR || cnr_state(tnet_comm(s, i)) == CNR_FAILED ||
		     tnet_completed(s, i) >= FLIGHT;
	return n;
}

/* Nobody is led beyond the blocks for which memory was asked for. */
static bool bounded(struct tnet *s)
{
	struct cnr_operation *o;
	struct cnr_comm *c;
	u32 i, k;

	for (i = 0; i < MEMBERS; i++) {
		c = tnet_comm(s, i);
		for (k = c->op_release; canary_before(k, c->op_number); k++) {
			o = &c->ops[k % CNR_OPS];
			if (o->blocks > cnr_op_blocks(c, &o->op))
				return false;
		}
		if (canary_before(c->op_number, c->op_passed))
			return false;
	}
	return true;
}

static struct tnet *floats_net(u8 dtype, u8 op, u8 how, u8 algorithm, bool pinned)
{
	struct tnet_config cfg = {
		.members = MEMBERS, .seed = 5 + seed, .key = true, .algorithm = algorithm,
		.dtype = dtype, .op = op, .how = how, .element = cnr_element(op, dtype),
		.fill = give, .right = any_right, .pinned = pinned,
		.aggregate = algorithm == CANARY_ALG_TREE && random_bits() & 1,
	};
	struct tnet *s = tnet_new(&cfg);

	given.element = cfg.element;
	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	return s;
}

/* End it at once, whatever is under way. Return: is everything given back? */
static bool end_at_once(struct tnet *s)
{
	bool good;
	u32 i;

	for (i = 0; i < MEMBERS; i++)
		tnet_close(s, i, true);
	tnet_pass(s, tnet_now(s) + S);
	good = !tnet_vectors_held(s) && bounded(s);
	tnet_free(s);
	return good;
}

/*
 * Some have all results, others wait for blocks that only they have: as if they had posted more.
 * Who has all leaves. Return: do the others hear of it?
 */
static bool leave(struct tnet *s)
{
	u32 i, left = 0;

	for (i = 0; i < MEMBERS; i++) {
		if (i == LIAR || tnet_completed(s, i) >= FLIGHT) {
			tnet_close(s, i, false);
			left += i != LIAR;
		}
	}
	tnet_pass(s, tnet_now(s) + 100 * S);
	return left && over(s) == MEMBERS;
}

struct count {
	u32	trials;
	u32	told;
	u32	good;
	u32	stopped;	/* some operation did not end */
	u32	failed;		/* the communicator ended */
};

static void trial(struct count *n, u8 dtype, u8 op, u32 elements, u8 how, u8 algorithm,
		  enum lie what)
{
	struct liar liar = { .lie = what };
	bool good = true;
	u64 packets;
	u32 i;

	given.zeros = what == LEAST;
	liar.s = floats_net(dtype, op, how, algorithm, elements & 1);
	tnet_faults(liar.s)->filter = lie;
	tnet_faults(liar.s)->filter_arg = &liar;
	for (i = 0; i < FLIGHT; i++)
		post_all(liar.s, MEMBERS, elements);
	for (i = 0; i < 100 && over(liar.s) < MEMBERS; i++)
		tnet_pass(liar.s, tnet_now(liar.s) + 100 * MS);
	if (over(liar.s) < MEMBERS) {
		n->stopped++;
		packets = tnet_traffic(liar.s)->packets;
		tnet_pass(liar.s, tnet_now(liar.s) + 10 * S);
		good = tnet_traffic(liar.s)->packets - packets < QUIET && leave(liar.s);
	}
	for (i = 0; i < MEMBERS; i++)
		n->failed += cnr_state(tnet_comm(liar.s, i)) == CNR_FAILED;
	good &= bounded(liar.s);
	n->trials++;
	n->told += liar.told;
	n->good += end_at_once(liar.s) && good;
}

static const struct {
	u32	elements;
	u8	how;
} lengths[] = {
	{ 1, 0 }, { 151, 0 }, { 999, CANARY_HOW_EXACT }, { 257, 0 }, { 4097, 0 },
	{ 4098, CANARY_HOW_ELEMENTWISE },
};

static const u8 operators[] = { CANARY_OP_SUM, CANARY_OP_AVG, CANARY_OP_PROD, CANARY_OP_MIN };

/* Other types and operators whose words are not the elements */
static const struct {
	u8	dtype;
	u8	op;
	u8	how;
} others[] = {
	{ CANARY_INT16_INDEX, CANARY_OP_MINLOC }, { CANARY_INT32_INDEX, CANARY_OP_MAXLOC },
	{ CANARY_INT64_INDEX, CANARY_OP_MINLOC }, { CANARY_FLOAT32_INDEX, CANARY_OP_MAXLOC },
	{ CANARY_FLOAT64_INDEX, CANARY_OP_MINLOC }, { CANARY_FLOAT64_INDEX, CANARY_OP_MAXLOC },
	{ CANARY_INT8, CANARY_OP_SUM, CANARY_HOW_SATURATE },
	{ CANARY_UINT32, CANARY_OP_SUM, CANARY_HOW_SATURATE },
	{ CANARY_INT32, CANARY_OP_SUM, CANARY_HOW_SATURATE },
	{ CANARY_INT64, CANARY_OP_SUM, CANARY_HOW_SATURATE },
	{ CANARY_UINT64, CANARY_OP_SUM, CANARY_HOW_SATURATE },
	{ CANARY_INT16, CANARY_OP_AVG }, { CANARY_INT32, CANARY_OP_AVG },
	{ CANARY_INT64, CANARY_OP_AVG }, { CANARY_UINT64, CANARY_OP_AVG },
	{ CANARY_COMPLEX64, CANARY_OP_SUM }, { CANARY_COMPLEX128, CANARY_OP_AVG },
	{ CANARY_COMPLEX128, CANARY_OP_SUM, CANARY_HOW_EXACT },
	{ CANARY_COMPLEX64, CANARY_OP_PROD }, { CANARY_COMPLEX128, CANARY_OP_PROD },
};

static void test_lies(enum lie what, u8 algorithm)
{
	struct count n = { 0 };
	u32 l, o, dtype;

	for (l = 0; l < ARRAY_SIZE(lengths); l++) {
		for (o = 0; o < ARRAY_SIZE(operators); o++)
			for (dtype = CANARY_FLOAT16; dtype <= CANARY_FLOAT64; dtype++)
				trial(&n, dtype, operators[o], lengths[l].elements,
				      lengths[l].how, algorithm, what);
		for (o = 0; o < ARRAY_SIZE(others) && lengths[l].elements < 4098; o++)
			trial(&n, others[o].dtype, others[o].op, lengths[l].elements,
			      others[o].how, algorithm, what);
	}
	tap(n.good == n.trials && n.told >= n.trials,
	    "lies, %s, %s: %u of %u trials bounded and given back, %u lies, %u stopped, %u ended",
	    lie_name[what], algorithm == CANARY_ALG_RING ? "ring" : "tree", n.good, n.trials,
	    n.told, n.stopped, n.failed);
}

/*
 * A member says that it lives, but never what exponents it has. So the first operation does not
 * settle, and those behind it have no numbers. Some of them are posted only to be given back.
 */
static bool say_no_data(void *arg, int from, int to, const struct canary_hdr *h)
{
	return from == LIAR && cnr_has_data(h);
}

static void nothing_sent(void *driver, const struct cnr_out *out)
{
}

static void give_back(void *driver, const struct cnr_done *done)
{
	free((void *)(uintptr_t)done->cookie);
}

static void count_done(void *driver, const struct cnr_done *done)
{
	u32 *failed = driver;

	*failed += done->error == -ECONNABORTED;
}

static void test_unsettled(u8 algorithm)
{
	const char *name = algorithm == CANARY_ALG_RING ? "ring" : "tree";
	struct tnet *s = floats_net(CANARY_FLOAT32, CANARY_OP_SUM, 0, algorithm, false);
	u32 i, posted = 0;
	u64 packets;

	tnet_faults(s)->filter = say_no_data;
	while (posted < 2 * CNR_OPS && !tnet_post(s, 0, 5000))
		posted++;
	for (i = 1; i < MEMBERS; i++)
		for (u32 k = 0; k < posted; k++)
			if (tnet_post(s, i, 5000))
				abort();
	packets = tnet_traffic(s)->packets;
	tnet_pass(s, tnet_now(s) + 10 * S);
	packets = tnet_traffic(s)->packets - packets;
	tap(posted == CNR_OPS && packets < QUIET,
	    "never settled, %s: %u may be posted, %llu packets in 10 s", name, posted,
	    (unsigned long long)packets);
	for (i = 0; i < MEMBERS; i++)
		if (tnet_comm(s, i)->op_number != 1 || tnet_completed(s, i))
			abort();
	tap(end_at_once(s), "never settled, %s: all is given back at once", name);
}

/*
 * The application closes its socket while operations have no numbers, and the host takes no packet
 * meanwhile. Their vectors are given back. Then the host takes what was still to be sent. A result
 * that somebody has asked for is not read any more.
 */
static bool no_room(void *driver)
{
	return false;
}

static void test_close(void)
{
	static const struct cnr_driver full = {
		.room = no_room, .send = nothing_sent, .completed = count_done,
		.released = give_back,
	}, empty = {
		.send = nothing_sent, .completed = count_done, .released = give_back,
	};
	struct tnet *s = floats_net(CANARY_FLOAT32, CANARY_OP_SUM, 0, CANARY_ALG_TREE, false);
	struct cnr_comm *c = tnet_comm(s, 0);
	struct cnr_op op = { .op = CANARY_OP_SUM, .dtype = CANARY_FLOAT32, .elements = 5000 };
	u32 failed = 0, i;

	for (i = 0; i < 3; i++) {
		op.memory = calloc(1, cnr_memory(c, &op) + 5000 * sizeof(u32));
		op.data = op.memory + cnr_memory(c, &op);
		op.cookie = (uintptr_t)op.memory;
		if (cnr_post(c, tnet_now(s), &op))
			abort();
	}
	cnr_control(c, CANARY_RESULT, 1, c->first);
	tap(c->op_number == 1, "closed, never settled: two have no numbers");
	cnr_close(c, tnet_now(s) + S, true);
	cnr_drive(c, tnet_now(s) + S, &full, &failed);
	tap(failed == 3 && c->op_release == c->op_seq,
	    "closed, never settled: %u end with an error, all are given back", failed);
	tap(!canary_before(c->op_number, c->op_release),
	    "closed, never settled: no number is looked for behind the last one");
	cnr_drive(c, tnet_now(s) + S, &empty, &failed);
	tap(c->control_head == c->control_tail && !c->broadcast,
	    "closed, never settled: all is said");
	tnet_free(s);
}

/* The key of data is in memory before the words of packets. It stays what it was. */
static void test_barriers(void)
{
	static const u8 all[] = { CANARY_OP_SUM, CANARY_OP_PROD, CANARY_OP_MIN, CANARY_OP_MAX,
				  CANARY_OP_AVG };
	u32 o, i, dtype, good = 0;
	u32 key[CNR_DATA_KEY];
	struct tnet *s;

	for (dtype = CANARY_INT32; dtype <= CANARY_FLOAT64; dtype++) {
		for (o = 0; o < ARRAY_SIZE(all); o++) {
			s = floats_net(dtype, all[o], 0, CANARY_ALG_TREE, false);
			memcpy(key, tnet_comm(s, 0)->own_key, sizeof(key));
			post_all(s, MEMBERS, 0);
			if (!tnet_wait_completed(s, 1, 5 * S))
				abort();
			for (i = 0; i < MEMBERS; i++)
				good += !memcmp(key, tnet_comm(s, i)->own_key, sizeof(key));
			tnet_free(s);
		}
	}
	tap(good == 12 * ARRAY_SIZE(all) * MEMBERS,
	    "barriers of all types write nowhere (%u of %zu)", good,
	    12 * ARRAY_SIZE(all) * MEMBERS);
}

int main(void)
{
	u32 what;

	test_barriers();

	test_close();
	test_unsettled(CANARY_ALG_TREE);
	test_unsettled(CANARY_ALG_RING);

	for (what = 0; what < LIES; what++) {
		test_lies(what, CANARY_ALG_TREE);
		test_lies(what, CANARY_ALG_RING);
	}
	return tap_done("core-hostile-floats");
}
