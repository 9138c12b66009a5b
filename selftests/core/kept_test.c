// SPDX-License-Identifier: BSD-2-Clause
/*
 * Kept trees: a broadcast, eight blocks down one tree. No shape of the core does that yet, so this
 * test brings one (kept_rows.h). All members contribute to the first block of a tree, without data.
 * The results of all its blocks go down the descriptors that this left in switches. What all have
 * to get is computed by the simulated network, whose switches are written for the tests.
 */
#include "core/inside.h"
#include "fixture.h"
#include "forge.h"
#include "selftests/tap.h"

#define SHAPES	(1 << CANARY_ALLREDUCE | 1 << TEST_BROADCAST)
#define BLOCK	352	/* elements */

void test_broadcast_roles(const struct cnr_comm *c, const struct cnr_operation *o, u32 block,
			  struct cnr_roles *r)
{
	u32 index = block - o->base;

	r->leader = o->op.root;
	r->tree = index % TEST_TOGETHER;
	r->more = r->tree + 1 < TEST_TOGETHER && index + 1 < o->blocks;
	r->contribute = r->tree ? CNR_LEADER : CNR_ALL;
	r->receive = CNR_ALL;
}

u64 test_copy_blocks(const struct cnr_comm *c, const struct cnr_encoding *e,
		     const struct cnr_op *op)
{
	return cnr_blocks_of(op->elements, c->length / sizeof(u32));
}

void test_copy_part(const struct cnr_comm *c, const struct cnr_operation *o, struct cnr_part *p)
{
	cnr_part_same(c, o, p);
	p->length = 0;
}

void test_copy_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words)
{
}

void test_copy_finish(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words)
{
	memcpy(words, cnr_vector_source(o, p), p->result);
}

void test_copy_store(const struct cnr_comm *c, const struct cnr_operation *o,
		     const struct cnr_part *p, const u32 *words)
{
	cnr_put(o, p, 0, words, p->result);
}

void test_copy_serve(const struct cnr_comm *c, const struct cnr_operation *o,
		     const struct cnr_part *p, u32 *words)
{
	memcpy(words, cnr_vector(o, p, CNR_USE_SERVE), p->result);
}

static int post_broadcast(struct tnet *s, int rank, u32 elements, u32 root)
{
	struct cnr_op op = { .op = TEST_COPY, .dtype = CANARY_INT32, .shape = TEST_BROADCAST,
			     .root = root, .elements = elements };

	return tnet_post_op(s, rank, op, root);
}

static struct tnet *begun(const struct tnet_config *config, u64 seed)
{
	struct tnet_config cfg = *config;
	struct tnet *s;

	cfg.seed = seed;
	cfg.key = true;
	cfg.shapes = SHAPES;
	s = tnet_new(&cfg);
	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 60 * S))
		abort();
	return s;
}

struct run {
	const char *name;
	struct tnet_config net;
	u32 elements;
	u32 operations;
	bool mixed;		/* every second one is an allreduce */
	bool turns;		/* roots take turns */
};

static const struct run runs[] = {
	{ "2 members", { .members = 2 }, 10000, 3 },
	{ "5 members, no switch", { .members = 5 }, 20000, 3 },
	{ "one block", { .members = 5, .aggregate = true }, BLOCK, 3 },
	{ "9 blocks and a bit", { .members = 5, .aggregate = true }, 9 * BLOCK + 7, 3 },
	{ "57 blocks", { .members = 7, .aggregate = true }, 20000, 14, false, true },
	{ "beside allreduces", { .members = 7, .aggregate = true }, 5000, 14, true, true },
	{ "leaves and spines", { .members = 24, .aggregate = true, .leaves = 4, .spines = 2 },
	  60000, 4, false, true },
	{ "window 1", { .members = 4, .aggregate = true, .window = 1 }, 5000, 2, true },
	{ "window 4", { .members = 4, .aggregate = true, .window = 4 }, 50000, 2, true },
	{ "window 16", { .members = 9, .aggregate = true, .window = 16 }, 50000, 2, true },
	{ "no elements", { .members = 6, .aggregate = true }, 0, 20, true, true },
	{ "1 % lost", { .members = 8, .aggregate = true, .faults.drop = 10000 }, 60000, 4, true,
	  true },
	{ "5 % lost, no switch", { .members = 8, .faults.drop = 50000 }, 30000, 4, true, true },
	{ "10 % lost, tree of switches", { .members = 24, .aggregate = true, .leaves = 4,
	  .spines = 2, .faults.drop = 100000 }, 30000, 4, true, true },
	{ "lost, repeated, late, damaged", { .members = 16, .aggregate = true, .leaves = 4,
	  .spines = 2, .faults = { .drop = 20000, .repeat = 20000, .delay = 20000,
				   .corrupt = 20000, .delay_ns = 500000 } }, 40000, 6, true, true },
	{ "few children", { .members = 12, .aggregate = true, .children = 3,
	  .faults.drop = 10000 }, 30000, 4, true, true },
	{ "few children, one block", { .members = 12, .aggregate = true, .children = 3 },
	  BLOCK, 4, true, true },
	{ "pinned, 2 % lost", { .members = 6, .aggregate = true, .pinned = true,
	  .faults.drop = 20000 }, 30000, 6, true, true },
	{ "in slices", { .members = 40, .aggregate = true, .slice = 8, .faults.drop = 10000 },
	  20000, 3, true, true },
	{ "serials wrap", { .members = 5, .aggregate = true, .fixed_first = true,
	  .first_block = -20, .faults.drop = 10000 }, 40000, 4, true, true },
	{ "links of 1 Gbit/s", { .members = 8, .aggregate = true, .leaves = 4, .spines = 2,
	  .rate = 1000000000, .queue = 100 }, 200000, 3, false, true },
};

static void post(struct tnet *s, const struct run *r, u32 op)
{
	u32 i, root = r->turns ? (op / 2 + 1) % r->net.members : 1;
	int err;

	for (i = 0; i < r->net.members; i++) {
		err = r->mixed && op % 2 ? tnet_post(s, i, r->elements) :
					   post_broadcast(s, i, r->elements, root);
		if (err)
			abort();
	}
}

/* All get the root's elements, vectors come back, members can leave. */
static void run(const struct run *r, u64 seed)
{
	struct tnet *s = begun(&r->net, seed);
	bool right, back;
	u32 op;

	for (op = 0; op < r->operations; op++) {
		post(s, r, op);
		if (op % 3 == 2)
			tnet_wait_completed(s, op, 60 * S);
	}
	right = tnet_wait_completed(s, r->operations, 60 * S) && !tnet_wrong(s);
	tnet_pass(s, tnet_now(s) + 20 * S);
	back = !tnet_vectors_held(s);
	for (op = 0; op < r->net.members; op++)
		tnet_close(s, op, false);
	tap(right && back && tnet_wait_over(s, 30 * S), "%s: %s, vectors %s", r->name,
	    right ? "right" : "wrong", back ? "are given back" : "are held");
	tnet_free(s);
}

/* Each member contributes once. Eight results go down one descriptor in each switch. */
static void eight(void)
{
	struct tnet_config cfg = { .members = 9, .aggregate = true, .leaves = 3, .spines = 1,
				   .timeout_ns = 5 * MS, .rate = 1000000000, .queue = 100 };
	struct tnet *s = begun(&cfg, 5);
	const struct tnet_traffic *t = tnet_traffic(s);
	u32 i;

	for (i = 0; i < 9; i++)
		post_broadcast(s, i, 8 * BLOCK, 3);
	tnet_wait_completed(s, 1, 10 * S);
	tap(!tnet_wrong(s) && counter(s, 9, CNR_C_contributions_out) == 8 &&
	    counter(s, 9, CNR_C_results_in) == 8 * 8 && !counter(s, 9, CNR_C_requests_out),
	    "eight blocks: %llu contributions, %llu results come of %llu that the root sends",
	    (unsigned long long)counter(s, 9, CNR_C_contributions_out),
	    (unsigned long long)counter(s, 9, CNR_C_results_in),
	    (unsigned long long)counter(s, 9, CNR_C_results_out));
	tap(t->freed && t->kept == 7 * t->freed && !t->astray,
	    "%llu descriptors are kept %llu times, and freed in the end",
	    (unsigned long long)t->freed, (unsigned long long)t->kept);
	tnet_free(s);
}

static bool lose_last(void *arg, int from, int to, const struct canary_hdr *h)
{
	u32 *left = arg;

	if (h->type != CANARY_RESULT || !(h->flags & CANARY_F_LAST) || from != 3 || !*left)
		return false;
	--*left;
	return true;
}

static bool lose_first(void *arg, int from, int to, const struct canary_hdr *h)
{
	u32 *left = arg;

	if (h->type != CANARY_RESULT || h->result.tree || from != 3 || !*left)
		return false;
	--*left;
	return true;
}

/* Members ask for what is lost. Descriptors that stay behind are in nobody's way. */
static void lost(const char *what,
		 bool (*lose)(void *arg, int from, int to, const struct canary_hdr *h))
{
	struct tnet_config cfg = { .members = 9, .aggregate = true, .leaves = 3, .spines = 1,
				   .rate = 1000000000, .queue = 100 };
	struct tnet *s = begun(&cfg, 6);
	u32 left = 8, i, op;
	bool done;

	tnet_faults(s)->filter = lose;
	tnet_faults(s)->filter_arg = &left;
	for (op = 0; op < 3; op++)
		for (i = 0; i < 9; i++)
			post_broadcast(s, i, 40 * BLOCK, 3);
	done = tnet_wait_completed(s, 3, 30 * S);
	tap(done && !tnet_wrong(s) && !left && counter(s, 9, CNR_C_requests_out),
	    "%s are lost: members ask %llu times", what,
	    (unsigned long long)counter(s, 9, CNR_C_requests_out));
	tnet_free(s);
}

/* Whoever contributes to the first block of a tree has room for the results of all. */
static void room(u32 cwnd, u32 before, u32 want)
{
	struct tnet_config cfg = { .members = 3, .algorithm = CANARY_ALG_TREE };
	struct tnet *s = begun(&cfg, 9);
	struct cnr_comm *c = tnet_comm(s, 0);

	c->net.cwnd = cwnd;
	tnet_post(s, 0, before * BLOCK);
	post_broadcast(s, 0, 19 * BLOCK, 1);
	tap(c->next - c->una == want, "room for %u blocks, %u before: %u are begun", cwnd, before,
	    c->next - c->una);
	tnet_free(s);
}

/*
 * Lists of restorations are used once, so the results of a kept tree do without. Switches restore no
 * result that is longer than contributions, so that of a tree of one block does without, too.
 */
static void bypassed(void)
{
	struct tnet_config cfg = { .members = 12, .aggregate = true, .children = 3,
				   .rate = 1000000000, .queue = 100 };
	struct tnet *s = begun(&cfg, 10);
	u32 i;

	for (i = 0; i < 12; i++)
		post_broadcast(s, i, 8 * BLOCK, 2);
	tap(tnet_wait_completed(s, 1, 10 * S) && !tnet_wrong(s) &&
	    !counter(s, 12, CNR_C_restorations_out) && !counter(s, 12, CNR_C_requests_out) &&
	    !tnet_traffic(s)->astray, "sources that switches bypassed get each result by itself");
	for (i = 0; i < 12; i++)
		post_broadcast(s, i, BLOCK, 2);
	tap(tnet_wait_completed(s, 2, 10 * S) && !tnet_wrong(s) &&
	    !counter(s, 12, CNR_C_restorations_out) && !counter(s, 12, CNR_C_requests_out),
	    "so do those of a tree of one block");
	for (i = 0; i < 12; i++)
		post_broadcast(s, i, 0, 2);
	tap(tnet_wait_completed(s, 3, 10 * S) && !tnet_wrong(s) &&
	    counter(s, 12, CNR_C_restorations_out) && !counter(s, 12, CNR_C_requests_out),
	    "one without data is restored");
	tnet_free(s);
}

/* How long a rank computes before it contributes is no round trip. */
static void slow(void)
{
	struct tnet_config cfg = { .members = 3 };
	struct tnet *s = begun(&cfg, 11);
	u64 srtt;

	post_broadcast(s, 0, 8 * BLOCK, 1);
	post_broadcast(s, 1, 8 * BLOCK, 1);
	tnet_pass(s, tnet_now(s) + 3 * MS);
	post_broadcast(s, 2, 8 * BLOCK, 1);
	tnet_wait_completed(s, 1, 10 * S);
	srtt = tnet_comm(s, 0)->net.srtt;
	tap(!tnet_wrong(s) && srtt < 2 * MS, "a slow rank: round trips stay at %llu us",
	    (unsigned long long)srtt / 1000);
	tnet_free(s);
}

static bool lose_contributions(void *arg, int from, int to, const struct canary_hdr *h)
{
	return h->type == CANARY_CONTRIBUTION;
}

/* The first results go out, and the leader begins the next block much later. */
static void late(void)
{
	struct tnet_config cfg = { .members = 3 };
	struct tnet *s = begun(&cfg, 12);
	struct cnr_comm *root = tnet_comm(s, 1);
	u32 window = root->window, kept = 0, i;

	tnet_faults(s)->filter = lose_contributions;
	for (i = 0; i < 3; i++)
		post_broadcast(s, i, 8 * BLOCK, 1);
	tnet_pass(s, tnet_now(s) + MS);
	root->window = 0;
	tnet_faults(s)->filter = NULL;
	tnet_pass(s, tnet_now(s) + S);
	for (i = 0; i < root->tree.leads; i++)
		kept += root->tree.lead[i].state == CNR_L_KEPT;
	tap(kept == 1 && counter(s, 3, CNR_C_results_in) == 2, "the slot waits for the next block");
	root->window = window;
	for (i = 0; i < 3; i++)
		tnet_post(s, i, 1);
	tap(tnet_wait_completed(s, 2, 10 * S) && !tnet_wrong(s) &&
	    !counter(s, 3, CNR_C_results_again), "later results go the same way");
	tnet_free(s);
}

/* What a member makes of a result that the leader sealed */
struct odd {
	const char *what;
	u32 index;	/* block of the operation */
	u32 tree;
	bool last;
	enum canary_drop drop;
};

static const struct odd odds[] = {
	{ "the first one, and no others follow", 0, 0, true, CANARY_DROP_NONE },
	{ "the first one", 0, 0, false, CANARY_DROP_NONE },
	{ "the second one, by itself", 1, 0, true, CANARY_DROP_NONE },
	{ "the second one", 1, 1, false, CANARY_DROP_NONE },
	{ "the second one as the last one", 1, 1, true, CANARY_DROP_FLAGS },
	{ "the second one as the first one", 1, 0, false, CANARY_DROP_FLAGS },
	{ "the third one down the tree of the second one", 2, 1, false, CANARY_DROP_FLAGS },
	{ "the last one", 7, 7, true, CANARY_DROP_NONE },
	{ "the last one, but others follow", 7, 7, false, CANARY_DROP_FLAGS },
	{ "the last one down the tree of the second one", 7, 6, true, CANARY_DROP_FLAGS },
};

static bool lose_results(void *arg, int from, int to, const struct canary_hdr *h)
{
	return h->type == CANARY_RESULT;
}

/* Post a broadcast by rank 1, of which nothing comes to rank 0. */
static struct tnet *waiting(u32 elements)
{
	struct tnet_config cfg = { .members = 3 };
	struct tnet *s = begun(&cfg, 7);
	u32 i;

	tnet_faults(s)->filter = lose_results;
	for (i = 0; i < 3; i++)
		post_broadcast(s, i, elements, 1);
	tnet_pass(s, tnet_now(s) + MS);
	return s;
}

static void odd(const struct odd *o)
{
	struct tnet *s = waiting(8 * BLOCK);
	struct cnr_comm *c = tnet_comm(s, 0), *root = tnet_comm(s, 1);
	struct cnr_out out = { .len = 0 };
	u8 packet[sizeof(out.hdr) + CANARY_PAYLOAD_MAX];
	enum canary_drop drop;

	if (!cnr_result_build(root, c->una + o->index, 0, &out))
		abort();
	out.hdr.result.sum = cpu_to_be32(cnr_out_sum(&out));
	out.hdr.result.tree = cpu_to_be32(o->tree);
	out.hdr.flags = o->last ? CANARY_F_LAST : 0;
	cnr_seal(root, &out);
	memcpy(packet, &out.hdr, sizeof(out.hdr));
	memcpy(packet + sizeof(out.hdr), out.payload, out.len);
	drop = tnet_inject(s, 0, packet, sizeof(out.hdr) + out.len, 1);
	tap(drop == o->drop, "%s: %s", o->what, cnr_drop_name(drop));
	tnet_free(s);
}

/* Nobody contributes to a block that goes down a kept tree, even if its leader asks for it. */
static void asked(void)
{
	struct tnet *s = waiting(8 * BLOCK);
	struct cnr_comm *c = tnet_comm(s, 0), *root = tnet_comm(s, 1);
	u64 before = counter(s, 3, CNR_C_contributions_out) + counter(s, 3, CNR_C_retransmissions);
	struct cnr_out out = { .len = 0 };
	enum canary_drop drop;

	cnr_header(root, &out, CANARY_FAILURE, c->una + 1);
	out.hdr.attempt = 1;
	out.hdr.opsig = cpu_to_be32(c->ops[cnr_block(c, c->una + 1)->op].opsig);
	out.hdr.failure.question = cpu_to_be32(1);
	cnr_to_rank(root, &out, 0);
	cnr_seal(root, &out);
	drop = tnet_inject(s, 0, &out.hdr, sizeof(out.hdr), 1);
	tap(drop == CANARY_DROP_STATE && before ==
	    counter(s, 3, CNR_C_contributions_out) + counter(s, 3, CNR_C_retransmissions),
	    "FAILURE for a block without contributions: %s", cnr_drop_name(drop));
	tnet_free(s);
}

/* Contributions to such a block, made up before it is posted, are forgotten. */
static void made_up(void)
{
	struct tnet_config cfg = { .members = 4 };
	struct tnet *s = begun(&cfg, 8);
	struct cnr_comm *root = tnet_comm(s, 1);
	u8 packet[sizeof(struct canary_hdr) + CANARY_PAYLOAD_MAX] __attribute__((__aligned__(8)));
	enum canary_drop drop[2];
	u32 i, len;

	for (i = 0; i < 2; i++) {
		len = forge_aggregate(root, root->una + 1 + i, 2, (void *)packet);
		drop[i] = tnet_inject(s, 1, packet, len, 2);
	}
	for (i = 0; i < 4; i++)
		post_broadcast(s, i, 8 * BLOCK, 1);
	tap(drop[0] == CANARY_DROP_NONE && drop[1] == CANARY_DROP_NONE &&
	    tnet_wait_completed(s, 1, 30 * S) && !tnet_wrong(s),
	    "made-up contributions to blocks without any: forgotten");
	for (i = 0, len = 0; i < root->tree.leads; i++)
		len += root->tree.lead[i].state != CNR_L_FREE;
	tap(!len, "all slots are free in the end");
	tnet_free(s);
}

int main(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(runs); i++)
		run(&runs[i], 100 + i);
	eight();
	room(19, 1, 17);
	room(20, 1, 20);	/* the last tree has three blocks only */
	room(17, 1, 17);
	room(16, 1, 9);
	room(20, 2, 18);
	room(23, 4, 23);
	room(22, 4, 20);
	room(4, 1, 1);
	bypassed();
	slow();
	late();
	lost("last results", lose_last);
	lost("first results", lose_first);
	for (i = 0; i < ARRAY_SIZE(odds); i++)
		odd(&odds[i]);
	asked();
	made_up();
	return tap_done("core-kept");
}
