// SPDX-License-Identifier: BSD-2-Clause
/*
 * Replays: an attacker who sees packets sends them again, true in every byte. Old JOINs keep nobody
 * out. What a rank said while it lived is no sign of life. No question is answered twice.
 */
#include "selftests/tap.h"
#include "core/inside.h"
#include "fixture.h"

#define KEPT	64
#define FAR	77	/* an address that no member has */

struct held_packet {
	u8	data[2048];
	u32	len;
	int	to;
};

/* Packets of one kind that one rank has sent */
struct record {
	struct tnet *s;
	int	from;
	u64	types;		/* set of bits by enum canary_type */
	int	deaf;		/* rank that gets no results; -1: none */
	int	mute;		/* rank whose first contribution is lost; -1: none */
	int	said;		/* rank that says LEAVE and nothing else; -1: none */
	u32	n;
	struct held_packet packet[KEPT];
};

static u32 length(const struct canary_hdr *h)
{
	switch (h->type) {
	case CANARY_CONTRIBUTION:
	case CANARY_RESULT:
	case CANARY_RING_SUM:
	case CANARY_RING_RESULT:
		return sizeof(*h) + canary_length(h);
	case CANARY_JOIN:
		return h->flags & CANARY_F_READY ? sizeof(*h) + sizeof(struct canary_join) :
		       sizeof(*h) + 4 * CANARY_ELEMENTS(1500);
	default:
		return sizeof(*h);
	}
}

static bool record(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct record *r = arg;
	u32 len = length(h);

	if (from == r->from && to >= 0 && r->types & 1ULL << h->type) {
		/* only the latest are kept */
		struct held_packet *p = &r->packet[r->n++ % KEPT];

		memcpy(p->data, h, sizeof(*h));
		if (len > sizeof(*h))
			memcpy(p->data + sizeof(*h), tnet_payload(r->s), len - sizeof(*h));
		p->len = len;
		p->to = to;
	}
	if (from >= 0 && from == r->mute && (h->type == CANARY_CONTRIBUTION ||
						  h->type == CANARY_RING_SUM)) {
		r->mute = -1;
		return true;
	}
	if (from >= 0 && from == r->said && h->type != CANARY_LEAVE)
		return true;
	return to == r->deaf && (h->type == CANARY_RESULT || h->type == CANARY_RING_RESULT);
}

static struct tnet *recorded(struct record *r, struct tnet_config *cfg, int from, u64 types)
{
	memset(r, 0, sizeof(*r));
	r->from = from;
	r->types = types;
	r->deaf = -1;
	r->mute = -1;
	r->said = -1;
	cfg->key = true;
	cfg->faults.filter = record;
	cfg->faults.filter_arg = r;
	r->s = tnet_new(cfg);
	return r->s;
}

/*
 * Send all of them again, to the same receivers, as if they came from @from. Return: what became of
 * the last one
 */
static enum canary_drop replay(const struct record *r, int from)
{
	enum canary_drop drop = CANARY_DROP_NONE;
	u32 i;

	for (i = 0; i < min_t(u32, r->n, KEPT); i++)
		drop = tnet_inject(r->s, r->packet[i].to, r->packet[i].data, r->packet[i].len,
				   from);
	return drop;
}

static bool all_connected(struct tnet *s)
{
	return tnet_wait_state(s, CNR_CONNECTED, 10 * S);
}

/* A JOIN of this run comes from elsewhere while rank 0 still waits for others. */
static void test_join_elsewhere(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 31 };
	struct record r;
	struct tnet *s = recorded(&r, &cfg, 1, 1ULL << CANARY_JOIN);
	struct canary_addr addr;

	tnet_connect(s, 0);
	tnet_connect(s, 1);
	tnet_run(s, tnet_now(s) + S);
	addr = tnet_comm(s, 0)->peer[1].addr;
	tap(r.n > 1 && replay(&r, FAR) == CANARY_DROP_COOKIE,
	    "JOIN repeated from elsewhere: its cookie is of another address");
	tap(canary_addr_equal(&tnet_comm(s, 0)->peer[1].addr, &addr), "JOIN repeated from elsewhere: nobody moves");
	tnet_connect(s, 2);
	tap(all_connected(s), "JOIN repeated from elsewhere: all connect");
	tnet_free(s);
}

/* JOINs of an earlier job complete the table before the rank of this one has come. */
static void test_join_of_yesterday(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 32 };
	struct record r;
	struct tnet *s = recorded(&r, &cfg, 2, 1ULL << CANARY_JOIN);

	tnet_connect(s, 0);
	tnet_connect(s, 2);
	tnet_run(s, tnet_now(s) + S);
	r.types = 0;
	tnet_restart(s, 0);
	tnet_restart(s, 2);
	tnet_connect(s, 0);
	tnet_connect(s, 1);
	tnet_run(s, tnet_now(s) + S);
	tap(r.n > 1 && replay(&r, 2) == CANARY_DROP_COOKIE,
	    "JOIN of yesterday: its cookie is of another time");
	tnet_run(s, tnet_now(s) + S);
	tap(!tnet_comm(s, 0)->table, "JOIN of yesterday: the rank is still missing");
	tnet_connect(s, 2);
	tap(all_connected(s), "JOIN of yesterday: all connect");
	tnet_free(s);
}

/* A process of rank 2 was at the same place before. Now there is another one. */
static void test_join_of_predecessor(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 37 };
	struct record r;
	struct tnet *s = recorded(&r, &cfg, 2, 1ULL << CANARY_JOIN);
	u64 nonce;

	tnet_connect(s, 0);
	tnet_connect(s, 2);
	tnet_run(s, tnet_now(s) + S);
	r.types = 0;
	tnet_restart(s, 2);
	tnet_pass(s, tnet_now(s) + 10 * S);
	tnet_connect(s, 2);
	tnet_run(s, tnet_now(s) + S);
	nonce = tnet_comm(s, 0)->join.joiner[2].nonce;
	tap(r.n > 1 && replay(&r, 2) == CANARY_DROP_COOKIE &&
	    tnet_comm(s, 0)->join.joiner[2].nonce == nonce,
	    "JOIN of a predecessor: its cookie is of another time");
	tnet_connect(s, 1);
	tap(all_connected(s), "JOIN of a predecessor: all connect");
	tnet_free(s);
}

static bool drop_table(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct record *r = arg;

	record(arg, from, to, h);
	return to == r->from && h->type == CANARY_WELCOME && h->epoch;
}

/* A process is gone before it has the table. Its JOIN is repeated on and on. */
static void test_join_for_the_dead(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 33 };
	struct record r;
	struct tnet *s = recorded(&r, &cfg, 2, 1ULL << CANARY_JOIN);
	u64 until;
	u16 rank[2];

	tnet_faults(s)->filter = drop_table;
	tnet_connect(s, -1);
	tnet_run(s, tnet_now(s) + S);
	tnet_kill(s, 2);
	until = tnet_now(s) + 25 * S;
	do
		replay(&r, 2);
	while (tnet_now(s) < until && tnet_run(s, tnet_now(s) + 100 * MS));
	tap(cnr_state(tnet_comm(s, 0)) == CNR_FAILED &&
	    cnr_missing(tnet_comm(s, 0), rank, 2) == 1 && rank[0] == 2, "JOIN of a dead rank on and on: it is named in the end");
	tnet_free(s);
}

/* A leader had to wait and said WAIT. That answer is repeated to a member that lacks a result. */
static void test_wait(u8 algorithm)
{
	struct tnet_config cfg = { .members = 3, .seed = 34, .algorithm = algorithm };
	struct record r;
	struct tnet *s = recorded(&r, &cfg, -1, 1ULL << CANARY_WAIT | 1ULL << CANARY_RING_WAIT);
	const char *name = algorithm == CANARY_ALG_RING ? "ring" : "tree";
	struct cnr_comm *c;
	u32 i, told, until;

	connect_all(s);
	/* The leader of the first block posts last. The rank after it asks, and is told to wait. */
	c = tnet_comm(s, 0);
	r.from = cnr_leader(c, c->una);
	r.deaf = (r.from + 1) % 3;
	for (i = 0; i < 3; i++)
		if ((int)i != r.from)
			tnet_post(s, i, 352);
	tnet_run(s, tnet_now(s) + S);
	r.types = 0;
	tnet_post(s, r.from, 352);
	tnet_run(s, tnet_now(s) + MS);
	tap(r.n && replay(&r, r.from) == CANARY_DROP_DUPLICATE,
	    "%s: WAIT repeated: no answer to what is asked now", name);
	/* From now on results arrive, if the member asks. */
	told = tnet_completed(s, r.deaf);
	r.deaf = -1;
	for (until = 0; until < 2000; until++) {
		replay(&r, r.from);
		tnet_run(s, tnet_now(s) + MS);
	}
	tap(!told && tnet_completed(s, (r.from + 1) % 3) == 1 && !tnet_wrong(s),
	    "%s: WAIT repeated every ms: it asks all the same", name);
	tnet_free(s);
}

/*
 * A leader asks for a lost contribution. That FAILURE is repeated to a member without the result.
 */
static void test_failure(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 38, .algorithm = CANARY_ALG_TREE };
	struct record r;
	struct tnet *s = recorded(&r, &cfg, -1, 1ULL << CANARY_FAILURE);
	u32 i, before, leader;
	u64 sent;
	int deaf;

	connect_all(s);
	leader = cnr_leader(tnet_comm(s, 0), tnet_comm(s, 0)->una);
	r.from = leader;
	deaf = (leader + 1) % 3;
	r.mute = deaf;
	r.deaf = deaf;
	post_all(s, 3, 352);
	for (i = 0; i < 5000 && tnet_completed(s, leader) < 1; i++)
		tnet_run(s, tnet_now(s) + 100 * CNR_USEC);
	r.types = 0;
	before = tnet_completed(s, deaf);
	sent = cnr_stats(tnet_comm(s, deaf))->counter[CNR_C_bytes_out];
	tap(r.n && !before && replay(&r, leader) == CANARY_DROP_DUPLICATE &&
	    cnr_stats(tnet_comm(s, deaf))->counter[CNR_C_bytes_out] == sent,
	    "FAILURE repeated: it does not contribute again");
	((struct canary_hdr *)r.packet[0].data)->flags ^= CANARY_F_BYPASS;
	tap(replay(&r, leader) == CANARY_DROP_MAC, "FAILURE, but without BYPASS: its mac does not fit");
	((struct canary_hdr *)r.packet[0].data)->flags ^= CANARY_F_BYPASS;
	r.deaf = -1;
	for (i = 0; i < 2000; i++) {
		replay(&r, leader);
		tnet_run(s, tnet_now(s) + MS);
	}
	tap(tnet_completed(s, deaf) == 1 && !tnet_wrong(s),
	    "FAILURE repeated every ms: it asks for the result all the same");
	tnet_free(s);
}

/* A lost result was asked for and given. The question is repeated many times. */
static void test_request(u8 algorithm)
{
	struct tnet_config cfg = { .members = 3, .seed = 39, .algorithm = algorithm };
	struct record r;
	struct tnet *s = recorded(&r, &cfg, -1,
				  1ULL << CANARY_REQUEST | 1ULL << CANARY_RING_REQUEST);
	const char *name = algorithm == CANARY_ALG_RING ? "ring" : "tree";
	struct cnr_comm *c;
	u32 i, leader;
	u64 sent;

	connect_all(s);
	leader = cnr_leader(tnet_comm(s, 0), tnet_comm(s, 0)->una);
	r.from = (leader + 1) % 3;
	r.deaf = r.from;
	post_all(s, 3, 352);
	for (i = 0; i < 5000 && !r.n; i++)
		tnet_run(s, tnet_now(s) + 100 * CNR_USEC);
	r.deaf = -1;
	tnet_run(s, tnet_now(s) + S);
	c = tnet_comm(s, r.packet[0].to);
	sent = cnr_stats(c)->counter[CNR_C_bytes_out];
	for (i = 0; i < 100; i++)
		replay(&r, r.from);
	tap(r.n && tnet_completed(s, r.from) == 1 && cnr_stats(c)->counter[CNR_C_bytes_out] == sent,
	    "%s: REQUEST repeated 100 times: not answered", name);
	tnet_free(s);
}

/* A rank owed an answer and left properly. Its LEAVE is an answer. */
static void test_leave(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 40, .algorithm = CANARY_ALG_TREE };
	struct record r;
	struct tnet *s = recorded(&r, &cfg, -1, 0);
	struct cnr_comm *c = tnet_comm(s, 1);

	connect_all(s);
	post_all(s, 3, 352 * 4);
	if (!tnet_wait_completed(s, 1, 5 * S))
		abort();
	tnet_run(s, tnet_now(s) + S);
	r.said = 2;
	cnr_ask(c, tnet_now(s), 2);
	tnet_run(s, tnet_now(s) + 4 * S);
	tnet_close(s, 2, false);
	tnet_run(s, tnet_now(s) + 10 * S);
	tap(c->state == CNR_CONNECTED && !c->alive.asked,
	    "who owes an answer leaves: it is not dead, and nobody waits for it");
	tnet_free(s);
}

/* A rank dies and owes a contribution. Everything that it said before is repeated all the time. */
static void test_dead(u8 algorithm)
{
	struct tnet_config cfg = { .members = 4, .seed = 35, .algorithm = algorithm };
	struct record r;
	struct tnet *s = recorded(&r, &cfg, 2, ~(1ULL << CANARY_JOIN | 1ULL << CANARY_ABORT));
	const char *name = algorithm == CANARY_ALG_RING ? "ring" : "tree";
	u32 i, named = 0;
	u64 until;
	u16 rank[4];

	connect_all(s);
	post_all(s, 4, 352 * 4);
	if (!tnet_wait_completed(s, 1, 5 * S))
		abort();
	for (i = 0; i < 4; i++)
		if (i != 2)
			tnet_post(s, i, 352 * 4);
	tnet_run(s, tnet_now(s) + 2 * S);
	tnet_kill(s, 2);
	r.types = 0;
	until = tnet_now(s) + 12 * S;
	do
		replay(&r, 2);
	while (tnet_now(s) < until && tnet_run(s, tnet_now(s) + 10 * MS));
	for (i = 0; i < 4; i++)
		named += i != 2 && cnr_state(tnet_comm(s, i)) == CNR_FAILED &&
			 cnr_missing(tnet_comm(s, i), rank, 4) == 1 && rank[0] == 2;
	tap(r.n > 8 && named == 3, "%s: %u packets of a dead rank again and again: %u of 3 name it", name,
	    r.n, named);
	tnet_free(s);
}

/* A host stood still for long and did not hear the answers. It must not blame others for that. */
static void test_sleeper(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 36 };
	struct tnet *s = tnet_new(&cfg);
	struct cnr_comm *c = tnet_comm(s, 0);
	u64 until;

	connect_all(s);
	tnet_post(s, 0, 352 * 4);
	until = tnet_now(s) + 5 * S;
	while (!c->alive.asked && tnet_now(s) < until)
		tnet_run(s, tnet_now(s) + 10 * CNR_USEC);
	tnet_kill(s, 0);
	tnet_pass(s, tnet_now(s) + 30 * S);
	tnet_revive(s, 0);
	tnet_run(s, tnet_now(s) + S);
	tap(c->state == CNR_CONNECTED, "a host stands still for 30 s: it takes nobody for dead");
	tnet_post(s, 1, 352 * 4);
	tnet_post(s, 2, 352 * 4);
	tap(tnet_wait_completed(s, 1, 10 * S) && !tnet_wrong(s), "a host stands still for 30 s: exact");
	tnet_free(s);
}

int main(void)
{
	test_join_elsewhere();
	test_join_of_yesterday();
	test_join_of_predecessor();
	test_join_for_the_dead();
	test_wait(CANARY_ALG_TREE);
	test_wait(CANARY_ALG_RING);
	test_failure();
	test_request(CANARY_ALG_TREE);
	test_request(CANARY_ALG_RING);
	test_leave();
	test_dead(CANARY_ALG_TREE);
	test_dead(CANARY_ALG_RING);
	test_sleeper();
	return tap_done("core-replay");
}
