// SPDX-License-Identifier: BSD-2-Clause
/*
 * What members and strangers may do to a leader of lists. A member can make it keep a bounded
 * number of shards, each once. Strangers can send aggregates that count nobody, and these are
 * bounded, too.
 */
#include "selftests/tap.h"
#include "core/inside.h"
#include "fixture.h"
#include "testnet_inside.h"

#define MEMBERS	5
#define SHARDS	6
#define WORDS	352	/* of a block at an MTU of 1500 */
#define FORGER	77	/* an address that no member has */
#define SWITCH	0xef00	/* tnet_addr() makes the address of the first switch of it */

static struct tnet *lists(bool aggregate, u32 slice)
{
	struct tnet_config cfg = {
		.members = MEMBERS,
		.aggregate = aggregate,
		.seed = 7,
		.key = true,
		.slice = slice,
		.algorithm = CANARY_ALG_TREE,
		.dtype = PAIRS_DTYPE,
		.shards = SHARDS,
		.sparse = true,
	};
	struct tnet *s = tnet_new(&cfg);

	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	return s;
}

/* The first block at or after the earliest one that rank 0 leads */
static u32 led(struct tnet *s)
{
	u32 block = tnet_comm(s, 0)->una;

	while (cnr_leader(tnet_comm(s, 0), block))
		block++;
	return block;
}

struct list {
	u16	rank;
	u8	shard;
	bool	last;
	u32	index;
	u16	length;
};

/* Give the list to rank 0, as the member sends it that has the key. */
static enum canary_drop give(struct tnet *s, const struct list *list)
{
	struct cnr_comm *c = tnet_comm(s, list->rank), *root = tnet_comm(s, 0);
	u32 block = led(s), pair[3] = { list->index, 1 };
	u8 packet[sizeof(struct canary_hdr) + sizeof(pair)];
	struct canary_hdr *h;
	struct cnr_out out;

	cnr_header(c, &out, CANARY_CONTRIBUTION, block);
	h = &out.hdr;
	h->flags = list->last ? CANARY_F_LAST : 0;
	h->opsig = cpu_to_be32(root->ops[0].opsig);
	cnr_data(&out, CANARY_KIND_PAIRS32, pair, list->length);
	h->contribution.shard = list->shard;
	h->contribution.count = cpu_to_be16(list->last);
	h->contribution.tag = cpu_to_be64(cnr_shard_tag(c, block, 0, root->ops[0].opsig,
							list->shard, list->last));
	h->contribution.sum = cpu_to_be32(cnr_out_sum(&out));
	h->contribution.acked = cpu_to_be32(c->una);
	cnr_to_rank(c, &out, 0);
	cnr_seal(c, &out);
	memcpy(packet, h, sizeof(*h));
	memcpy(packet + sizeof(*h), pair, out.len);
	return tnet_inject(s, 0, packet, sizeof(*h) + out.len, list->rank);
}

static void test_member(void)
{
	static const struct {
		const char *what;
		struct list list;
		enum canary_drop drop;
	} step[] = {
		{ "a shard", { 1, 0, false, 0, 8 }, CANARY_DROP_NONE },
		{ "the same", { 1, 0, false, 0, 8 }, CANARY_DROP_DUPLICATE },
		{ "its number as the last one", { 1, 0, true, 0, 8 }, CANARY_DROP_DUPLICATE },
		{ "the last of three", { 1, 2, true, 3, 8 }, CANARY_DROP_NONE },
		{ "one after the last", { 1, 3, false, 3, 8 }, CANARY_DROP_COUNT },
		{ "another last one", { 1, 1, true, 3, 8 }, CANARY_DROP_COUNT },
		{ "an index that is outside", { 1, 1, false, WORDS, 8 }, CANARY_DROP_ELEMENTS },
		{ "an index that wraps", { 1, 1, false, ~0U, 8 }, CANARY_DROP_ELEMENTS },
		{ "half a pair", { 1, 1, false, 0, 12 }, CANARY_DROP_LENGTH },
		{ "an empty one", { 1, 1, false, 0, 0 }, CANARY_DROP_NONE },
		{ "one when all are here", { 1, 1, false, 0, 0 }, CANARY_DROP_DUPLICATE },
		{ "one after that", { 1, 4, false, 0, 0 }, CANARY_DROP_DUPLICATE },
		{ "more than agreed", { 2, SHARDS, false, 0, 8 }, CANARY_DROP_COUNT },
		{ "more than there can be", { 2, CANARY_SHARDS_MAX, false, 0, 8 },
		  CANARY_DROP_FLAGS },
		{ "the highest one", { 2, SHARDS - 1, false, 0, 8 }, CANARY_DROP_NONE },
		{ "a last one before it", { 2, SHARDS - 2, true, 0, 8 }, CANARY_DROP_COUNT },
		{ "one of ourselves", { 0, 0, false, 0, 8 }, CANARY_DROP_RANK },
	};
	struct tnet *s = lists(false, 0);
	enum canary_drop drop;
	u32 i;

	tnet_post(s, 0, MEMBERS * WORDS);
	for (i = 0; i < ARRAY_SIZE(step); i++) {
		drop = give(s, &step[i].list);
		tap(drop == step[i].drop, "a member: %s: %s", step[i].what, cnr_drop_name(drop));
	}
	tnet_free(s);
}

/* An aggregate of @count members that is made up. It has one pair. */
static enum canary_drop forge(struct tnet *s, u32 block, u16 count, u64 tag, int from)
{
	u16 leader = cnr_leader(tnet_comm(s, 0), block);
	struct cnr_comm *c = tnet_comm(s, leader);
	struct cnr_operation *o = cnr_find_op(c, block);
	struct {
		struct canary_hdr h;
		u32 pair[2];
	} p = { .pair = { 1, 7 } };

	p.h.version = CANARY_VERSION;
	p.h.type = CANARY_CONTRIBUTION;
	p.h.attempt = cnr_block(c, block)->attempt;
	p.h.comm = cpu_to_be32(c->cfg.comm);
	p.h.epoch = cpu_to_be32(c->epoch);
	p.h.block = cpu_to_be32(block);
	p.h.opsig = cpu_to_be32(o ? o->opsig : 1);
	p.h.members = cpu_to_be16(MEMBERS);
	p.h.contribution.count = cpu_to_be16(count);
	p.h.contribution.kind = CANARY_KIND_PAIRS32;
	cnr_set_length(&p.h, sizeof(p.pair));
	p.h.contribution.sum = cpu_to_be32(8);
	p.h.contribution.acked = cpu_to_be32(c->una);
	p.h.contribution.tag = cpu_to_be64(tag);
	return tnet_inject(s, leader, &p, sizeof(p), from);
}

/* The largest number of sources of a block */
static u32 sources(struct tnet *s)
{
	u32 i, k, most = 0;
	struct cnr_comm *c;

	for (i = 0; i < MEMBERS; i++) {
		c = tnet_comm(s, i);
		for (k = 0; k < c->tree.leads; k++)
			most = max_t(u32, most, c->tree.lead[k].sources);
	}
	return most;
}

/* Operations run, or wait for late ranks, while strangers send aggregates for their blocks. */
static void test_strangers(const char *what, bool aggregate, int from, u16 count, u32 posts,
			   u32 slice)
{
	struct tnet *s = lists(aggregate, slice);
	u32 i, op, most = 0, turn = 0;
	bool good = true;
	u64 until;

	post_all(s, MEMBERS, 3000);
	good = tnet_wait_completed(s, 1, 5 * S);
	for (op = 1; op < 20 && good; op++) {
		for (i = 0; i < posts; i++)
			tnet_post(s, i, 3000);
		until = tnet_now(s) + (posts == MEMBERS ? 0 : 20 * MS);
		while (tnet_now(s) < until || (posts == MEMBERS && tnet_completed(s, 0) <= op)) {
			for (i = 0; i < 10; i++, turn++)
				forge(s, tnet_comm(s, 0)->una + turn % 10, count, turn + 1, from);
			most = max_t(u32, most, sources(s));
			tnet_pass(s, tnet_now(s) + 20 * CNR_USEC);
		}
		for (i = posts; i < MEMBERS; i++)
			tnet_post(s, i, 3000);
		good = tnet_wait_completed(s, op + 1, 5 * S) && !tnet_wrong(s) &&
		       !tnet_last_error(s, 0);
	}
	tap(good, "%s: %u operations exact, %llu attempts for %u aggregates", what, op,
	    (unsigned long long)counter(s, MEMBERS, CNR_C_attempts), turn);
	tap(most <= MEMBERS * SHARDS, "%s: %u sources of a block at most", what, most);
	tnet_free(s);
}

/* Operations on words and on lists take turns in one communicator. */
static void test_turns(void)
{
	struct tnet *s = lists(true, 0);
	bool good = true;
	u32 op;

	tnet_faults(s)->drop = 10000;
	for (op = 0; op < 40; op++) {
		s->cfg.dtype = op & 1 ? PAIRS_DTYPE : CANARY_INT32;
		post_all(s, MEMBERS, 5000);
		if (op % 4 == 3)
			good &= tnet_wait_completed(s, op + 1, 60 * S);
	}
	tap(good && !tnet_wrong(s) && !tnet_last_error(s, 0),
	    "words and lists take turns, 1 %% lost: exact");
	tnet_free(s);
}

/* Who is not configured for lists has no memory for them. */
static void test_without(void)
{
	struct cnr_config cfg = { .members = 2, .mtu = 1500, .shards = CANARY_SHARDS_MAX + 1 };
	struct tnet *s = connected(MEMBERS, false);
	const char *what;

	tap(cnr_check(&cfg, &what) == -EINVAL && !strcmp(what, "shards"),
	    "more shards than there can be: refused");
	s->cfg.dtype = PAIRS_DTYPE;
	tap(tnet_post(s, 0, 100) == -EINVAL, "no shards configured: lists cannot be posted");
	s->cfg.dtype = CANARY_INT32;
	tnet_post(s, 0, 100);
	tap(forge(s, led(s), 0, 1, FORGER) != CANARY_DROP_NONE &&
	    forge(s, led(s) + 1, 1, 1, FORGER) == CANARY_DROP_OPERATOR,
	    "no shards configured: lists are not taken");
	tnet_free(s);
}

int main(void)
{
	test_member();
	test_strangers("a stranger, nobody counted, all post", false, FORGER, 0, MEMBERS, 0);
	test_strangers("a stranger, nobody counted, one posts", false, FORGER, 0, 1, 0);
	test_strangers("a stranger, whole ones, all post", false, FORGER, 4, MEMBERS, 0);
	test_strangers("a stranger, whole ones, one posts", false, FORGER, 4, 1, 0);
	test_strangers("a stranger, parts, none posts", false, FORGER, 2, 0, 0);
	test_strangers("a stranger, parts, in slices", false, FORGER, 2, 1, 2);
	test_strangers("a stranger beside a switch, nobody counted", true, FORGER, 0, MEMBERS, 0);
	test_strangers("in the name of a switch, nobody counted", true, SWITCH, 0, MEMBERS, 0);
	test_strangers("in the name of a switch, parts, one posts", true, SWITCH, 3, 1, 0);
	test_turns();
	test_without();
	return tap_done("core-lists");
}
