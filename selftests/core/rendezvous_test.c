// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rendezvous in simulated time: members that come late, again, with small packets, or not at
 * all.
 */
#include "selftests/tap.h"
#include "core/inside.h"
#include "fixture.h"

/* Rank 0 comes late, and hears only the small offers of this member at first. */
static void test_late_root(void)
{
	struct tnet_config cfg = { .members = 4, .seed = 11 };
	struct tnet *s = tnet_new(&cfg);
	struct cnr_info info;
	u32 i, full = 0;

	tnet_kill(s, 0);
	for (i = 1; i < 4; i++)
		tnet_connect(s, i);
	tnet_run(s, tnet_now(s) + 7 * S);
	tnet_revive(s, 0);
	tnet_connect(s, 0);
	tnet_wait_state(s, CNR_CONNECTED, 20 * S);
	for (i = 0; i < 4; i++) {
		cnr_info(tnet_comm(s, i), &info);
		full += info.elements == 352 && cnr_state(tnet_comm(s, i)) == CNR_CONNECTED;
	}
	tap(full == 4, "rank 0 comes 7 s late: %u of 4 agree on full packets", full);
	tnet_free(s);
}

static bool drop_large(void *arg, int from, int to, const struct canary_hdr *h)
{
	return h->type == CANARY_JOIN && !(h->flags & CANARY_F_READY) &&
	       be16_to_cpu(h->join.length) > 4 * CANARY_ELEMENTS(1400);
}

static void test_small_path(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 12, .faults.filter = drop_large };
	struct tnet *s = tnet_new(&cfg);
	struct cnr_info info;

	tnet_connect(s, -1);
	tnet_wait_state(s, CNR_CONNECTED, 60 * S);
	cnr_info(tnet_comm(s, 1), &info);
	tap(cnr_state(tnet_comm(s, 1)) == CNR_CONNECTED && info.elements == CANARY_ELEMENTS(1400),
	    "a path that takes 1400 bytes: %u elements agreed", info.elements);
	tnet_free(s);
}

static void test_rendezvous(void)
{
	struct tnet_config cfg = { .members = 5, .seed = 3, .faults = { .drop = 300000 } };
	struct tnet *s = tnet_new(&cfg);
	u16 rank[8];
	u32 i, n;

	for (i = 0; i < 5; i++)
		if (i != 2 && i != 4)
			tnet_connect(s, i);
	tnet_run(s, tnet_now(s) + 3 * S);
	n = cnr_missing(tnet_comm(s, 0), rank, 8);
	tap(n == 2 && rank[0] == 2 && rank[1] == 4, "rendezvous: rank 0 names who is missing");
	n = cnr_missing(tnet_comm(s, 3), rank, 8);
	tap(n == 2 && rank[0] == 2 && rank[1] == 4, "rendezvous: the others know as well");
	tnet_connect(s, 2);
	tnet_connect(s, 4);
	tap(tnet_wait_state(s, CNR_CONNECTED, 60 * S), "rendezvous: completes under 30 %% loss");
	tnet_free(s);
}

/* Rank 0 answers, but only small packets arrive. It must not be the rank that is named. */
static void test_small_path_missing(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 12, .faults.filter = drop_large };
	struct tnet *s = tnet_new(&cfg);
	u16 rank[4] = { 0 };
	u32 n;

	tnet_connect(s, 0);
	tnet_connect(s, 1);
	tnet_run(s, tnet_now(s) + 20 * S);
	n = cnr_missing(tnet_comm(s, 1), rank, 4);
	tap(n == 1 && rank[0] == 2, "a path that takes 1400 bytes: rank 2 is named (%u)", rank[0]);
	tnet_free(s);
}

/* An error in one packet of the rendezvous must not spoil the communicator for good. */
static void test_corrupt(void)
{
	struct tnet_config cfg = { .members = 4, .faults.corrupt = 200000 };
	u32 seed, good = 0;
	struct tnet *s;

	for (seed = 0; seed < 50; seed++) {
		cfg.seed = seed;
		s = tnet_new(&cfg);
		tnet_connect(s, -1);
		tnet_wait_state(s, CNR_CONNECTED, 60 * S);
		tnet_faults(s)->corrupt = 0;
		post_all(s, 4, 2000);
		good += tnet_wait_completed(s, 1, 20 * S) && !tnet_wrong(s) &&
			!tnet_last_error(s, 0);
		tnet_free(s);
	}
	tap(good == 50, "rendezvous with 20 %% corrupt: %u of 50 can be used", good);
}

static bool drop_ready(void *arg, int from, int to, const struct canary_hdr *h)
{
	return h->type == CANARY_WELCOME && (h->flags & CANARY_F_READY);
}

/*
 * Members have the table of a rank 0 that is gone. They must not spoil the table of the next one.
 */
static void test_restarted_root(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 21, .faults.filter = drop_ready };
	struct tnet *s = tnet_new(&cfg);
	enum canary_abort why;
	struct cnr_info info;
	int i;

	tnet_connect(s, -1);
	tnet_run(s, tnet_now(s) + S);
	tnet_faults(s)->filter = NULL;
	tnet_restart(s, 0);
	tnet_connect(s, 0);
	tnet_run(s, tnet_now(s) + 3 * S);
	tap(cnr_failure(tnet_comm(s, 1), &why) == -EPROTO && why == CANARY_ABORT_REFUSED,
	    "rank 0 restarted: who is in the old one is told");
	for (i = 1; i < 3; i++) {
		tnet_restart(s, i);
		tnet_connect(s, i);
	}
	tnet_wait_state(s, CNR_CONNECTED, 10 * S);
	cnr_info(tnet_comm(s, 0), &info);
	tap(cnr_state(tnet_comm(s, 0)) == CNR_CONNECTED && info.elements == 352,
	    "rank 0 restarted: all restarted connect, %u elements", info.elements);
	tnet_free(s);
}

struct cookie {
	struct tnet *s;
	u64	cookie;
	u16	members;
};

static bool see_cookie(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct cookie *k = arg;
	if (from == 0 && to == 1 && h->type == CANARY_COOKIE) {
		k->cookie = h->cookie.cookie;
		k->members = be16_to_cpu(h->members);
	}
	return false;
}

/*
 * Rank 1 of @members joins with @window and packets for @elements. Return: what rank 0 says when it
 * sees the cookie. Before that it says nothing about the offer.
 */
static enum canary_drop join_with(u16 members, u16 window, u16 elements)
{
	struct tnet_config cfg = { .members = 3, .seed = 5 };
	u8 packet[64 + 1408] = { 0 };
	struct canary_hdr *h = (void *)packet;
	struct canary_join *j = (void *)(h + 1);
	u32 try, len = sizeof(*h) + 4 * elements;
	struct tnet *s = tnet_new(&cfg);
	struct cookie k = { .s = s };
	enum canary_drop drop = CANARY_DROP_NONE;
	const u8 *key;

	tnet_faults(s)->filter = see_cookie;
	tnet_faults(s)->filter_arg = &k;
	tnet_connect(s, 0);
	h->version = CANARY_VERSION;
	h->type = CANARY_JOIN;
	h->comm = cpu_to_be32(7);
	h->members = cpu_to_be16(members);
	h->rank = cpu_to_be16(1);
	h->join.nonce = cpu_to_be64(1);
	h->join.window = cpu_to_be16(window);
	h->join.length = cpu_to_be16(4 * 352);
	key = cnr_mac_key(tnet_comm(s, 0), h);
	for (try = 1; try <= 2 && drop == CANARY_DROP_NONE; try++) {
		h->join.number = cpu_to_be32(try);
		j->cookie = k.cookie;
		h->join.digest = cpu_to_be32(cnr_digest(key, h + 1, len - sizeof(*h)));
		h->mac = cpu_to_be64(cnr_mac(tnet_comm(s, 0), h, h + 1, 0));
		drop = tnet_inject(s, 0, packet, len, 1);
		tnet_run(s, tnet_now(s) + MS);
		if (try == 1 && (drop != CANARY_DROP_NONE || !k.cookie || k.members != members))
			drop = CANARY_DROPS;
	}
	tnet_free(s);
	return drop;
}

static void test_offers(void)
{
	tap(join_with(3, 64, 352) == CANARY_DROP_NONE, "JOIN: as it should be");
	tap(join_with(3, 3, 352) == CANARY_DROP_ELEMENTS, "JOIN: window no power of 2: refused");
	tap(join_with(3, 0, 352) == CANARY_DROP_ELEMENTS, "JOIN: no window: refused");
	tap(join_with(3, 64, 120) == CANARY_DROP_ELEMENTS, "JOIN: shorter than any MTU: refused");
	tap(join_with(4, 64, 352) == CANARY_DROP_MEMBERS, "JOIN: of another size: refused");
}

/* The last message of the rendezvous is lost, and rank 0 has nothing more to say. */
static void test_root_leaves_at_once(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 4, .faults.filter = drop_ready };
	struct tnet *s = tnet_new(&cfg);

	tnet_connect(s, -1);
	while (cnr_state(tnet_comm(s, 0)) != CNR_CONNECTED && tnet_run(s, tnet_now(s) + MS))
		;
	tnet_close(s, 0, false);
	tnet_run(s, tnet_now(s) + 5 * S);
	tap(cnr_state(tnet_comm(s, 1)) == CNR_CONNECTED &&
	    cnr_state(tnet_comm(s, 2)) == CNR_CONNECTED,
	    "rank 0 leaves at once: its goodbye says that all were in");
	tnet_free(s);
}

static bool drop_ready_of_2(void *arg, int from, int to, const struct canary_hdr *h)
{
	return from == 2 && h->type == CANARY_JOIN && h->epoch;
}

/* Only the JOIN of a rank arrives, as if its process is gone and the JOIN was in some queue. */
static void test_gone_before_ready(void)
{
	struct tnet_config cfg = { .members = 4, .seed = 14, .faults.filter = drop_ready_of_2 };
	struct tnet *s = tnet_new(&cfg);
	u32 i, named = 0;
	u16 rank[4];

	tnet_connect(s, -1);
	tnet_run(s, tnet_now(s) + 1 * S);
	tnet_kill(s, 2);
	tnet_run(s, tnet_now(s) + 22 * S);
	for (i = 0; i < 4; i++)
		named += i != 2 && cnr_state(tnet_comm(s, i)) == CNR_FAILED &&
			 cnr_missing(tnet_comm(s, i), rank, 4) == 1 && rank[0] == 2;
	tap(named == 3, "a rank is gone before it says READY: %u of 3 name it", named);
	tnet_free(s);
}

/*
 * The JOINs of rank 2 arrive, but for half a minute no answer of rank 0 does. So they show a cookie
 * that is too old, although rank 2 lives.
 */
static bool drop_told_2(void *arg, int from, int to, const struct canary_hdr *h)
{
	return to == 2 && tnet_comm(arg, 0)->table;
}

static void test_hears_nothing(void)
{
	struct tnet_config cfg = { .members = 4, .seed = 25 };
	struct tnet *s = tnet_new(&cfg);

	tnet_faults(s)->filter = drop_told_2;
	tnet_faults(s)->filter_arg = s;
	tnet_connect(s, -1);
	tnet_run(s, tnet_now(s) + 30 * S);
	tnet_faults(s)->filter = NULL;
	tap(tnet_wait_state(s, CNR_CONNECTED, 5 * S),
	    "a rank hears nothing for 30 s, but is heard: connected then");
	tnet_free(s);
}

/* Rank 3 is gone. Rank 0 tells everybody, but the message to rank 1 is lost. */
static bool drop_abort_to_1(void *arg, int from, int to, const struct canary_hdr *h)
{
	u32 *lost = arg;

	if ((h->type == CANARY_WELCOME && to == 3) ||
	    (h->type == CANARY_JOIN && (h->flags & CANARY_F_READY) && from == 3))
		return true;
	return h->type == CANARY_ABORT && to == 1 && (*lost)++ < 2;
}

static void test_lost_end(void)
{
	struct tnet_config cfg = { .members = 4, .seed = 26 };
	struct tnet *s = tnet_new(&cfg);
	u32 lost = 0, i, named = 0;
	u16 rank[4];

	tnet_connect(s, 0);
	tnet_connect(s, 1);
	tnet_connect(s, 2);
	tnet_run(s, tnet_now(s) + S);
	tnet_connect(s, 3);
	while (!tnet_comm(s, 0)->table)
		tnet_run(s, tnet_now(s) + 10 * CNR_USEC);
	tnet_kill(s, 3);
	tnet_faults(s)->filter = drop_abort_to_1;
	tnet_faults(s)->filter_arg = &lost;
	tnet_wait_state(s, CNR_FAILED, 30 * S);
	for (i = 0; i < 3; i++)
		named += cnr_state(tnet_comm(s, i)) == CNR_FAILED &&
			 cnr_missing(tnet_comm(s, i), rank, 4) == 1 && rank[0] == 3;
	tap(lost >= 2 && named == 3, "the end of a rendezvous is lost on its way: %u of 3 name who is gone",
	    named);
	tnet_free(s);
}

static void test_unconnected(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 5 };
	struct tnet *s = tnet_new(&cfg);

	tap(tnet_post(s, 1, 10) == -ENOTCONN, "posting before connect: ENOTCONN");
	tap(!cnr_connect(tnet_comm(s, 1), 1) && cnr_connect(tnet_comm(s, 1), 1) == -EALREADY,
	    "connect twice: EALREADY");
	tnet_close(s, 1, false);
	tap(cnr_state(tnet_comm(s, 1)) == CNR_CLOSED, "close while joining");
	tnet_free(s);
}

static struct cnr_trouble trouble_of(struct tnet *s, int rank)
{
	struct cnr_trouble t = { .kind = CNR_TROUBLE_NONE };

	cnr_troubles(tnet_comm(s, rank), &t, 1);
	return t;
}

/* Rank 1 of 3 is wrong in one way. Both rank 0 and rank 1 know in which. */
static void test_troubles(void)
{
	static const struct {
		const char *what;
		u32 comm;		/* added to the right number */
		u16 members;
		u8 key;
		enum cnr_trouble_kind kind;
		u32 at_root, at_other;	/* values */
	} cases[] = {
		{ "another key", 0, 0, 1, CNR_TROUBLE_KEY, 0, 0 },
		{ "another communicator", 5, 0, 0, CNR_TROUBLE_COMM, 5, 0 },
		{ "another number of members", 0, 1, 0, CNR_TROUBLE_MEMBERS, 2, 3 },
	};
	struct tnet_config cfg = { .members = 3, .seed = 21, .key = true };
	struct cnr_trouble root, other;
	struct cnr_comm *c;
	struct tnet *s;
	u32 i, id;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		s = tnet_new(&cfg);
		c = tnet_comm(s, 1);
		id = c->cfg.comm;
		c->cfg.comm += cases[i].comm;
		c->cfg.members -= cases[i].members;
		c->cfg.key[3] ^= cases[i].key;
		tnet_connect(s, -1);
		tnet_run(s, tnet_now(s) + 2 * S);
		root = trouble_of(s, 0);
		other = trouble_of(s, 1);
		tap(root.kind == cases[i].kind && root.rank == 1 &&
		    canary_addr_equal(&root.addr, &c->cfg.addr) && root.port == c->cfg.port && root.count &&
		    (root.kind == CNR_TROUBLE_COMM ? root.value == id + 5 :
		     root.value == cases[i].at_root),
		    "%s: rank 0 knows from whom (%u)", cases[i].what, root.kind);
		tap(other.kind == cases[i].kind &&
		    (other.kind == CNR_TROUBLE_COMM ? other.value == id :
		     other.value == cases[i].at_other),
		    "%s: who does it is told (%u, %u)", cases[i].what, other.kind, other.value);
		tap(cnr_state(tnet_comm(s, 2)) == CNR_JOINING &&
		    trouble_of(s, 2).kind == CNR_TROUBLE_NONE,
		    "%s: others go on waiting", cases[i].what);
		tnet_free(s);
	}
}

/* Two processes claim rank 1, and nobody rank 2. */
static void test_claimed_twice(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 22, .key = true };
	struct tnet *s = tnet_new(&cfg);
	u16 rank[2];

	tnet_comm(s, 2)->cfg.rank = 1;
	tnet_connect(s, -1);
	tnet_run(s, tnet_now(s) + 2 * S);
	tap(trouble_of(s, 0).kind == CNR_TROUBLE_RANK && trouble_of(s, 0).rank == 1,
	    "a rank that is claimed twice: rank 0 knows");
	tap(cnr_missing(tnet_comm(s, 0), rank, 2) == 1 && rank[0] == 2,
	    "a rank that is claimed twice: the other one is missing");
	tnet_free(s);
}

static bool forge(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct canary_hdr *mine = (struct canary_hdr *)(uintptr_t)h;

	if (h->type == CANARY_CONTRIBUTION && from == 1 && !*(bool *)arg) {
		mine->mac ^= 1;
		*(bool *)arg = true;
	}
	return false;
}

/* A contribution in the name of rank 1 without the key: it is reported, and has no other effect. */
static void test_forged(void)
{
	bool done = false;
	struct tnet_config cfg = { .members = 3, .seed = 23, .key = true,
				  .algorithm = CANARY_ALG_TREE,
				  .faults = { .filter = forge, .filter_arg = &done } };
	struct tnet *s = tnet_new(&cfg);
	u32 i, named = 0;

	tnet_connect(s, -1);
	tnet_wait_state(s, CNR_CONNECTED, 10 * S);
	post_all(s, 3, 352 * 6);
	tap(tnet_wait_completed(s, 1, 10 * S) && !tnet_wrong(s), "a forged contribution: the sum is right");
	for (i = 0; i < 3; i++)
		named += trouble_of(s, i).kind == CNR_TROUBLE_FORGED && trouble_of(s, i).rank == 1;
	tap(named == 1, "a forged contribution: its leader names the source (%u)", named);
	tnet_free(s);
}

/* A table of rank 0 with a wrong place of rank 2 */
struct lie {
	struct tnet		*s;
	struct canary_peer	peer;
};

static bool tell_lie(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct cnr_comm *root = tnet_comm(((struct lie *)arg)->s, 0);
	const struct canary_peer *lie = &((struct lie *)arg)->peer;
	bool told = canary_peer_equal(&root->peer[2], lie);

	if (h->type != CANARY_WELCOME || (h->flags & (CANARY_F_WAITING | CANARY_F_READY)))
		return false;
	/* this packet still has the right place */
	root->peer[2] = *lie;
	return !told;
}

/* Return: how often rank 1 refused a table with that place of rank 2; -1: it believed the table */
static int refused_at(struct canary_addr addr, u16 port)
{
	struct tnet_config cfg = { .members = 3, .seed = 17 };
	struct lie lie = { .peer.addr = addr, .peer.port = cpu_to_be16(port) };
	int refused;

	lie.s = tnet_new(&cfg);
	tnet_faults(lie.s)->filter = tell_lie;
	tnet_faults(lie.s)->filter_arg = &lie;
	tnet_connect(lie.s, -1);
	tnet_run(lie.s, tnet_now(lie.s) + 3 * S);
	refused = cnr_stats(tnet_comm(lie.s, 1))->drop[CANARY_DROP_PEER];
	if (tnet_comm(lie.s, 1)->table)
		refused = -1;
	tnet_free(lie.s);
	return refused;
}

static void test_hostile_root(void)
{
	static const struct {
		const char *what;
		u32 addr;
		u16 port;
	} table[] = {
		{ "a name server's port", 0x0a000003, 53 },
		{ "the port below the range", 0x0a000003, CANARY_PORT_BASE - 1 },
		{ "the port above the range", 0x0a000003, CANARY_PORT_BASE + CANARY_PORTS },
		{ "no port", 0x0a000003, 0 },
		{ "broadcast", 0xffffffff, CANARY_PORT_BASE },
		{ "multicast", 0xe0000001, CANARY_PORT_BASE },
		{ "no address", 0, CANARY_PORT_BASE },
	};
	const struct canary_addr ip6 = { { cpu_to_be32(0x20010db8), 0, 0, cpu_to_be32(3) } };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		tap(refused_at(canary_addr_of_ip4(cpu_to_be32(table[i].addr)), table[i].port) > 0, "hostile rank 0: %s",
		    table[i].what);
	tap(refused_at(ip6, CANARY_PORT_BASE) > 0, "hostile rank 0: an address of IPv6");
	tap(refused_at(canary_addr_of_ip4(cpu_to_be32(0x0a000009)),
		       CANARY_PORT_BASE + CANARY_PORTS - 1) == -1,
	    "what looks like a member's place is believed");
}

/* If rank 0 took a JOIN from such a port, members would send there. */
static void test_hostile_join(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 5 };
	u8 packet[64 + 1408] = { 0 };
	struct canary_hdr *h = (void *)packet;
	struct cnr_in in = { .hdr = h, .len = sizeof(packet),
			     .addr = canary_addr_of_ip4(cpu_to_be32(0x0a000002)) };
	struct tnet *s = tnet_new(&cfg);
	struct cnr_out out;
	const u8 *key;

	tnet_connect(s, 0);
	h->version = CANARY_VERSION;
	h->type = CANARY_JOIN;
	h->comm = cpu_to_be32(7);
	h->members = cpu_to_be16(3);
	h->rank = cpu_to_be16(1);
	h->join.nonce = cpu_to_be64(1);
	h->join.window = cpu_to_be16(64);
	h->join.length = cpu_to_be16(4 * 352);
	h->join.number = cpu_to_be32(1);
	key = cnr_mac_key(tnet_comm(s, 0), h);
	h->join.digest = cpu_to_be32(cnr_digest(key, h + 1, sizeof(packet) - sizeof(*h)));
	h->mac = cpu_to_be64(cnr_mac(tnet_comm(s, 0), h, h + 1, 0));
	in.port = cpu_to_be16(53);
	tap(cnr_input(tnet_comm(s, 0), tnet_now(s), &in) == CANARY_DROP_PEER &&
	    !cnr_poll(tnet_comm(s, 0), tnet_now(s), &out), "JOIN from port 53: is not answered");
	in.port = cpu_to_be16(CANARY_PORT_BASE);
	tap(cnr_input(tnet_comm(s, 0), tnet_now(s), &in) == CANARY_DROP_NONE &&
	    cnr_poll(tnet_comm(s, 0), tnet_now(s), &out), "the same from a member's port: is");
	tnet_free(s);
}

int main(void)
{
	test_hostile_root();
	test_hostile_join();
	test_troubles();
	test_claimed_twice();
	test_forged();
	test_late_root();
	test_small_path();
	test_small_path_missing();
	test_rendezvous();
	test_corrupt();
	test_restarted_root();
	test_offers();
	test_root_leaves_at_once();
	test_gone_before_ready();
	test_hears_nothing();
	test_lost_end();
	test_unconnected();
	return tap_done("core-rendezvous");
}
