// SPDX-License-Identifier: BSD-2-Clause
/*
 * Restoration: switches whose lists of children are too short bypass. Leaders answer bypassed
 * members through the switch, or directly if that does not work.
 */
#include <stdlib.h>

#include "selftests/tap.h"
#include "core/inside.h"
#include "fixture.h"
#include "testnet_inside.h"

struct trial {
	const char *name;
	struct tnet_config cfg;
	u32	elements;
	u32	operations;
	bool	exactly;	/* nothing is lost: each restoration saves exactly one result */
	bool	twice;		/* switches send a sum and a straggler, and both are bypassed */
	u32	vain;		/* unforgiving: most restorations of a leader */
};

static const struct trial trials[] = {
	{ "one switch, two children of seven", { .members = 8, .children = 2 }, 30000, 3, true },
	{ "one switch, one child of 63", { .members = 64, .children = 1 }, 5000, 2, true },
	{ "more than a restoration holds", { .members = 96, .children = 2 }, 5000, 2, true },
	{ "one switch with a number, two children of 63",
	  { .members = 64, .children = 2, .numbered = true }, 30000, 3 },
	{ "packets of 576", { .members = 64, .children = 2, .mtu = 576 }, 3000, 2, true },
	{ "leaves and spines", { .members = 24, .children = 2, .leaves = 4, .spines = 2 },
	  20000, 3 },
	{ "2 % loss", { .members = 12, .children = 2, .faults.drop = 20000 }, 20000, 3 },
	{ "leaves and spines, 1 % loss, repeats, delays",
	  { .members = 24, .children = 2, .leaves = 4, .spines = 2, .faults.drop = 10000,
	    .faults.repeat = 20000, .faults.delay = 20000, .faults.delay_ns = 5 * MS }, 10000, 3 },
	{ "leaves that send twice what the spine bypasses, to leaders with many sources",
	  { .members = 96, .children = 2, .leaves = 15, .spines = 1, .faults.delay = 500000,
	    .faults.delay_ns = 5 * MS }, 20000, 2, .twice = true },
	{ "switches that refuse", { .members = 8, .children = 2, .unforgiving = true }, 400000, 2 },
	/*
	 * Members ask for blocks, and others have their places in the window. Each restoration in
	 * vain about doubles the pause before the next one. So 568 blocks have room for five.
	 */
	{ "switches that refuse, a narrow window",
	  { .members = 4, .children = 1, .unforgiving = true, .window = 4 }, 400000, 2, .vain = 5 },
};

#define BYPASSED_MAX	65536

/*
 * Bypassed contributions as leaders get them. The cookie of a switch tells the sources of a block
 * apart. A source that comes again with the same cookie and other data is a duplicate.
 */
struct bypassed {
	struct {
		__be32	block, cookie;
		__be64	tag;
		u8	attempt;
	} packet[BYPASSED_MAX];
	u32	packets;
	u32	twice;
};

static bool look_at_bypassed(void *arg, int from, int to, const struct canary_hdr *h)
{
	u32 at = be32_to_cpu(h->contribution.cookie) % BYPASSED_MAX;
	struct bypassed *b = arg;

	if (to < 0 || h->type != CANARY_CONTRIBUTION || !(h->flags & CANARY_F_BYPASS) ||
	    !h->contribution.cookie)
		return false;
	while (b->packet[at].cookie && (b->packet[at].cookie != h->contribution.cookie ||
					b->packet[at].block != h->block ||
					b->packet[at].attempt != h->attempt))
		at = (at + 1) % BYPASSED_MAX;
	if (b->packet[at].cookie) {
		b->twice += b->packet[at].tag != h->contribution.tag;
		return false;
	}
	if (++b->packets == BYPASSED_MAX)
		abort();
	b->packet[at].block = h->block;
	b->packet[at].cookie = h->contribution.cookie;
	b->packet[at].attempt = h->attempt;
	b->packet[at].tag = h->contribution.tag;
	return false;
}

static struct tnet *run(const struct trial *t, struct bypassed *bypassed)
{
	struct tnet_config cfg = t->cfg;
	struct tnet *s;
	u32 i;

	cfg.aggregate = true;
	cfg.key = true;
	cfg.seed = 5;
	cfg.rate = 100000000;	/* so that no result overtakes its restoration */
	s = tnet_new(&cfg);
	if (t->twice) {
		tnet_faults(s)->filter = look_at_bypassed;
		tnet_faults(s)->filter_arg = bypassed;
	}
	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 20 * S))
		abort();
	for (i = 0; i < t->operations; i++)
		post_all(s, cfg.members, t->elements);
	if (!tnet_wait_completed(s, t->operations, 300 * S))
		printf("# not complete\n");
	return s;
}

int main(void)
{
	static struct bypassed bypassed;
	u64 sent, requests, results, direct, blocks;
	const struct trial *t;
	struct tnet *s;
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(trials); i++) {
		t = &trials[i];
		n = t->cfg.members;
		s = run(t, &bypassed);
		sent = counter(s, n, CNR_C_restorations_out);
		requests = counter(s, n, CNR_C_requests_out);
		results = counter(s, n, CNR_C_results_out);
		blocks = counter(s, n, CNR_C_blocks_led);
		direct = blocks * (n - 1 - t->cfg.children);
		tap(tnet_completed(s, 0) == t->operations && !tnet_wrong(s), "%s: all complete and right",
		    t->name);
		if (t->cfg.unforgiving)
			tap(s->refused > 1 && sent * 10 < blocks && (!t->vain || sent <= n * t->vain),
			    "%s: %llu of %llu blocks restored in vain", t->name,
			    (unsigned long long)sent, (unsigned long long)blocks);
		else
			tap(sent && s->restorations > sent / 2 && !s->refused,
			    "%s: %llu restorations, %llu accepted, %llu results, %llu requests", t->name,
			    (unsigned long long)sent, (unsigned long long)s->restorations,
			    (unsigned long long)results, (unsigned long long)requests);
		if (t->twice)
			tap(bypassed.twice > 100, "%s: %u of %u sources do", t->name, bypassed.twice,
			    bypassed.packets);
		if (t->exactly)
			tap(!requests && sent >= blocks && results < direct / 2,
			    "%s: %llu results instead of %llu, nobody asked", t->name,
			    (unsigned long long)results, (unsigned long long)direct);
		tnet_free(s);
	}
	return tap_done("core-restore");
}
