// SPDX-License-Identifier: BSD-2-Clause
/* Packets of a stranger: changed, cut, made up. They change and stop no sum. */
#include "selftests/tap.h"
#include "core/inside.h"
#include "fixture.h"

/* Change any byte of any packet, or cut it anywhere. Nothing that alters a sum may be accepted. */
static bool tamper(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct tnet *s = arg;
	static u32 n;
	u8 copy[2048];
	u32 len = sizeof(*h);

	if (to < 0 || h->type == CANARY_JOIN || h->type == CANARY_COOKIE ||
	    h->type == CANARY_WELCOME)
		return false;
	memcpy(copy, h, len);
	copy[n % len] ^= 1 << (n / len % 8);
	n++;
	tnet_inject(s, to, copy, len, from < 0 ? 0 : from);
	tnet_inject(s, to, copy, n % len, from < 0 ? 0 : from);
	return false;
}

static void test_tampering(u8 algorithm)
{
	struct tnet *s = connected_as(4, true, algorithm);

	post_all(s, 4, 100000);
	tnet_faults(s)->filter = tamper;
	tnet_faults(s)->filter_arg = s;
	tap(tnet_wait_completed(s, 1, 60 * S) && !tnet_wrong(s),
	    "tampered and truncated copies of all packets: exact");
	tap(counter(s, 4, CNR_C_operations) == 4, "tampering: nothing else ended");
	tnet_free(s);
}

/* Copies the first aggregate that passes, to use it against the leader. */
struct steal {
	u8	packet[2048];
	u32	len;
	int	to;
};

static bool steal(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct steal *st = arg;

	if (!st->len && from < 0 && to >= 0 && h->type == CANARY_CONTRIBUTION &&
	    h->contribution.count != cpu_to_be16(1)) {
		st->len = sizeof(*h) + canary_length(h);
		memcpy(st->packet, h, sizeof(*h));
		st->to = to;
		return true;
	}
	return false;
}

/*
 * An aggregate has no mac, so whoever can send may forge one. If it claims to be complete, the
 * leader recognises it by its tag, and it costs nothing. If it is a part, it is found when the
 * block is complete, and the block is begun anew.
 */
static void test_forged_aggregate(const char *what, u16 count, bool at_once)
{
	struct steal st = { .to = -1 };
	struct tnet *s = connected(4, true);
	struct canary_hdr *h = (void *)st.packet;
	enum canary_drop drop;

	post_all(s, 4, 352 * 8);
	tnet_faults(s)->filter = steal;
	tnet_faults(s)->filter_arg = &st;
	while (!st.len && tnet_run(s, tnet_now(s) + 10 * CNR_USEC))
		;
	/* The true one is lost. This one has nobody's data, and a sum that fits them. */
	h->contribution.count = cpu_to_be16(count);
	h->contribution.sum = cpu_to_be32(canary_length(h) / 4 * 7u);
	h->contribution.tag ^= cpu_to_be64(1);
	for (u32 i = 0; i < canary_length(h) / 4; i++)
		((u32 *)(h + 1))[i] = 7;
	drop = tnet_inject(s, st.to, st.packet, st.len, 1);
	tap(drop == (at_once ? CANARY_DROP_TAG : CANARY_DROP_NONE), "forged %s: %s at once", what,
	    at_once ? "told" : "not told");
	tap(tnet_wait_completed(s, 1, 5 * S) && !tnet_wrong(s), "forged %s: exact", what);
	tap(counter(s, 4, CNR_C_attempts) == 1, "forged %s: the lost block was begun anew once",
	    what);
	tnet_free(s);
}

/* Send an aggregate that claims to be complete before each contribution. */
static bool forge(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct tnet *s = arg;
	u8 packet[2048] = { 0 };
	struct canary_hdr *f = (void *)packet;

	if (from < 0 || h->type != CANARY_CONTRIBUTION)
		return false;
	*f = *h;
	f->flags = 0;
	f->contribution.count = cpu_to_be16(be16_to_cpu(h->members) - 1);
	f->contribution.sum = 0;
	f->mac = 0;
	tnet_inject(s, to, packet, sizeof(*f) + canary_length(f), from);
	return false;
}

static void test_forger(void)
{
	struct tnet *s = connected(4, false);

	tnet_faults(s)->filter = forge;
	tnet_faults(s)->filter_arg = s;
	post_all(s, 4, 352 * 8);
	tap(tnet_wait_completed(s, 1, 20 * S) && !tnet_wrong(s),
	    "forged aggregates at every attempt: ends, exact");
	tap(counter(s, 4, CNR_C_attempts) <= 8 * CNR_BYPASS_ATTEMPT,
	    "forged aggregates at every attempt: %llu attempts for 8 blocks",
	    (unsigned long long)counter(s, 4, CNR_C_attempts));
	tnet_free(s);
}

/*
 * Before each result, and each contribution that no switch may merge, send a copy with two
 * different elements exchanged. The sum of the data and the header stay the same.
 */
struct exchange {
	struct tnet *s;
	u32	tried;
	u32	accepted;
	u32	reasons[CANARY_DROPS];
};

static bool exchange(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct exchange *x = arg;
	u32 elements = canary_length(h) / 4, i, *data, first;
	enum canary_drop drop;
	u8 copy[2048];

	if (to < 0 || (h->type != CANARY_RESULT && h->type != CANARY_CONTRIBUTION))
		return false;
	memcpy(copy, h, sizeof(*h));
	data = (u32 *)(copy + sizeof(*h));
	memcpy(data, tnet_payload(x->s), 4 * elements);
	for (i = 1; i < elements && data[i] == data[0]; i++)
		;
	if (i >= elements)
		return false;
	first = data[0];
	data[0] = data[i];
	data[i] = first;
	drop = tnet_inject(x->s, to, copy, sizeof(*h) + 4 * elements, from < 0 ? 0 : from);
	x->tried++;
	x->accepted += drop == CANARY_DROP_NONE;
	x->reasons[drop]++;
	return false;
}

static void test_exchanged_data(void)
{
	struct tnet *s = connected(4, false);
	struct exchange x = { .s = s };

	tnet_faults(s)->filter = exchange;
	tnet_faults(s)->filter_arg = &x;
	post_all(s, 4, 352 * 8);
	tap(tnet_wait_completed(s, 1, 20 * S) && !tnet_wrong(s), "exchanged elements: exact");
	tap(x.tried >= 8 * 6 && !x.accepted,
	    "exchanged elements: none of %u packets accepted", x.tried);
	tap(x.reasons[CANARY_DROP_MAC] >= 8 * 3, "exchanged elements: %u refused for their mac",
	    x.reasons[CANARY_DROP_MAC]);
	tnet_free(s);
}

/*
 * Before each contribution, send a copy from rank 3, as there are no strangers in this network. It
 * has the mark of a switch that does not admit the sender.
 */
struct replay {
	struct tnet *s;
	u32	accepted;
	u32	results[4];
};

static bool replay(void *arg, int from, int to, const struct canary_hdr *h)
{
	u32 elements = canary_length(h) / 4;
	struct replay *r = arg;
	struct canary_hdr *f;
	u8 copy[2048];

	if (to < 0 || elements * 4 + sizeof(*h) > sizeof(copy))
		return false;
	if (h->type == CANARY_RESULT)
		r->results[to]++;
	if (h->type != CANARY_CONTRIBUTION || from == 3 || to == 3)
		return false;
	f = (void *)copy;
	*f = *h;
	memcpy(f + 1, tnet_payload(r->s), 4 * elements);
	f->flags |= CANARY_F_BYPASS;
	f->contribution.switch_id = cpu_to_be32(0x0aff0001);
	r->accepted += tnet_inject(r->s, to, copy, sizeof(*f) + 4 * elements, 3) ==
		       CANARY_DROP_NONE;
	return false;
}

static void test_replay(void)
{
	struct tnet *s = connected(4, false);
	struct replay r = { .s = s };

	tnet_faults(s)->filter = replay;
	tnet_faults(s)->filter_arg = &r;
	post_all(s, 4, 352 * 8);
	tap(tnet_wait_completed(s, 1, 5 * S) && !tnet_wrong(s), "replayed contributions: exact");
	/* 8 blocks of 4 leaders: ranks 0 to 2 lead 6 of them, each for 2 others than rank 3 */
	tap(r.accepted == 12, "replayed contributions: %u came first", r.accepted);
	tap(!counter(s, 4, CNR_C_requests_out) && r.results[0] == 6 && r.results[1] == 6 && r.results[2] == 6 && r.results[3] == 6,
	    "replayed contributions: members are answered, each once (%u %u %u %u)", r.results[0],
	    r.results[1], r.results[2], r.results[3]);
	tnet_free(s);
}

/*
 * Rank 1 does not know yet as what an operation runs. All contributions to the first block that it
 * leads have arrived, merged. A single contribution to that block tells it. So the block completes
 * while it is being handled.
 */
#define HELD_BLOCK	4001

struct held {
	struct tnet	*s;
	u8	packet[2048];
	u32	len;
	bool	over;
};

static bool hold_plan(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct held *t = arg;

	if (h->type == CANARY_CONTRIBUTION && h->block == cpu_to_be32(HELD_BLOCK) &&
	    h->contribution.count == cpu_to_be16(1) && h->rank == cpu_to_be16(2) && !t->len) {
		t->len = sizeof(*h) + canary_length(h);
		memcpy(t->packet, h, sizeof(*h));
		memcpy(t->packet + sizeof(*h), tnet_payload(t->s), t->len - sizeof(*h));
	}
	return h->type == CANARY_PLAN && !t->over && (from == 1 || to == 1);
}

static void test_block_over_under_way(void)
{
	struct tnet_config cfg = {
		.members = 4, .aggregate = true, .seed = 7, .key = true,
		.fixed_first = true, .first_block = HELD_BLOCK,
	};
	struct held t = { .s = tnet_new(&cfg) };
	struct cnr_comm *c = tnet_comm(t.s, 1);
	u64 until;

	tnet_connect(t.s, -1);
	if (!tnet_wait_state(t.s, CNR_CONNECTED, 10 * S))
		abort();
	tnet_faults(t.s)->filter = hold_plan;
	tnet_faults(t.s)->filter_arg = &t;
	post_all(t.s, 4, 352 * 2000);
	until = tnet_now(t.s) + 3 * MS;
	while (tnet_now(t.s) < until && tnet_run(t.s, until))
		;
	tap(c->una == HELD_BLOCK && t.len && cnr_block(c, c->una)->lead != CNR_NONE &&
	    c->tree.lead[cnr_block(c, c->una)->lead].count == 3,
	    "block over under way: all is in and nothing is known");
	tnet_inject(t.s, 1, t.packet, t.len, 2);
	t.over = true;
	tap(tnet_wait_completed(t.s, 1, 60 * S) && !tnet_wrong(t.s),
	    "block over under way: exact");
	tnet_free(t.s);
}

/* A member that was told where the switches are takes aggregates of these, and of nobody else. */
static void test_believed(bool elsewhere)
{
	const struct canary_addr near = canary_addr_of_ip4(cpu_to_be32(0xc6336400));
	const struct canary_addr zero = canary_addr_of_ip4(0);
	struct tnet *s = connected(4, true);
	struct cnr_config *cfg;
	u64 dropped = 0;
	u32 i;

	for (i = 0; i < 4; i++) {
		cfg = &tnet_comm(s, i)->cfg;
		cnr_prefix_set(&cfg->believed[0], &near, 96 + 24);
		cnr_prefix_set(&cfg->believed[1], &zero, 96 + (elsewhere ? 32 : 0));
		cfg->believe = 2;
	}
	post_all(s, 4, 352 * 8);
	tap(tnet_wait_completed(s, 1, 20 * S) && !tnet_wrong(s), "aggregates of %s: exact",
	    elsewhere ? "nobody believed" : "who is believed");
	for (i = 0; i < 4; i++)
		dropped += cnr_stats(tnet_comm(s, i))->drop[CANARY_DROP_AGGREGATE];
	if (elsewhere)
		tap(dropped && !counter(s, 4, CNR_C_contributions_merged),
		    "aggregates of nobody believed: none is taken, %llu are counted",
		    (unsigned long long)dropped);
	else
		tap(!dropped && counter(s, 4, CNR_C_contributions_merged),
		    "aggregates of who is believed: are taken");
	tnet_free(s);
}

int main(void)
{
	test_believed(true);
	test_believed(false);
	test_tampering(CANARY_ALG_TREE);
	test_tampering(CANARY_ALG_RING);
	test_forged_aggregate("aggregate", 3, true);
	test_forged_aggregate("part of one", 2, false);
	test_forger();
	test_exchanged_data();
	test_replay();
	test_block_over_under_way();
	return tap_done("core-hostile");
}
