// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 3, session: a communicator that is formed from a table of its members, without a
 * rendezvous. PROTOCOL.md, "Formed from a table".
 *
 * The table and struct cnr_config give all members what a rendezvous would agree on. All of that
 * goes into the session key. So members that were given different values do not understand each
 * other. What no table can say, which processes are meant, greet.c finds out.
 */
#include "message.h"
#include "session.h"

/* Keys of hashes over data that are no secret */
static const u8 cnr_table_label[2][16] = { "canary table 0", "canary table 1" };

static void cnr_table_hash(const void *data, size_t len, u64 hash[2])
{
	hash[0] = cnr_siphash(cnr_table_label[0], data, len);
	hash[1] = cnr_siphash(cnr_table_label[1], data, len);
}

/* Return: the size of the hash table, a power of two; at least half of it stays free */
static u32 cnr_table_places(u32 members)
{
	u32 n = 2;

	while (n < 2 * members)
		n *= 2;
	return n;
}

size_t cnr_table_room(u32 members)
{
	return cnr_table_places(members) * sizeof(u16);
}

static int cnr_table_peer(const struct canary_peer *p)
{
	/* An entry that was forgotten is no address of IPv6. */
	if (!canary_addr_is_ip4(&p->addr) && !canary_addr_is_any(&p->addr))
		return -EAFNOSUPPORT;
	return canary_peer_ok(p) ? 0 : -EINVAL;
}

/*
 * Put rank + 1 into the place of @rank. Return: false if another rank has the same address and port
 */
static bool cnr_table_place(const struct cnr_table *t, u16 *place, u32 rank)
{
	const struct canary_peer *p = &t->peer[rank];
	u32 mask = cnr_table_places(t->members) - 1;
	u32 i = (u32)cnr_siphash(t->seed, p, sizeof(*p)) & mask;

	for (; place[i]; i = (i + 1) & mask)
		if (canary_peer_equal(&t->peer[place[i] - 1], p))
			return false;
	place[i] = rank + 1;
	return true;
}

int cnr_table_check(struct cnr_table *t, u16 *room, u32 *rank)
{
	int err;

	*rank = t->members;
	if (!t->epoch || !t->members || t->members > CANARY_MEMBERS_MAX)
		return -EINVAL;
	for (*rank = 0; *rank < t->members; ++*rank) {
		err = cnr_table_peer(&t->peer[*rank]);
		if (err)
			return err;
		if (!cnr_table_place(t, room, *rank))
			return -ENOTUNIQ;
	}
	cnr_table_hash(t->peer, t->members * sizeof(*t->peer), t->digest);
	return 0;
}

/*
 * Make the salt of the key of greetings from everything that members were given. Return: the first
 * block
 */
static u32 cnr_table_settle(struct cnr_comm *c, const struct cnr_table *t)
{
	struct {
		u64	digest[2];
		u8	salt[CANARY_SALT];
		__be32	comm;
		__be32	epoch;
		__be16	members;
		__be16	length;
		__be16	window;
		u8	algorithm;
		u8	number;		/* cnr_algorithm_number() */
	} in = {
		.digest = { t->digest[0], t->digest[1] },
		.comm = cpu_to_be32(c->cfg.comm),
		.epoch = cpu_to_be32(t->epoch),
		.members = cpu_to_be16(c->cfg.members),
		.length = cpu_to_be16(c->length),
		.window = cpu_to_be16(c->window),
		.algorithm = c->algorithm,
		.number = cnr_algorithm_number(c),
	};
	u64 hash[2];

	memcpy(in.salt, t->salt, sizeof(in.salt));
	cnr_table_hash(&in, sizeof(in), hash);
	memcpy(c->salt, hash, sizeof(c->salt));
	if (c->cfg.fixed_first)
		return c->cfg.first_block;
	return (u32)cnr_siphash(cnr_table_label[0], hash, sizeof(hash));
}

static bool cnr_table_is_zero(const u8 bytes[16])
{
	static const u8 none[16];

	return !memcmp(bytes, none, sizeof(none));
}

int cnr_table_form(struct cnr_comm *c, u64 now, const struct cnr_table *t)
{
	const struct canary_peer own = { .addr = c->cfg.addr, .port = c->cfg.port };

	if (t->members != c->cfg.members)
		return -EINVAL;
	/* A launcher may count epochs from 1 again. A new salt makes macs of old greetings bad. */
	if (!cnr_table_is_zero(c->cfg.key) && cnr_table_is_zero(t->salt))
		return -ENOKEY;
	if (!canary_peer_equal(&t->peer[c->cfg.rank], &own))
		return -EADDRNOTAVAIL;
	cnr_run_settle(c, c->cfg.run);
	if (c->peer != t->peer)
		memcpy(c->peer, t->peer, t->members * sizeof(*t->peer));
	c->join.root = t->peer[0];
	c->epoch = t->epoch;
	c->first = cnr_table_settle(c, t);
	cnr_connected(c);
	cnr_greeting_begin(c, now, t->start_within);
	return 0;
}
