// SPDX-License-Identifier: BSD-2-Clause
/*
 * Aggregates that no switch made: they have no mac, so that anybody may make them up who can send
 * to a leader. What they cost is bounded, and neither a sum nor a communicator is lost.
 */
#include "selftests/tap.h"
#include "core/comm.h"
#include "fixture.h"

#define MEMBERS	5
#define BLOCK	352	/* elements at an MTU of 1500 */
#define FORGER	77	/* an address that no member has */

/* An aggregate of @count members for @block, as far as somebody can know it who has no key */
static void forge(struct sim *s, u32 block, u16 count, u64 tag, struct canary_hdr *h)
{
	struct cnr_comm *c = sim_comm(s, cnr_leader(sim_comm(s, 0), block));
	struct cnr_operation *o = cnr_find_op(c, block);
	u16 elements = o ? cnr_block_elements(c, o, block) : BLOCK;

	memset(h, 0, sizeof(*h) + BLOCK * 4);
	h->version = CANARY_VERSION;
	h->type = CANARY_CONTRIBUTION;
	h->attempt = cnr_block(c, block)->attempt;
	h->comm = cpu_to_be32(c->cfg.comm);
	h->epoch = cpu_to_be32(c->epoch);
	h->block = cpu_to_be32(block);
	h->opsig = cpu_to_be32(o ? o->opsig : 1);
	h->members = cpu_to_be16(c->cfg.members);
	h->count = cpu_to_be16(count);
	h->op = CANARY_OP_SUM;
	h->dtype = CANARY_INT32;
	h->elements = cpu_to_be16(elements);
	h->tag = cpu_to_be64(tag);
	h->done = cpu_to_be32(c->una);
}

static enum canary_drop inject_forged(struct sim *s, u32 block, u16 count, u64 tag, int from)
{
	u32 packet[(sizeof(struct canary_hdr) + BLOCK * 4) / 4];
	struct canary_hdr *h = (void *)packet;

	forge(s, block, count, tag, h);
	return sim_inject(s, cnr_leader(sim_comm(s, 0), block), h,
			  sizeof(*h) + 4 * be16_to_cpu(h->elements), from);
}

/* The first block from the earliest one on that @rank leads */
static u32 led_by(struct sim *s, u16 rank)
{
	struct cnr_comm *c = sim_comm(s, rank);
	u32 block = c->una;

	while (cnr_leader(c, block) != rank)
		block++;
	return block;
}

static u32 alive(struct sim *s)
{
	u32 i, n = 0;

	for (i = 0; i < MEMBERS; i++)
		n += cnr_state(sim_comm(s, i)) == CNR_CONNECTED;
	return n;
}

/*
 * Rank 0 has posted, the others are idle. Its first block gets a whole aggregate that is wrong, or
 * parts of one: nobody spins, nobody is asked on and on, nobody is blamed.
 */
static void test_idle(const char *what, const u16 *counts)
{
	struct sim *s = connected(MEMBERS, false);
	u64 begin, probes, packets;
	u32 i;

	sim_post(s, 0, 10 * BLOCK);
	sim_pass(s, sim_now(s) + 100 * MS);
	probes = counter(s, MEMBERS, CNR_C_probes_out);
	packets = sim_traffic(s)->packets;
	for (i = 0; counts[i]; i++)
		inject_forged(s, led_by(s, 0), counts[i], 1, FORGER);
	begin = sim_now(s);
	sim_pass(s, begin + 16 * S);
	tap(alive(s) == MEMBERS, "%s, others idle: all live after 16 s", what);
	probes = counter(s, MEMBERS, CNR_C_probes_out) - probes;
	tap(probes < 16 * 5 * (MEMBERS - 1), "%s, others idle: %llu PROBEs in 16 s", what,
	    (unsigned long long)probes);
	packets = sim_traffic(s)->packets - packets;
	for (i = 1; i < MEMBERS; i++)
		sim_post(s, i, 10 * BLOCK);
	begin = sim_now(s);
	tap(sim_wait_completed(s, 1, 5 * S) && !sim_wrong(s) && alive(s) == MEMBERS &&
	    !sim_last_error(s, 0), "%s, others idle: then exact, within %llu ms", what,
	    (unsigned long long)((sim_now(s) - begin) / MS));
	sim_free(s);
}

int main(void)
{
	test_idle("a whole one", (u16[]){ 4, 0 });
	test_idle("two halves", (u16[]){ 2, 2, 0 });
	test_idle("a part", (u16[]){ 3, 0 });
	return tap_done("core-forged");
}
