// SPDX-License-Identifier: BSD-2-Clause
/*
 * Communicators that are formed from a table, without rendezvous: sums, late members, different
 * tables
 */
#include <errno.h>

#include "core/inside.h"
#include "forge.h"
#include "trial.h"

#define RANKS	12
#define EPOCH	0x1234567

/* The table that a member gets */
struct given {
	struct cnr_table table;
	struct canary_peer peer[RANKS];
};

static int check(struct cnr_table *t, u32 *rank)
{
	u16 *room = calloc(1, cnr_table_room(t->members));
	int err = cnr_table_check(t, room, rank);

	free(room);
	return err;
}

static struct tnet *formed_net(const struct tnet_config *cfg, struct given *g)
{
	struct tnet_config own = *cfg;
	struct tnet *s;
	u32 rank;

	own.formed = true;
	s = tnet_new(&own);
	tnet_table(s, &g->table, g->peer);
	if (check(&g->table, &rank))
		abort();
	return s;
}

/* One rank gets a different value: another epoch, another entry, ... */
static void given_again(struct given *g, const struct given *from)
{
	u32 rank;

	*g = *from;
	g->table.peer = g->peer;
	if (check(&g->table, &rank))
		abort();
}

static void test_check(void)
{
	struct given g;
	struct tnet_config cfg = { .members = 5, .seed = 1 };
	struct tnet *s = formed_net(&cfg, &g);
	const struct given good = g;
	u32 rank;
	int err;

	tap(!check(&g.table, &rank) && rank == 5, "check: a table of five");
	g.table.epoch = 0;
	tap(check(&g.table, &rank) == -EINVAL && rank == 5, "check: no epoch");
	g = good;
	g.table.peer = g.peer;
	g.table.members = 0;
	tap(check(&g.table, &rank) == -EINVAL, "check: no members");
	g.table.members = CANARY_MEMBERS_MAX + 1;
	tap(check(&g.table, &rank) == -EINVAL, "check: too many members");
	g.table.members = 5;
	g.peer[3].addr = (struct canary_addr){ .word = { cpu_to_be32(0x20010db8), 0, 0, 1 } };
	err = check(&g.table, &rank);
	tap(err == -EAFNOSUPPORT && rank == 3, "check: an address of IPv6 is refused by name");
	g.peer[3] = good.peer[3];
	g.peer[4] = good.peer[1];
	err = check(&g.table, &rank);
	tap(err == -ENOTUNIQ && rank == 4, "check: so are two ranks at one place");
	g.peer[4].port = cpu_to_be16(CANARY_PORT_BASE + 1);
	tap(!check(&g.table, &rank), "check: two ports are two places");
	g.peer[2].port = cpu_to_be16(CANARY_PORT_BASE + CANARY_PORTS);
	tap(check(&g.table, &rank) == -EINVAL && rank == 2, "check: a port out of range");
	g.peer[2] = good.peer[2];
	g.peer[0].addr = canary_addr_of_ip4(cpu_to_be32(0xe0000001));
	tap(check(&g.table, &rank) == -EINVAL && rank == 0, "check: a group's address");
	g.peer[0].addr = canary_addr_of_ip4(0);
	tap(check(&g.table, &rank) == -EINVAL && rank == 0, "check: none");
	g.peer[0] = good.peer[0];
	g.peer[1].zero = 1;
	tap(check(&g.table, &rank) == -EINVAL && rank == 1, "check: what has to be 0");
	tnet_free(s);
}

/* The largest table: its room suffices for the check, and no entry makes the others slow. */
static void test_check_many(void)
{
	struct cnr_table t = { .epoch = 1, .members = CANARY_MEMBERS_MAX };
	u32 i, rank;

	t.peer = calloc(t.members, sizeof(*t.peer));
	for (i = 0; i < t.members; i++) {
		t.peer[i].addr = canary_addr_of_ip4(cpu_to_be32(0x0a000001 + i / 64));
		t.peer[i].port = cpu_to_be16(CANARY_PORT_BASE + i % 64);
	}
	tap(!check(&t, &rank), "check: 65535 members");
	t.peer[65534] = t.peer[0];
	tap(check(&t, &rank) == -ENOTUNIQ && rank == 65534, "check: the last one is there twice");
	free(t.peer);
}

static void test_form(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 2 };
	struct given g, other;
	struct tnet *s = formed_net(&cfg, &g);
	struct cnr_info a, b;

	given_again(&other, &g);
	other.table.members = 2;
	tap(tnet_form(s, 1, &other.table) == -EINVAL, "form: a table of fewer members");
	other.table.members = 3;
	other.peer[1].port = cpu_to_be16(CANARY_PORT_BASE + 2);
	tap(tnet_form(s, 1, &other.table) == -EADDRNOTAVAIL, "form: we are elsewhere");
	tap(cnr_state(tnet_comm(s, 1)) == CNR_NEW, "form: then nothing has happened");
	tap(!tnet_form(s, 1, &g.table) && cnr_state(tnet_comm(s, 1)) == CNR_CONNECTED,
	    "form: connected at once");
	tap(tnet_form(s, 1, &g.table) == -EISCONN && cnr_connect(tnet_comm(s, 1), 0) == -EISCONN,
	    "form: but once");
	tap(cnr_session(tnet_comm(s, 1)) == EPOCH && !cnr_missing(tnet_comm(s, 1), NULL, 0) &&
	    tnet_traffic(s)->packets == 1, "form: nobody is missing, rank 0 is greeted");
	tnet_form(s, 0, &g.table);
	tnet_form(s, 2, &g.table);
	tnet_pass(s, tnet_now(s) + 1 * MS);
	cnr_info(tnet_comm(s, 0), &a);
	cnr_info(tnet_comm(s, 2), &b);
	tap(a.una == b.una && a.elements == b.elements && a.window == b.window &&
	    !memcmp(tnet_comm(s, 0)->key, tnet_comm(s, 2)->key, 16), "form: all agree");
	tap(cnr_connect(tnet_comm(s, 0), 0) == -EISCONN, "form: there is no rendezvous any more");
	tnet_free(s);
	s = tnet_new(&cfg);
	tnet_connect(s, 1);
	tap(tnet_form(s, 1, &g.table) == -EALREADY, "form: nor while there is one");
	tnet_free(s);
}

/*
 * Members form in a random order, within @spread of time. Return: are all sums right, and does
 * everything end?
 */
static bool run_formed(const struct trial *sc, u64 seed, u64 spread)
{
	struct tnet_config cfg = {
		.members = sc->members, .window = sc->window, .aggregate = sc->aggregate,
		.faults = sc->faults, .algorithm = sc->algorithm, .seed = seed, .key = seed & 1,
	};
	struct given g;
	struct tnet *s = formed_net(&cfg, &g);
	u32 i, k, posted = 0;
	bool good = true;

	for (i = 0; i < sc->members; i++) {
		k = (i * 13 + seed) % sc->members;
		good &= !tnet_form(s, k, &g.table);
		for (posted = 0; posted < sc->operations; posted++)
			good &= !tnet_post(s, k, sc->elements);
		tnet_pass(s, tnet_now(s) + spread / sc->members);
	}
	good &= tnet_wait_completed(s, sc->operations, 600 * S);
	for (i = 0; i < sc->members; i++)
		good &= tnet_completed(s, i) == sc->operations && !tnet_last_error(s, i);
	good &= !tnet_wrong(s);
	if (good)
		good = settle(s, sc->members);
	if (!good)
		printf("# seed %llu: wrong %u, held %u, at %llu ms, error %d\n",
		       (unsigned long long)seed, tnet_wrong(s), tnet_vectors_held(s),
		       (unsigned long long)(tnet_now(s) / MS), tnet_last_error(s, 0));
	tnet_free(s);
	return good;
}

static void test_sums(void)
{
	static const struct trial list[] = {
		{ "two members", 2, 5000, 3 },
		{ "five members, no switch", 5, 20000, 3 },
		{ "eight members, a switch", 8, 20000, 4, .aggregate = true },
		{ "eight members, 3 % loss", 8, 20000, 4, .aggregate = true,
		  .faults = { .drop = 30000, .repeat = 10000 } },
		{ "eleven members, a ring", 11, 30000, 3, .algorithm = CANARY_ALG_RING },
		{ "a ring, 3 % loss", 7, 30000, 3, .algorithm = CANARY_ALG_RING,
		  .faults = { .drop = 30000 } },
		{ "one member", 1, 1000, 2 },
	};
	static const u64 spread[] = { 0, 2 * S, 20 * S };
	u32 i, k, seed, good;

	for (i = 0; i < ARRAY_SIZE(list); i++)
		for (k = 0; k < ARRAY_SIZE(spread); k++) {
			for (good = 0, seed = 0; seed < 6; seed++)
				good += run_formed(&list[i], seed, spread[k]);
			tap(good == 6, "sums: %s, formed within %llu s (%u of 6 seeds)",
			    list[i].name, (unsigned long long)(spread[k] / S), good);
		}
}

/* How long after @rank came, @late, are the sums there? */
static void late(u32 rank, u64 ns, u8 algorithm)
{
	struct tnet_config cfg = {
		.members = 4, .aggregate = true, .seed = 5, .algorithm = algorithm,
	};
	struct given g;
	struct tnet *s = formed_net(&cfg, &g);
	u64 came;
	u32 i;
	bool good;

	for (i = 0; i < 4; i++) {
		if (i == rank)
			continue;
		tnet_form(s, i, &g.table);
		tnet_post(s, i, 40000);
	}
	tnet_pass(s, tnet_now(s) + ns);
	came = tnet_now(s);
	good = !tnet_form(s, rank, &g.table) && !tnet_post(s, rank, 40000) &&
	       tnet_wait_completed(s, 1, 60 * S);
	for (i = 0; i < 4; i++)
		good &= !tnet_last_error(s, i);
	tap(good && !tnet_wrong(s), "late: rank %u, %llu s, %s: there %llu ms after it", rank,
	    (unsigned long long)(ns / S), cnr_algorithm_name(algorithm),
	    (unsigned long long)((tnet_now(s) - came) / MS));
	post_all(s, 4, 40000);
	came = tnet_now(s);
	tap(tnet_wait_completed(s, 2, 60 * S) && !tnet_wrong(s) && tnet_now(s) - came < 200 * MS,
	    "late: and the next one after %llu ms",
	    (unsigned long long)((tnet_now(s) - came) / MS));
	tnet_free(s);
}

static void test_late(void)
{
	late(0, 2 * S, CANARY_ALG_AUTO);
	late(1, 2 * S, CANARY_ALG_TREE);
	late(3, 2 * S, CANARY_ALG_RING);
	late(2, 50 * S, CANARY_ALG_AUTO);
	late(0, 50 * S, CANARY_ALG_TREE);
	late(1, 50 * S, CANARY_ALG_RING);
}

static struct tnet *quiet;
static u64 quiet_until;

static bool drop_all_of_3(void *arg, int from, int to, const struct canary_hdr *h)
{
	return from == 3 && tnet_now(quiet) < quiet_until;
}

/* A rank comes late, and its greetings are lost for some seconds. */
static void test_slow_start(void)
{
	struct tnet_config cfg = {
		.members = 4, .seed = 14, .algorithm = CANARY_ALG_TREE,
		.faults.filter = drop_all_of_3,
	};
	struct given g;
	u32 i;

	quiet = formed_net(&cfg, &g);
	quiet_until = tnet_now(quiet) + 34 * S;
	for (i = 0; i < 4; i++) {
		if (i == 3)
			tnet_pass(quiet, tnet_now(quiet) + 30 * S);
		tnet_form(quiet, i, &g.table);
		tnet_post(quiet, i, 8000);
	}
	tap(tnet_wait_completed(quiet, 1, 60 * S) && !tnet_wrong(quiet) &&
	    !tnet_last_error(quiet, 0),
	    "late: 30 s, then not heard for 4 s: exact");
	tnet_free(quiet);
}

/*
 * Ranks but 3 form and post, 3 forms as well if it @comes, and dies after @alive. Return: ns until
 * all is over
 */
static u64 until_over(struct tnet *s, const struct given *g, bool comes, u64 alive)
{
	u64 began = tnet_now(s);
	u32 i;

	for (i = 0; i < (comes ? 4 : 3); i++)
		tnet_form(s, i, &g->table);
	for (i = 0; i < 3; i++)
		tnet_post(s, i, 4000);
	tnet_pass(s, tnet_now(s) + alive);
	tnet_kill(s, 3);
	tnet_wait_over(s, 100 * S);
	return tnet_now(s) - began;
}

/* All members name a rank that never comes, in time. */
static void test_absent(void)
{
	static const struct {
		u64		start_within, least, most;
		bool		comes;
		const char	*what;
	} row[] = {
		{ 0, 60 * S, 62 * S, false, "never came: named by all" },
		{ 8 * S, 8 * S, 10 * S, false, "start_within of 8 s: named by all" },
		{ 8 * S, 0, 8 * S, true, "came and died: dead after dead_after" },
	};
	struct tnet_config cfg = { .members = 4, .aggregate = true, .seed = 6 };
	struct given g;
	struct tnet *s;
	u64 took;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		s = formed_net(&cfg, &g);
		g.table.start_within = row[i].start_within;
		took = until_over(s, &g, row[i].comes, row[i].comes ? 1 * S : 0);
		tap(blaming(s, 3, -EHOSTDOWN, 3) == 3 && took >= row[i].least &&
		    took < row[i].most, "absent: %s, after %llu ms", row[i].what,
		    (unsigned long long)(took / MS));
		tnet_free(s);
	}
}

/*
 * All large packets of a rank that came late are lost. That is a PATH error, but not before it
 * came.
 */
static bool drop_data_of_3(void *arg, int from, int to, const struct canary_hdr *h)
{
	return from == 3 && cnr_has_data(h);
}

static void test_path(u8 algorithm)
{
	struct tnet_config cfg = {
		.members = 4, .seed = 7, .faults.filter = drop_data_of_3, .algorithm = algorithm,
	};
	struct given g;
	struct tnet *s = formed_net(&cfg, &g);
	u64 came;
	u32 i;

	for (i = 0; i < 3; i++) {
		tnet_form(s, i, &g.table);
		tnet_post(s, i, 4000);
	}
	tnet_pass(s, tnet_now(s) + 30 * S);
	came = tnet_now(s);
	tnet_form(s, 3, &g.table);
	tnet_post(s, 3, 4000);
	tnet_wait_over(s, 100 * S);
	tap(tnet_last_error(s, 0) == -EMSGSIZE && tnet_now(s) - came >= 10 * S,
	    "path: large packets of who came late vanish: named after %llu ms (%s)",
	    (unsigned long long)((tnet_now(s) - came) / MS), cnr_algorithm_name(algorithm));
	tnet_free(s);
}

enum different { SALT, PORT_OF_OTHER, EPOCH_OTHER, KEY, WINDOW, MTU, ALGORITHM };

/*
 * Two ranks get one value, the others another. Return: do all end with an error, and is no sum
 * wrong?
 */
static void differs(enum different what, const char *name)
{
	struct tnet_config cfg = { .members = 4, .aggregate = true, .seed = 9 };
	struct given g, h;
	struct tnet *s = formed_net(&cfg, &g);
	struct cnr_trouble trouble;
	u32 i, ended = 0, hints = 0;

	given_again(&h, &g);
	if (what == SALT)
		h.table.salt[15] = 1;
	if (what == PORT_OF_OTHER) {
		h.peer[0].port = cpu_to_be16(CANARY_PORT_BASE + 1);
		given_again(&h, &h);
	}
	if (what == EPOCH_OTHER)
		h.table.epoch++;
	if (what == KEY)
		memset(tnet_comm(s, 3)->cfg.key, 9, 16);
	if (what == WINDOW)
		tnet_comm(s, 3)->window /= 2;
	if (what == MTU)
		tnet_comm(s, 3)->length -= 4;
	if (what == ALGORITHM)
		tnet_comm(s, 3)->algorithm = CANARY_ALG_RING;
	for (i = 0; i < 4; i++) {
		tnet_form(s, i, i < 2 || (i < 3 && what >= KEY) ? &g.table : &h.table);
		tnet_post(s, i, 5000);
	}
	tnet_wait_over(s, 100 * S);
	for (i = 0; i < 4; i++) {
		ended += tnet_last_error(s, i) == -EHOSTDOWN;
		hints += cnr_troubles(tnet_comm(s, i), &trouble, 1) == 1 &&
			 trouble.kind == CNR_TROUBLE_TABLE;
	}
	tap(ended == 4 && !tnet_wrong(s), "another %s: all end with an error (%u), no sum is wrong",
	    name, ended);
	tap(hints >= 2, "another %s: both sides know why (%u)", name, hints);
	tnet_free(s);
}

static void test_differs(void)
{
	differs(SALT, "salt");
	differs(PORT_OF_OTHER, "port of rank 0");
	differs(EPOCH_OTHER, "epoch");
	differs(KEY, "key");
	differs(WINDOW, "window");
	differs(MTU, "packet size");
	differs(ALGORITHM, "algorithm");
}

/* The same table, but different operations: that is noticed as usual. */
static void test_mismatch(void)
{
	struct tnet_config cfg = { .members = 4, .seed = 10 };
	struct given g;
	struct tnet *s = formed_net(&cfg, &g);
	u32 i;

	tnet_form(s, -1, &g.table);
	for (i = 0; i < 4; i++)
		tnet_post(s, i, i == 2 ? 6000 : 5000);
	tnet_wait_over(s, 100 * S);
	tap(blaming(s, 4, -EPROTO, 2) == 4 && !tnet_wrong(s), "mismatch: another length is named");
	tnet_free(s);
}

/* Some members join, others have a table: nobody waits for ever. */
static void test_join(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 11 };
	struct given g;
	struct tnet *s = formed_net(&cfg, &g);
	struct cnr_trouble trouble = { 0 };

	tnet_form(s, 0, &g.table);
	tnet_form(s, 1, &g.table);
	tnet_connect(s, 2);
	tnet_pass(s, tnet_now(s) + 2 * S);
	cnr_troubles(tnet_comm(s, 2), &trouble, 1);
	tap(cnr_state(tnet_comm(s, 2)) == CNR_FAILED && trouble.kind == CNR_TROUBLE_RANK,
	    "join: rank 0 was given a table, and refuses");
	tnet_post(s, 0, 100);
	tnet_pass(s, tnet_now(s) + 10 * S);
	tap(cnr_state(tnet_comm(s, 0)) == CNR_CONNECTED,
	    "join: who joins has not come: rank 0 waits for it as for others");
	tnet_free(s);
	/* A core that exists before its table is set, as that of the user engine */
	s = formed_net(&cfg, &g);
	tnet_connect(s, 2);
	tnet_pass(s, tnet_now(s) + 100 * MS);
	tnet_form(s, 0, &g.table);
	tnet_pass(s, tnet_now(s) + 2 * S);
	tap(cnr_state(tnet_comm(s, 2)) == CNR_FAILED, "join: begun before the table: refused, too");
	tnet_free(s);
}

static enum canary_drop inject_join(struct tnet *s, u32 rank, u32 members)
{
	u8 packet[sizeof(struct canary_hdr) + sizeof(struct canary_join)];
	u32 len = forge_join(tnet_comm(s, 0), rank, members, (struct canary_hdr *)packet);

	return tnet_inject(s, 0, packet, len, 1);
}

/* A JOIN is of no rank of this session, whatever it says. */
static void test_joins_of_others(void)
{
	static const struct {
		u32	rank, members;
	} join[] = {
		{ 1, 3 }, { 2, 3 }, { 3, 4 }, { 60000, 65535 }, { 65534, 65535 },
	};
	struct tnet_config cfg = { .members = 3, .seed = 13 };
	struct given g;
	struct tnet *s = formed_net(&cfg, &g);
	bool answered = true, unmet = true;
	u32 i;

	tnet_form(s, 0, &g.table);
	for (i = 0; i < ARRAY_SIZE(join); i++)
		answered &= inject_join(s, join[i].rank, join[i].members) == CANARY_DROP_NONE;
	for (i = 1; i < 3; i++)
		unmet &= !(tnet_comm(s, 0)->member[i].flags & CNR_M_READY);
	tap(answered, "joins of others: get a cookie, as from any rank 0");
	tap(unmet, "joins of others: nobody has come by that");
	tnet_free(s);
}

/* A member that closes before the others came cannot tell them. */
static void test_close(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 12 };
	struct given g;
	struct tnet *s = formed_net(&cfg, &g);
	u32 i;

	tnet_form(s, -1, &g.table);
	tnet_close(s, 1, false);
	tnet_pass(s, tnet_now(s) + 1 * S);
	tap(tnet_post(s, 0, 100) == -ECONNRESET, "close: others are told");
	tnet_free(s);
	s = formed_net(&cfg, &g);
	g.table.start_within = 10 * S;
	tnet_form(s, 1, &g.table);
	tnet_close(s, 1, false);
	tnet_pass(s, tnet_now(s) + 1 * S);
	tap(cnr_state(tnet_comm(s, 1)) == CNR_CLOSED, "close: at once, if there was nothing to do");
	for (i = 0; i < 3; i++)
		if (i != 1) {
			tnet_form(s, i, &g.table);
			tnet_post(s, i, 100);
		}
	tnet_kill(s, 1);
	tnet_wait_over(s, 100 * S);
	tap(blaming(s, 3, -EHOSTDOWN, 1) == 2, "close: who comes later finds it dead");
	tnet_free(s);
}

/* Packets of one session have no effect on the next one of the same members. */
static void test_next_session(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 13, .key = true };
	struct given g, h;
	struct tnet *s = formed_net(&cfg, &g);
	struct tnet *t = formed_net(&cfg, &h);

	memset(h.table.salt, 0, sizeof(h.table.salt));
	tap(tnet_form(t, -1, &h.table) == -ENOKEY, "session: a key needs a salt");
	h.table.salt[0] = 1;
	tnet_form(s, -1, &g.table);
	tnet_form(t, -1, &h.table);
	tnet_pass(s, tnet_now(s) + 1 * MS);
	tnet_pass(t, tnet_now(t) + 1 * MS);
	tap(memcmp(tnet_comm(s, 0)->key, tnet_comm(t, 0)->key, 16) &&
	    memcmp(tnet_comm(s, 0)->data_key, tnet_comm(t, 0)->data_key, 16) &&
	    tnet_comm(s, 0)->first != tnet_comm(t, 0)->first,
	    "session: another salt makes other keys, and another first block");
	tnet_free(s);
	tnet_free(t);
}

int main(void)
{
	test_check();
	test_check_many();
	test_form();
	test_sums();
	test_late();
	test_slow_start();
	test_absent();
	test_path(CANARY_ALG_TREE);
	test_path(CANARY_ALG_RING);
	test_differs();
	test_mismatch();
	test_join();
	test_joins_of_others();
	test_close();
	test_next_session();
	return tap_done("core-table");
}
