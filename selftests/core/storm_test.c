// SPDX-License-Identifier: BSD-2-Clause
/*
 * A stranger sees all packets, but has no key. It sends whatever it likes, as fast as it likes,
 * while members post in time, late, or never. It sends random bytes, and packets of every type that
 * it saw: repeated, changed, cut. No sum is wrong, nobody is lost, no timer spins (testnet.c), and
 * the cost is bounded. A run is a function of its seed.
 *
 *	storm_test [RUNS [FIRST]]
 */
#include <stdlib.h>

#include "selftests/tap.h"
#include "core/inside.h"
#include "fixture.h"

#define KEPT		512	/* packets that the stranger remembers */
#define RECENT		16	/* of these, packets that may still have an effect */
#define PACKET		2048
#define STRANGER	77	/* its own address, which no member has */
#define OPERATIONS	12

struct held_packet {
	u8	data[PACKET];
	u32	len;
	int	to;
	int	from;
};

struct storm {
	struct tnet *s;
	struct tnet_config cfg;
	u64	rng;
	u32	elements;
	u32	idle;		/* this many of the highest ranks post after the storm */
	u32	late;		/* this rank posts in the middle of the storm */
	u32	share;		/* hostile packets for each one that was seen */
	bool	quiet;		/* the same run without the stranger */
	u32	seen;
	u64	hostile;
	u64	taken;
	struct held_packet kept[KEPT];
};

static u32 pick(struct storm *st, u32 n)
{
	st->rng = st->rng * 6364136223846793005ULL + 1442695040888963407ULL;
	return (st->rng >> 33) % n;
}

static u32 payload_length(const struct canary_hdr *h)
{
	switch (h->type) {
	case CANARY_CONTRIBUTION:
	case CANARY_RESULT:
	case CANARY_RING_SUM:
	case CANARY_RING_RESULT:
		return canary_length(h);
	case CANARY_RESTORATION:
		return be16_to_cpu(h->restoration.entries) * sizeof(struct canary_restored);
	case CANARY_ABORT:
		return be16_to_cpu(h->abort.entries) * sizeof(__be16);
	default:
		return 0;
	}
}

/* Make up an aggregate. */
static void make_aggregate(struct storm *st, struct held_packet *p)
{
	struct canary_hdr *h = (void *)p->data;

	if (p->len < sizeof(*h) || h->type != CANARY_CONTRIBUTION || st->cfg.members < 3)
		return;
	h->flags = CANARY_F_LAST;
	h->contribution.switch_id = 0;
	h->contribution.cookie = 0;
	h->contribution.count = cpu_to_be16(2 + pick(st, st->cfg.members - 2));
	h->contribution.acked = cpu_to_be32(be32_to_cpu(h->contribution.acked) + pick(st, 100));
	h->attempt = pick(st, 4);
	if (pick(st, 2))
		h->contribution.tag = cpu_to_be64(pick(st, 1000));
	h->mac = 0;
}

static void change(struct storm *st, struct held_packet *p)
{
	u32 n = 1 + pick(st, 3);

	while (n-- && p->len)
		p->data[pick(st, 2) ? pick(st, p->len) :
			pick(st, min_t(u32, p->len, sizeof(struct canary_hdr)))] ^= 1 << pick(st, 8);
}

/*
 * Overwrite a packet with random bytes, from somewhere in its header on. What is before that stays,
 * so that the packet is not refused for its first byte.
 */
static void randomise(struct storm *st, struct held_packet *p)
{
	u32 i = pick(st, sizeof(struct canary_hdr));

	for (; i < p->len; i++)
		p->data[i] = pick(st, 256);
}

static void attack(struct storm *st)
{
	u32 last = min_t(u32, st->seen, pick(st, 2) ? RECENT : KEPT);
	struct held_packet p = st->kept[(st->seen - 1 - pick(st, last)) % KEPT];

	switch (pick(st, 6)) {
	case 0:
		break;
	case 1:
		change(st, &p);
		break;
	case 2:
		p.len = pick(st, p.len + 1);
		break;
	case 3:
		make_aggregate(st, &p);
		break;
	case 4:
		randomise(st, &p);
		break;
	case 5:
		p.to = pick(st, st->cfg.members);
		break;
	}
	if (pick(st, 2))
		p.from = STRANGER;
	st->hostile++;
	st->taken += tnet_inject(st->s, p.to, p.data, p.len, p.from) == CANARY_DROP_NONE;
}

static bool overhear(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct storm *st = arg;
	u32 len = payload_length(h);
	struct held_packet *p;

	if (to < 0 || sizeof(*h) + len > PACKET || h->type == CANARY_JOIN ||
	    h->type == CANARY_WELCOME)
		return false;
	p = &st->kept[st->seen++ % KEPT];
	memcpy(p->data, h, sizeof(*h));
	if (len)
		memcpy(p->data + sizeof(*h), tnet_payload(st->s), len);
	p->len = sizeof(*h) + len;
	p->to = to;
	p->from = from < 0 ? STRANGER : from;
	return false;
}

static void draw(struct storm *st, u64 seed, bool quiet)
{
	static const u32 members[] = { 3, 4, 5, 8, 13 };
	struct tnet_config *c = &st->cfg;

	memset(st, 0, sizeof(*st));
	st->rng = seed * 0x9e3779b97f4a7c15ULL + 1;
	st->quiet = quiet;
	c->seed = seed;
	c->key = true;
	c->mtu = 576;
	c->members = members[pick(st, ARRAY_SIZE(members))];
	c->aggregate = pick(st, 3);
	if (pick(st, 2)) {
		c->leaves = 2;
		c->spines = 2;
	}
	c->algorithm = pick(st, 4) ? CANARY_ALG_TREE : CANARY_ALG_RING;
	c->faults.drop = pick(st, 3) ? 0 : 10000;
	st->elements = 1 + pick(st, 3000);
	st->idle = pick(st, 2) ? pick(st, c->members) : 0;
	st->late = pick(st, c->members);
	st->share = 1 + pick(st, 8);
}

/* Let time and the storm go on. */
static void weather(struct storm *st, u64 step)
{
	u64 until = tnet_now(st->s) + 40 * step;
	u32 i;

	while (tnet_now(st->s) < until) {
		for (i = 0; !st->quiet && st->seen && i < st->share; i++)
			attack(st);
		tnet_pass(st->s, tnet_now(st->s) + step);
	}
}

static u64 packets_out(struct tnet *s, u32 members)
{
	return counter(s, members, CNR_C_contributions_out) +
	       counter(s, members, CNR_C_retransmissions) +
	       counter(s, members, CNR_C_results_out) + counter(s, members, CNR_C_results_again) +
	       counter(s, members, CNR_C_requests_out) + counter(s, members, CNR_C_failures_out) +
	       counter(s, members, CNR_C_waits_out) + counter(s, members, CNR_C_probes_out) +
	       counter(s, members, CNR_C_probes_in) + counter(s, members, CNR_C_ring_out) +
	       counter(s, members, CNR_C_ring_again) + counter(s, members, CNR_C_plans_out);
}

/* All ranks post in time, except for the late one and those that post after the storm. */
static bool post_all_weather(struct storm *st)
{
	u32 i, op, posting = st->cfg.members - st->idle;
	bool good = true;

	for (op = 0; op < OPERATIONS; op++) {
		for (i = 0; i < posting; i++)
			good &= i == st->late || !tnet_post(st->s, i, st->elements);
		weather(st, 50 * CNR_USEC);
		if (st->late < posting)
			good &= !tnet_post(st->s, st->late, st->elements);
		weather(st, 50 * CNR_USEC);
	}
	/* long enough for every limit of patience */
	if (st->idle)
		weather(st, 20 * MS);
	for (i = posting; i < st->cfg.members; i++)
		for (op = 0; op < OPERATIONS; op++)
			good &= !tnet_post(st->s, i, st->elements);
	return good && tnet_wait_completed(st->s, OPERATIONS, 60 * S);
}

static bool run(struct storm *st, u64 seed, bool quiet, u64 *packets)
{
	bool good;
	u32 i;

	draw(st, seed, quiet);
	st->s = tnet_new(&st->cfg);
	tnet_connect(st->s, -1);
	if (!tnet_wait_state(st->s, CNR_CONNECTED, 60 * S))
		abort();
	tnet_faults(st->s)->filter = overhear;
	tnet_faults(st->s)->filter_arg = st;
	good = post_all_weather(st) && !tnet_wrong(st->s);
	for (i = 0; i < st->cfg.members; i++)
		good &= !tnet_last_error(st->s, i) &&
			cnr_state(tnet_comm(st->s, i)) == CNR_CONNECTED;
	*packets = packets_out(st->s, st->cfg.members);
	if (!good)
		printf("# seed %llu: %u members, aggregate %u, algorithm %u, %u leaves, drop %u, "
		       "%u elements, idle %u, late %u: error %d, wrong %u\n",
		       (unsigned long long)seed, st->cfg.members, st->cfg.aggregate,
		       st->cfg.algorithm, st->cfg.leaves, st->cfg.faults.drop, st->elements,
		       st->idle, st->late, tnet_last_error(st->s, 0), tnet_wrong(st->s));
	tnet_free(st->s);
	return good;
}

int main(int argc, char **argv)
{
	u64 first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	u32 runs = argc > 1 ? atoi(argv[1]) : 60, i, good = 0, dear = 0;
	u64 with, without, hostile = 0, taken = 0;
	static struct storm st;

	for (i = 0; i < runs; i++) {
		good += run(&st, first + i, true, &without);
		good += run(&st, first + i, false, &with);
		hostile += st.hostile;
		taken += st.taken;
		if (with > without + 2 * st.hostile) {
			printf("# seed %llu: %llu packets instead of %llu for %llu hostile ones\n",
			       (unsigned long long)first + i, (unsigned long long)with,
			       (unsigned long long)without, (unsigned long long)st.hostile);
			dear++;
		}
	}
	tap(good == 2 * runs, "%llu hostile packets in %u storms, %llu taken: exact, nobody lost",
	    (unsigned long long)hostile, runs, (unsigned long long)taken);
	tap(!dear, "at most two packets more for each hostile one");
	return tap_done("core-storm");
}
