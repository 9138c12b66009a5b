// SPDX-License-Identifier: BSD-2-Clause
/*
 * Messages that reach the wrong rank, true in every byte. And messages that only some ranks may
 * send, or that may only be about some blocks, from or about others.
 */
#include "selftests/tap.h"
#include "core/inside.h"
#include "fixture.h"

#define MEMBERS	4

/*
 * Messages of members to each other without data: all types that losses and the end of a job cause
 */
#define SESSION	(1ULL << CANARY_PROBE | 1ULL << CANARY_ALIVE | 1ULL << CANARY_ACK |		\
		 1ULL << CANARY_LEAVE)
#define TREES	(1ULL << CANARY_REQUEST | 1ULL << CANARY_FAILURE | 1ULL << CANARY_WAIT)
#define RINGS	(1ULL << CANARY_RING_REQUEST | 1ULL << CANARY_RING_WAIT)
#define TYPES	(SESSION | TREES | RINGS | 1ULL << CANARY_PLAN)

struct said {
	struct canary_hdr hdr;
	int	from;
	int	to;
};

struct ear {
	u64	seen;		/* set of types */
	u32	n;
	struct said said[256];
};

static bool overhear(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct ear *e = arg;

	if (from >= 0 && to >= 0 && 1ULL << h->type & TYPES && e->n < ARRAY_SIZE(e->said))
		e->said[e->n++] = (struct said){ .hdr = *h, .from = from, .to = to };
	return false;
}

/*
 * Give all that was heard to somebody else. Return: number of messages that were not refused for
 * that reason
 */
static u32 tell_others(struct tnet *s, struct ear *e)
{
	const struct said *m;
	struct cnr_comm *c;
	u32 wrong = 0, i;
	u32 heard;
	int rank;

	for (i = 0; i < e->n; i++) {
		m = &e->said[i];
		for (rank = 0; rank < MEMBERS; rank++) {
			c = tnet_comm(s, rank);
			if (rank == m->from || rank == m->to || c->state != CNR_CONNECTED)
				continue;
			heard = c->questions[m->from].heard;
			wrong += tnet_inject(s, rank, &m->hdr, sizeof(m->hdr), m->from) !=
				 CANARY_DROP_OTHER || c->questions[m->from].heard != heard;
			e->seen |= 1ULL << m->hdr.type;
		}
	}
	e->n = 0;
	return wrong;
}

static void test_everything(u8 algorithm)
{
	const char *name = algorithm == CANARY_ALG_RING ? "ring" : "auto";
	u64 want = algorithm == CANARY_ALG_RING ? SESSION | RINGS : TYPES;
	struct ear e = { 0 };
	struct tnet_config cfg = {
		.members = MEMBERS, .seed = 51, .key = true, .algorithm = algorithm,
		.faults = { .drop = 30000, .filter = overhear, .filter_arg = &e },
	};
	struct tnet *s = tnet_new(&cfg);
	u32 op, i, wrong = 0;

	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 20 * S))
		abort();
	e.n = 0;
	for (op = 1; op <= 8; op++) {
		for (i = 0; i < MEMBERS - 1; i++)
			tnet_post(s, i, 352 * 80);
		/* One rank is late, so that it is asked whether it lives. */
		for (i = 0; i < 100; i++) {
			tnet_pass(s, tnet_now(s) + 10 * MS);
			wrong += tell_others(s, &e);
		}
		tnet_post(s, MEMBERS - 1, 352 * 80);
		for (i = 0; i < 2000 && tnet_completed(s, 0) < op; i++) {
			tnet_pass(s, tnet_now(s) + MS);
			wrong += tell_others(s, &e);
		}
	}
	if (!tnet_wait_completed(s, 8, 20 * S))
		abort();
	tnet_close(s, 1, false);
	for (i = 0; i < 100; i++) {
		tnet_pass(s, tnet_now(s) + 100 * MS);
		wrong += tell_others(s, &e);
	}
	tap(e.seen == want && !wrong, "%s: all types repeated to other ranks (%llx of %llx): %u were taken",
	    name, (unsigned long long)e.seen, (unsigned long long)want, wrong);
	tap(!tnet_wrong(s) && tnet_comm(s, 0)->state == CNR_CONNECTED, "%s: and nothing comes of it", name);
	tnet_free(s);
}

/* Send @out, which was built with the key, as a member might. */
static enum canary_drop say(struct tnet *s, struct cnr_out *out, int from, int to)
{
	cnr_to_rank(tnet_comm(s, from), out, to);
	cnr_seal(tnet_comm(s, from), out);
	return tnet_inject(s, to, &out->hdr, sizeof(out->hdr), from);
}

/*
 * What one member has, not all have. Nobody has the result of a block to which somebody has not
 * contributed.
 */
static void test_done(void)
{
	struct tnet *s = connected(3, false);
	struct cnr_comm *c = tnet_comm(s, 2);
	struct cnr_out out;
	u32 all;

	post_all(s, 3, 352 * 8);
	if (!tnet_wait_completed(s, 1, 5 * S))
		abort();
	tnet_run(s, tnet_now(s) + S);
	all = c->all_done;
	c->una++;	/* as if it had one result more than all others */
	cnr_header(tnet_comm(s, 1), &out, CANARY_ACK, 0);
	out.hdr.ack.acked = cpu_to_be32(c->una);
	tap(say(s, &out, 1, 2) == CANARY_DROP_STATE && c->all_done == all,
	    "ACK of a member to a member: it does not speak for all");
	c->una--;
	c = tnet_comm(s, 0);
	all = cnr_done(c, &c->member[1]);
	cnr_header(tnet_comm(s, 1), &out, CANARY_ACK, 0);
	out.hdr.ack.acked = cpu_to_be32(c->next + 1);
	tap(say(s, &out, 1, 0) == CANARY_DROP_BLOCK && cnr_done(c, &c->member[1]) == all,
	    "ACK of half the serial numbers ago: is not believed");
	tnet_free(s);
}

static bool no_contribution(void *arg, int from, int to, const struct canary_hdr *h)
{
	u32 *acks = arg;

	*acks += h->type == CANARY_ACK && (h->flags & CANARY_F_SILENT);
	return h->type == CANARY_CONTRIBUTION;
}

static enum canary_drop say_taken(struct tnet *s, int from, int to, u32 acked)
{
	struct cnr_out out;

	cnr_header(tnet_comm(s, from), &out, CANARY_ACK, 0);
	out.hdr.flags = CANARY_F_SILENT;
	out.hdr.ack.acked = cpu_to_be32(acked);
	return say(s, &out, from, to);
}

/*
 * The leader of a block says that it has our contribution. That ends silent blocks, and no others.
 */
static void test_taken(void)
{
	struct tnet *s = connected(3, false);
	u32 una = tnet_comm(s, 0)->una;
	u16 leader = cnr_leader(tnet_comm(s, 0), una), own = (leader + 1) % 3, other = (leader + 2) % 3;
	struct cnr_comm *c = tnet_comm(s, own);
	u32 acks = 0;

	tnet_faults(s)->filter = no_contribution;
	tnet_faults(s)->filter_arg = &acks;
	post_all(s, 3, 352 * 8);
	tap(say_taken(s, leader, own, una + 1) == CANARY_DROP_DUPLICATE && c->una == una,
	    "ACK with SILENT: a block that gives a result is not done without it");
	cnr_block(c, una)->roles.receive = CNR_LEADER;
	tap(say_taken(s, other, own, una + 1) == CANARY_DROP_DUPLICATE && c->una == una,
	    "ACK with SILENT: of somebody else's block");
	tap(say_taken(s, leader, own, c->next + 1) == CANARY_DROP_BLOCK && c->una == una,
	    "ACK with SILENT of half the serial numbers ago: is not believed");
	tap(say_taken(s, leader, own, una + 1) == CANARY_DROP_NONE && c->una == una + 1,
	    "ACK with SILENT: a silent block is done");
	tap(say_taken(s, leader, own, una + 1) == CANARY_DROP_DUPLICATE && c->una == una + 1,
	    "ACK with SILENT: once");
	c->tree.untold = 1;
	c->news |= 1U << CNR_TREE;
	c->tree.silent_end = c->una;
	tnet_run(s, tnet_now(s) + CNR_MSEC);
	tnet_close(s, own, true);
	tap(!acks, "ACK with SILENT: not from who has said goodbye");
	tnet_free(s);
}

static void test_shapes(void)
{
	struct tnet *s = connected(2, false);
	struct cnr_op op = { .op = CANARY_OP_SUM, .dtype = CANARY_INT32, .shape = 7 };
	struct cnr_config cfg = tnet_comm(s, 0)->cfg;
	const char *what;

	tap(cnr_post(tnet_comm(s, 0), tnet_now(s), &op) == -EINVAL,
	    "a shape that there is none of");
	op.shape = CANARY_ALLREDUCE;
	op.root = 1;
	tap(cnr_post(tnet_comm(s, 0), tnet_now(s), &op) == -EINVAL, "an allreduce has no root");
	cfg.shapes = 1 << CANARY_ALLREDUCE;
	tap(!cnr_check(&cfg, &what), "shapes: allreduce");
	cfg.shapes |= 0x80;
	tap(cnr_check(&cfg, &what) == -EINVAL && !strcmp(what, "shapes"), "shapes: an unknown one");
	tnet_free(s);
}

static void test_sent(void)
{
	struct tnet *s = connected(3, false);
	struct cnr_comm *c = tnet_comm(s, 2);
	struct cnr_out out;
	u32 sent = cnr_sent(c, &c->member[1]);

	cnr_header(tnet_comm(s, 1), &out, CANARY_ALIVE, c->una);
	out.hdr.alive.sent = cpu_to_be32(c->next + (1U << 30));
	say(s, &out, 1, 2);
	tap(cnr_sent(c, &c->member[1]) == sent, "ALIVE of half the serial numbers ago: is not believed");
	cnr_header(tnet_comm(s, 1), &out, CANARY_ALIVE, c->una);
	out.hdr.alive.sent = cpu_to_be32(c->next + 1);
	say(s, &out, 1, 2);
	tap(cnr_sent(c, &c->member[1]) == sent + 1, "ALIVE of today: is");
	tnet_free(s);
}

/* Only the address that was asked may refuse. */
static void test_refusal(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 52, .key = true };
	struct tnet *s = tnet_new(&cfg);
	struct cnr_comm *c = tnet_comm(s, 1);
	struct cnr_out out;
	u32 i;

	tnet_connect(s, 0);
	tnet_connect(s, 1);
	tnet_run(s, tnet_now(s) + S);
	for (i = 0; i < 2; i++) {
		cnr_header(tnet_comm(s, 0), &out, CANARY_REFUSED, 0);
		out.hdr.epoch = 0;
		out.hdr.refused.nonce = cpu_to_be64(c->join.nonce);
		out.hdr.refused.what = cpu_to_be16(CNR_TROUBLE_MEMBERS);
		cnr_seal(tnet_comm(s, 0), &out);
		tnet_inject(s, 1, &out.hdr, sizeof(out.hdr), i ? 0 : 2);
		tap(c->state == (i ? CNR_FAILED : CNR_JOINING), "refusal: %s",
		    i ? "of rank 0" : "from elsewhere: is nothing");
	}
	tnet_free(s);
}

static enum canary_drop offer_cookie(struct tnet *s, struct cnr_out *out,
				     const struct canary_addr *addr)
{
	out->hdr.cookie.address = *addr;
	cnr_seal(tnet_comm(s, 0), out);
	return tnet_inject(s, 1, &out->hdr, sizeof(out->hdr), 0);
}

/* Somebody repeats our JOIN from elsewhere, gets a cookie from rank 0, and passes it on. */
static void test_cookie(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 53, .key = true };
	struct tnet *s = tnet_new(&cfg);
	struct cnr_comm *c = tnet_comm(s, 1);
	struct canary_addr other = tnet_comm(s, 2)->cfg.addr;
	struct cnr_out out;
	u64 cookie;

	tnet_connect(s, 0);
	tnet_connect(s, 1);
	tnet_run(s, tnet_now(s) + S);
	cookie = c->join.cookie;
	cnr_header(tnet_comm(s, 0), &out, CANARY_COOKIE, 0);
	out.hdr.epoch = 0;
	out.hdr.cookie.nonce = cpu_to_be64(c->join.nonce);
	out.hdr.cookie.cookie = cpu_to_be64(1);
	out.port = c->cfg.port;
	tap(cookie && offer_cookie(s, &out, &other) == CANARY_DROP_OTHER &&
	    c->join.cookie == cookie, "cookie of another address: is not shown");
	out.port = cpu_to_be16(CANARY_PORT_BASE + 1);
	tap(offer_cookie(s, &out, &c->cfg.addr) == CANARY_DROP_MAC && c->join.cookie == cookie,
	    "cookie of another port: is not shown");
	out.port = c->cfg.port;
	tap(offer_cookie(s, &out, &c->cfg.addr) == CANARY_DROP_NONE && c->join.cookie == 1,
	    "cookie of ours: is");
	tnet_free(s);
}

static bool no_table(void *arg, int from, int to, const struct canary_hdr *h)
{
	return h->type == CANARY_WELCOME && h->epoch && to == 1;
}

/*
 * WELCOME with fewer elements than any member offers. A member would need more and more buffers, up
 * to one for each element.
 */
static void test_welcome_small(void)
{
	const u16 least = CANARY_ELEMENTS(CNR_MTU_LEAST);
	struct tnet_config cfg = { .members = 3, .seed = 4 };
	struct tnet *s = tnet_new(&cfg);
	struct cnr_comm *c = tnet_comm(s, 1), *root = tnet_comm(s, 0);
	struct {
		struct canary_hdr hdr;
		u8 salt[CANARY_SALT];
		struct canary_peer entry[3];
	} m = { 0 };
	enum canary_drop drop[2];
	struct cnr_out out;
	u32 i;

	tnet_faults(s)->filter = no_table;
	tnet_connect(s, -1);
	tnet_run(s, tnet_now(s) + S);
	memcpy(m.salt, root->salt, sizeof(m.salt));
	memcpy(m.entry, root->peer, sizeof(m.entry));
	for (i = 0; i < 2; i++) {
		cnr_header(root, &out, CANARY_WELCOME, root->first);
		out.hdr.welcome.nonce = cpu_to_be64(c->join.nonce);
		out.hdr.welcome.length = cpu_to_be16(4 * (i ? least : least - 1));
		out.hdr.welcome.window = cpu_to_be16(root->window);
		out.hdr.welcome.algorithm = root->algorithm;
		out.hdr.welcome.run = cpu_to_be16(1);
		out.hdr.welcome.entries = cpu_to_be16(3);
		out.payload = m.salt;
		out.len = sizeof(m.salt) + sizeof(m.entry);
		cnr_to_rank(root, &out, 1);
		cnr_seal(root, &out);
		m.hdr = out.hdr;
		drop[i] = tnet_inject(s, 1, &m.hdr, sizeof(m.hdr) + out.len, 0);
		if (!i && c->table)
			drop[i] = CANARY_DROP_NONE;
	}
	tap(drop[0] == CANARY_DROP_STATE && drop[1] == CANARY_DROP_NONE && c->length == 4 * least,
	    "WELCOME with fewer elements a packet than any rank may offer is refused");
	tnet_free(s);
}

/* Two neighbours differ. The rank that could tell which of them is wrong does not post for long. */
static void test_ring_undecided(void)
{
	struct tnet *s = connected_as(3, false, CANARY_ALG_RING);
	u32 named;

	tnet_post(s, 0, 352 * 64);
	tnet_post(s, 1, 352 * 65);
	tnet_pass(s, tnet_now(s) + 40 * S);
	tap(tnet_comm(s, 0)->state == CNR_CONNECTED && tnet_comm(s, 1)->state == CNR_CONNECTED,
	    "ring: two differ, the third has not posted: nobody is blamed");
	tnet_post(s, 2, 352 * 64);
	tnet_wait_state(s, CNR_FAILED, 20 * S);
	named = blaming(s, 3, -EPROTO, 1);
	tap(named == 3, "ring: then %u of 3 name who differs", named);
	tnet_free(s);
}

static bool drop_large_hop(void *arg, int from, int to, const struct canary_hdr *h)
{
	return from == 2 && h->type == CANARY_RING_SUM && canary_length(h) > 400;
}

/* From some moment on, one hop of a ring only takes small packets. */
static void test_ring_path(void)
{
	struct tnet *s = connected_as(4, false, CANARY_ALG_RING);
	u32 named;

	tnet_faults(s)->filter = drop_large_hop;
	post_all(s, 4, 352 * 64);
	tnet_wait_state(s, CNR_FAILED, 120 * S);
	named = blaming(s, 4, -EMSGSIZE, 2);
	tap(named == 4, "ring: large packets of a hop vanish: %u of 4 end with EMSGSIZE and name the rank (%llu s)",
	    named, (unsigned long long)(tnet_now(s) / S));
	tnet_free(s);
}

static bool drop_ready(void *arg, int from, int to, const struct canary_hdr *h)
{
	return h->type == CANARY_JOIN && h->flags & CANARY_F_READY && from == 2;
}

/*
 * A member has the whole table and waits for others. It is told that nothing is added to the table.
 */
static void test_table_again(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 57, .faults.filter = drop_ready };
	struct tnet *s = tnet_new(&cfg);
	struct cnr_comm *c = tnet_comm(s, 1);
	struct {
		struct canary_hdr hdr;
		u8 salt[CANARY_SALT];
	} m = { 0 };
	struct cnr_out out;
	u32 first;

	tnet_connect(s, -1);
	tnet_run(s, tnet_now(s) + S);
	if (c->state != CNR_JOINING || !c->table)
		abort();
	first = c->una;
	cnr_header(tnet_comm(s, 0), &out, CANARY_WELCOME, first + 1000);
	out.hdr.welcome.nonce = cpu_to_be64(c->join.nonce);
	out.hdr.welcome.first = cpu_to_be32(3);
	out.hdr.welcome.length = cpu_to_be16(c->length);
	out.hdr.welcome.window = cpu_to_be16(c->window);
	out.hdr.welcome.algorithm = c->algorithm;
	out.hdr.welcome.run = cpu_to_be16(1);
	out.payload = m.salt;
	out.len = sizeof(m.salt);
	cnr_to_rank(tnet_comm(s, 0), &out, 1);
	cnr_seal(tnet_comm(s, 0), &out);
	m.hdr = out.hdr;
	tap(tnet_inject(s, 1, &m.hdr, sizeof(m), 0) == CANARY_DROP_DUPLICATE && c->una == first,
	    "WELCOME without entries to a full table: the epoch does not begin again");
	tnet_free(s);
}

int main(void)
{
	test_everything(CANARY_ALG_AUTO);
	test_everything(CANARY_ALG_RING);
	test_done();
	test_taken();
	test_shapes();
	test_sent();
	test_refusal();
	test_cookie();
	test_welcome_small();
	test_ring_undecided();
	test_ring_path();
	test_table_again();
	return tap_done("core-other");
}
