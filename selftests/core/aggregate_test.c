// SPDX-License-Identifier: BSD-2-Clause
/*
 * What aggregates may claim. They have no mac. So they do not prove that another rank runs a
 * different operation. They keep out no contribution that has a mac. If they come in somebody's
 * name, they cost him no more than they spoil.
 */
#include "selftests/tap.h"
#include "fixture.h"
#include "forge.h"

#define MEMBERS	5
#define BLOCK	352	/* elements at an MTU of 1500 */
#define FORGER	77	/* an address that no member has */
#define SWITCH	0xef00	/* tnet_addr() makes the address of the first switch of it */

struct held_packet {
	struct canary_hdr hdr;
	u32	data[BLOCK];
};

/* Contributions to one block that are held back for now */
struct held {
	struct tnet *s;
	u32	block;
	struct held_packet packet[MEMBERS];
};

static u32 length(const struct held_packet *p)
{
	return sizeof(p->hdr) + canary_length(&p->hdr);
}

static void copy(struct tnet *s, const struct canary_hdr *h, struct held_packet *p)
{
	p->hdr = *h;
	memcpy(p->data, tnet_payload(s), length(p) - sizeof(*h));
}

static bool hold(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct held *held = arg;

	if (to || h->type != CANARY_CONTRIBUTION || be32_to_cpu(h->block) != held->block)
		return !from || !to;
	copy(held->s, h, &held->packet[be16_to_cpu(h->rank)]);
	return true;
}

/* All ranks but 0 post. Their contributions to the first block of rank 0 are held. */
static void hold_begin(struct held *held, u32 elements)
{
	u32 i;

	held->s = connected(MEMBERS, false);
	held->block = forge_block(tnet_comm(held->s, 0));
	tnet_faults(held->s)->filter = hold;
	tnet_faults(held->s)->filter_arg = held;
	for (i = 1; i < MEMBERS; i++)
		tnet_post(held->s, i, elements);
	tnet_run(held->s, tnet_now(held->s) + MS);
}

static enum canary_drop hand_on(struct held *held, u16 rank)
{
	const struct held_packet *p = &held->packet[rank];

	return tnet_inject(held->s, 0, p, length(p), rank);
}

static enum canary_drop inject_forged(struct tnet *s, u16 leader, u32 block, u16 count, int from)
{
	struct held_packet p;
	u32 len = forge_aggregate(tnet_comm(s, leader), block, count, &p.hdr);

	p.hdr.contribution.tag = cpu_to_be64(1);
	return tnet_inject(s, leader, &p, len, from);
}

/* Does rank 0 end the communicator, and blame only @culprit? */
static bool blames(struct held *held, u16 culprit)
{
	u16 rank[4];

	return cnr_state(tnet_comm(held->s, 0)) == CNR_FAILED &&
	       cnr_missing(tnet_comm(held->s, 0), rank, 4) == 1 && rank[0] == culprit;
}

/*
 * Rank 0 alone runs a different operation. A forged aggregate claims that another rank runs the
 * same.
 */
static void test_witness(bool first)
{
	const char *when = first ? "before" : "after";
	struct held held = { 0 };

	hold_begin(&held, 9 * BLOCK);
	tnet_post(held.s, 0, 10 * BLOCK);
	if (first)
		inject_forged(held.s, 0, held.block, 2, FORGER);
	hand_on(&held, 1);
	if (!first)
		inject_forged(held.s, 0, held.block, 2, FORGER);
	tap(cnr_state(tnet_comm(held.s, 0)) == CNR_CONNECTED,
	    "another operation, an aggregate forged %s: who differs is not known yet", when);
	hand_on(&held, 2);
	tap(blames(&held, 0), "another operation, an aggregate forged %s: the right one is named",
	    when);
	tnet_free(held.s);
}

/* An aggregate of switches is evidence if it has the data of all other ranks. */
static void test_witness_tag(void)
{
	struct tnet *s = connected(MEMBERS, true);
	u32 i;

	for (i = 0; i < MEMBERS; i++)
		tnet_post(s, i, i == 3 ? 10 * BLOCK : 9 * BLOCK);
	tnet_wait_state(s, CNR_FAILED, S);
	tap(blaming(s, MEMBERS, -EPROTO, 3) == MEMBERS && !counter(s, MEMBERS, CNR_C_attempts),
	    "another operation, all others merged: is named, nobody is asked again");
	tnet_free(s);
}

/*
 * Rank 0 has not posted, and has taken a forged aggregate for its block. It takes the contributions
 * of the others all the same, as these have macs.
 */
static void test_doubt(const char *what, u16 count, u32 opsig, u16 elements)
{
	struct held held = { 0 };
	u32 i, taken = 0;
	struct held_packet p;

	hold_begin(&held, MEMBERS * BLOCK);
	forge_aggregate(tnet_comm(held.s, 0), held.block, count, &p.hdr);
	p.hdr.opsig = opsig ? cpu_to_be32(opsig) : held.packet[1].hdr.opsig;
	p.hdr.contribution.length = cpu_to_be16(4 * elements);
	tnet_inject(held.s, 0, &p, length(&p), FORGER);
	for (i = 1; i < MEMBERS; i++)
		taken += hand_on(&held, i) == CANARY_DROP_NONE;
	tap(taken == MEMBERS - 1, "%s, not posted: %u of %u contributions are taken", what, taken,
	    MEMBERS - 1);
	tnet_faults(held.s)->filter = NULL;
	tnet_post(held.s, 0, MEMBERS * BLOCK);
	tap(tnet_wait_completed(held.s, 1, 5 * S) && !tnet_wrong(held.s) &&
	    !counter(held.s, MEMBERS, CNR_C_attempts), "%s, not posted: exact, at once", what);
	tnet_free(held.s);
}

/* A right aggregate came first. It stays when one of its ranks contributes again. */
static void test_doubt_right(void)
{
	const struct held_packet *of;
	struct held held = { 0 };
	enum canary_drop drop;
	struct held_packet p;
	u32 sum = 0, i, k;
	u64 tag = 0;

	hold_begin(&held, MEMBERS * BLOCK);
	forge_aggregate(tnet_comm(held.s, 0), held.block, MEMBERS - 1, &p.hdr);
	for (i = 1; i < MEMBERS; i++) {
		of = &held.packet[i];
		tag += be64_to_cpu(of->hdr.contribution.tag);
		sum += be32_to_cpu(of->hdr.contribution.sum);
		for (k = 0; k < BLOCK; k++)
			p.data[k] += of->data[k];
	}
	p.hdr.opsig = held.packet[1].hdr.opsig;
	p.hdr.contribution.tag = cpu_to_be64(tag);
	p.hdr.contribution.sum = cpu_to_be32(sum);
	tnet_inject(held.s, 0, &p, length(&p), SWITCH);
	drop = hand_on(&held, 1);
	tnet_faults(held.s)->filter = NULL;
	tnet_post(held.s, 0, MEMBERS * BLOCK);
	tap(drop != CANARY_DROP_NONE && tnet_wait_completed(held.s, 1, 5 * S) &&
	    !tnet_wrong(held.s) && !counter(held.s, MEMBERS, CNR_C_attempts),
	    "a right one, not posted: stays when a rank of it comes again");
	tnet_free(held.s);
}

/*
 * Wrong aggregates of all members come in the name of a known switch. Each costs one look and is
 * counted. The switch's own aggregates are taken as before, also those of some members.
 */
static void test_whole(void)
{
	struct tnet *s = connected(MEMBERS, true);
	u64 tags, merged;
	u32 i;

	post_all(s, MEMBERS, 10 * BLOCK);
	if (!tnet_wait_completed(s, 1, 5 * S))
		abort();
	merged = counter(s, MEMBERS, CNR_C_contributions_merged);
	for (i = 0; i < MEMBERS; i++)
		tnet_post(s, i, 10 * BLOCK);
	tags = counter(s, MEMBERS, CNR_C_tag_mismatch);
	for (i = 0; i < 4 * CNR_SPOILT_BURST; i++)
		inject_forged(s, 0, forge_block(tnet_comm(s, 0)), MEMBERS - 1, SWITCH);
	tags = counter(s, MEMBERS, CNR_C_tag_mismatch) - tags;
	tap(tags == 4 * CNR_SPOILT_BURST, "whole ones in the name of a switch: %llu are counted",
	    (unsigned long long)tags);
	if (!tnet_wait_completed(s, 2, 5 * S))
		abort();
	/* One rank is late, so that the switch sends on without it. */
	for (i = 0; i < MEMBERS - 1; i++)
		tnet_post(s, i, 10 * BLOCK);
	tnet_pass(s, tnet_now(s) + 20 * MS);
	tnet_post(s, MEMBERS - 1, 10 * BLOCK);
	tap(tnet_wait_completed(s, 3, 5 * S) && !tnet_wrong(s) &&
	    !counter(s, MEMBERS, CNR_C_attempts), "whole ones in the name of a switch: exact");
	merged = counter(s, MEMBERS, CNR_C_contributions_merged) - merged;
	tap(!counter(s, MEMBERS, CNR_C_refused), "whole ones in the name of a switch: %llu of it refused, %llu taken",
	    (unsigned long long)counter(s, MEMBERS, CNR_C_refused), (unsigned long long)merged);
	tnet_free(s);
}

/*
 * Somebody sends a switch's aggregate on from his own address. The hash of addresses is public, and
 * his address has the same place in it as the switch's. The switch stays known all the same.
 */
struct posing {
	struct tnet *s;
	int	from;
	u32	passed;
};

static u32 guess(int from)
{
	return (((u32)0x0a000100 + from) ^ (u32)CANARY_PORT_BASE << 16) * 0x9e3779b1u >> 26;
}

static bool pose(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct posing *p = arg;
	struct held_packet packet;

	if (from >= 0 || to < 0 || !cnr_is_merged(h) || p->passed)
		return false;
	p->passed++;
	copy(p->s, h, &packet);
	tnet_inject(p->s, to, &packet, length(&packet), p->from);
	return true;
}

static bool forgets(u64 seed)
{
	struct tnet_config cfg = {
		.members = MEMBERS, .aggregate = true, .seed = seed, .algorithm = CANARY_ALG_TREE,
		.fixed_first = true, .first_block = MEMBERS,
	};
	struct posing p = { .s = tnet_new(&cfg), .from = 1000 };
	struct cnr_in in = {
		.addr = canary_addr_of_ip4(cpu_to_be32(0x0a000100 + SWITCH)),
		.port = cpu_to_be16(CANARY_PORT_BASE),
	};
	bool known;

	while (guess(p.from) != guess(SWITCH))
		p.from++;
	tnet_connect(p.s, -1);
	if (!tnet_wait_state(p.s, CNR_CONNECTED, 10 * S))
		abort();
	post_all(p.s, MEMBERS, BLOCK);		/* rank 0 leads the block */
	if (!tnet_wait_completed(p.s, 1, 5 * S) || !cnr_merger_known(tnet_comm(p.s, 0), &in))
		abort();
	post_all(p.s, MEMBERS, (MEMBERS - 1) * BLOCK);
	if (!tnet_wait_completed(p.s, 2, 5 * S))
		abort();
	tnet_faults(p.s)->filter = pose;
	tnet_faults(p.s)->filter_arg = &p;
	post_all(p.s, MEMBERS, BLOCK);
	if (!tnet_wait_completed(p.s, 3, 5 * S) || tnet_wrong(p.s) || p.passed != 1)
		abort();
	known = cnr_merger_known(tnet_comm(p.s, 0), &in);
	tnet_free(p.s);
	return !known;
}

static void test_collision(void)
{
	u32 seed, forgotten = 0;

	for (seed = 1; seed <= 32; seed++)
		forgotten += forgets(seed);
	tap(forgotten <= 4, "a chosen address: a switch is forgotten in %u of 32 communicators",
	    forgotten);
}

int main(void)
{
	test_witness(true);
	test_witness(false);
	test_witness_tag();
	test_doubt("another operation's", 2, 1, BLOCK);
	test_doubt("another length's", 2, 0, BLOCK - 1);
	test_doubt("a whole wrong one", MEMBERS - 1, 0, BLOCK);
	test_doubt_right();
	test_whole();
	test_collision();
	return tap_done("core-aggregate");
}
