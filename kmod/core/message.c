// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 1, messages: headers, and the keyed hashes in them: session key, tags, operation signature,
 * mac. PROTOCOL.md, "Keys, tags, sums". No states, no timers.
 */
#include "message.h"

/*
 * Return: a secret of this communicator, another one for each @label (enum cnr_label). Nonces, the
 * epoch and places in tables come from them.
 */
u64 cnr_secret(const struct cnr_comm *c, u32 label)
{
	struct {
		u8	seed[32];
		__be32	label;
		__be32	comm;
	} in;

	memcpy(in.seed, c->cfg.seed, sizeof(in.seed));
	in.label = cpu_to_be32(label);
	in.comm = cpu_to_be32(c->cfg.comm);
	return cnr_siphash(c->cfg.seed, &in, sizeof(in));
}

/*
 * Derive 16 bytes that depend on everything that makes a session. No other key uses @label or
 * @label + 1.
 */
static void cnr_derive(const struct cnr_comm *c, u32 label, u8 key[16])
{
	struct {
		u8	salt[16];
		__be32	epoch;
		__be32	label;
	} in;
	u64 half;
	u32 i;

	memcpy(in.salt, c->salt, sizeof(in.salt));
	in.epoch = cpu_to_be32(c->epoch);
	for (i = 0; i < 2; i++) {
		in.label = cpu_to_be32(label + i);
		half = cnr_siphash(c->cfg.key, &in, sizeof(in));
		memcpy(key + 8 * i, &half, sizeof(half));
	}
}

void cnr_derive_key(struct cnr_comm *c)
{
	u8 key[16];
	__be32 in;
	u64 words;
	u32 i;

	cnr_derive(c, 1, c->key);
	cnr_derive(c, 3, key);
	for (i = 0; i < CNR_DATA_KEY; i += 2) {
		in = cpu_to_be32(i / 2);
		words = cnr_siphash(key, &in, sizeof(in));
		memcpy(&c->data_key[i], &words, sizeof(words));
	}
}

/* The key of greetings, before the session of a table is known */
void cnr_derive_table_key(struct cnr_comm *c)
{
	cnr_derive(c, 5, c->formed.key);
}

/* A tag is the hash of this. */
struct cnr_tag_of {
	__be32	epoch;
	__be32	block;
	__be32	opsig;
	u8	attempt;
	u8	shard;		/* number + 1 of a shard that is not the last one, else 0 */
	__be16	rank;
};

static void cnr_tag_of(struct cnr_tag_of *in, const struct cnr_comm *c, u16 rank, u32 block,
		       u8 attempt, u32 opsig)
{
	in->epoch = cpu_to_be32(c->epoch);
	in->block = cpu_to_be32(block);
	in->opsig = cpu_to_be32(opsig);
	in->attempt = attempt;
	in->shard = 0;
	in->rank = cpu_to_be16(rank);
}

u64 cnr_tag(const struct cnr_comm *c, u16 rank, u32 block, u8 attempt, u32 opsig)
{
	struct cnr_tag_of in;

	cnr_tag_of(&in, c, rank, block, attempt, opsig);
	return cnr_siphash(c->key, &in, sizeof(in));
}

/*
 * Return: the tag of our own shard @shard. The tags of all shards of a member add up to cnr_tag(),
 * however many they are. So that of the only one is cnr_tag() itself.
 */
u64 cnr_shard_tag(const struct cnr_comm *c, u32 block, u8 attempt, u32 opsig, u8 shard, bool last)
{
	struct cnr_tag_of in;
	u64 tag, before = 0;

	cnr_tag_of(&in, c, c->cfg.rank, block, attempt, opsig);
	if (!last) {
		in.shard = shard + 1;
		return cnr_siphash(c->key, &in, sizeof(in));
	}
	tag = cnr_siphash(c->key, &in, sizeof(in));
	for (; shard; shard--) {
		in.shard = shard;
		before += cnr_siphash(c->key, &in, sizeof(in));
	}
	return tag - before;
}

/* Return: the sum of the tags of all ranks but our own, which a complete block must have */
u64 cnr_expected_tag(const struct cnr_comm *c, u32 block, u8 attempt, u32 opsig)
{
	u16 own = c->cfg.rank;
	struct cnr_tag_of in;

	cnr_tag_of(&in, c, 0, block, attempt, opsig);
	return cnr_siphash_numbered(c->key, &in, 0, own) +
	       cnr_siphash_numbered(c->key, &in, own + 1, c->cfg.members);
}

/* Return: what the number of vectors adds to the signature; 0 where each member has one */
static u32 cnr_addends_sig(const struct cnr_op *op)
{
	static const u8 no_key[16];
	__be64 addends = cpu_to_be64(op->addends);

	return op->addends ? (u32)cnr_siphash(no_key, &addends, sizeof(addends)) : 0;
}

u32 cnr_opsig(const struct cnr_op *op, u32 seq, u8 algorithm)
{
	static const u8 no_key[16];
	struct {
		__be32	seq;
		__be32	elements;
		__be16	shape;
		__be16	root;
		u8	op;
		u8	dtype;
		u8	algorithm;
		u8	how;
	} in = {
		.seq = cpu_to_be32(seq),
		.elements = cpu_to_be32(op->elements),
		.shape = cpu_to_be16(op->shape),
		.root = cpu_to_be16(op->root),
		.op = op->op,
		.dtype = op->dtype,
		.algorithm = algorithm,
		.how = op->how,
	};
	u32 sig = (u32)cnr_siphash(no_key, &in, sizeof(in)) ^ cnr_addends_sig(op);

	return sig ? sig : 1;
}

/*
 * Return: the key of the mac. There is no session key yet during rendezvous, so the pre-shared key
 * is used; likewise what is known from a table.
 */
const u8 *cnr_mac_key(const struct cnr_comm *c, const struct canary_hdr *h)
{
	switch (h->type) {
	case CANARY_JOIN:
	case CANARY_COOKIE:
	case CANARY_WELCOME:
	case CANARY_REFUSED:
		return c->cfg.key;
	case CANARY_GREETING:
		return c->formed.key;
	default:
		return c->key;
	}
}

/* Words of a header, and bits in them (platform.h makes sure that memory is little-endian) */
#define CNR_HDR_WORDS		(sizeof(struct canary_hdr) / sizeof(u64))
#define CNR_BITS_AT(member)	(8 * (offsetof(struct canary_hdr, member) % sizeof(u64)))
#define CNR_CLEAR(word, member, mask)	\
	((word)[offsetof(struct canary_hdr, member) / sizeof(u64)] &=	\
	 ~((u64)(mask) << CNR_BITS_AT(member)))

/*
 * The mac does not cover what a switch may set on a packet that it did not merge. @hash, that of
 * the data, stands where the mac will be. The header is copied word by word: a processor stalls if
 * it reads memory in larger pieces than it was just written in.
 */
static u64 cnr_mac_with(const struct cnr_comm *c, const struct canary_hdr *h, u64 hash)
{
	__be64 of_data = cpu_to_be64(hash);
	u64 in[CNR_HDR_WORDS];

	memcpy(in, h, sizeof(*h));
	memcpy(&in[offsetof(struct canary_hdr, mac) / sizeof(u64)], &of_data, sizeof(of_data));
	if (h->type == CANARY_CONTRIBUTION || h->type == CANARY_RESULT) {
		CNR_CLEAR(in, flags, CANARY_F_BYPASS);
		CNR_CLEAR(in, contribution.load, 0xff);
		CNR_CLEAR(in, contribution.switch_id, 0xffffffff);
	}
	if (h->type == CANARY_CONTRIBUTION)
		CNR_CLEAR(in, contribution.cookie, 0xffffffff);
	else if (h->type == CANARY_RESULT)
		CNR_CLEAR(in, result.waited, 0xff);
	return cnr_siphash(cnr_mac_key(c, h), in, sizeof(in));
}

/*
 * @payload: of messages with data; @port: destination of the packet, which the mac of a cookie
 *		covers
 */
u64 cnr_mac(const struct cnr_comm *c, const struct canary_hdr *h, const void *payload, __be16 port)
{
	u64 hash = 0;

	if (cnr_has_data(h))
		hash = cnr_hash(c->data_key, payload, canary_length(h));
	else if (h->type == CANARY_COOKIE)
		hash = be16_to_cpu(port);
	return cnr_mac_with(c, h, hash);
}

/* The mac is wrong. Return: whether the data were damaged on the way, or no member sent this */
static enum canary_drop cnr_forged(const struct cnr_in *in)
{
	if (cnr_has_data(in->hdr) && !cnr_sum_right(in))
		return CANARY_DROP_SUM;
	return CANARY_DROP_MAC;
}

/*
 * Look at the mac of @in, which is no aggregate. The mac proves the sender. The checksum of results
 * and partial sums proves that the data did not change in the sender's memory: they may be older
 * than the mac. Return: CANARY_DROP_NONE, or the reason to drop
 */
enum canary_drop cnr_check_mac(const struct cnr_comm *c, const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;
	u32 sum = be32_to_cpu(h->contribution.sum), found = sum;
	u64 mac;

	if (!cnr_has_data(h) || h->type == CANARY_CONTRIBUTION)
		mac = cnr_mac(c, h, cnr_payload(in), c->cfg.port);
	else
		mac = cnr_mac_with(c, h, cnr_hash_sum(canary_kind(h), c->data_key, cnr_payload(in),
						      canary_length(h), &found));
	if (be64_to_cpu(h->mac) != mac)
		return cnr_forged(in);
	return found == sum ? CANARY_DROP_NONE : CANARY_DROP_SUM;
}

/*
 * cnr_mac() for a result that is sent. Several children get it one after the other, so the hash of
 * its data is kept. The result of a block never changes.
 */
static u64 cnr_result_mac(struct cnr_comm *c, const struct cnr_out *out)
{
	const struct canary_hdr *h = &out->hdr;

	if (!c->hash_known || c->hash_block != h->block) {
		c->hash = cnr_hash(c->data_key, out->payload, canary_length(h));
		c->hash_block = h->block;
		c->hash_known = true;
	}
	return cnr_mac_with(c, h, c->hash);
}

/*
 * The next result to be sealed is that of @block. Its mac uses @hash, whatever its data are by
 * then.
 */
void cnr_seal_by(struct cnr_comm *c, u32 block, u64 hash)
{
	c->hash = hash;
	c->hash_block = cpu_to_be32(block);
	c->hash_known = true;
}

/* Did cnr_seal_by() say what the hash of @block is? It is forgotten with the next result. */
bool cnr_sealed_by(const struct cnr_comm *c, u32 block, u64 *hash)
{
	*hash = c->hash;
	return c->hash_known && c->hash_block == cpu_to_be32(block);
}

/*
 * Does @h have a payload that is not data? The header then has a digest of it, which the mac
 * covers.
 */
bool cnr_has_digest(const struct canary_hdr *h)
{
	return h->type == CANARY_JOIN || h->type == CANARY_WELCOME || h->type == CANARY_ABORT;
}

/* The digest is at the same place in all these messages. */
u32 cnr_digest_of(const struct canary_hdr *h)
{
	return be32_to_cpu(h->join.digest);
}

static void cnr_set_digest(struct canary_hdr *h, u32 digest)
{
	h->join.digest = cpu_to_be32(digest);
}

u32 cnr_digest(const u8 key[16], const void *payload, u32 len)
{
	return (u32)cnr_siphash(key, payload, len);
}

void cnr_header(struct cnr_comm *c, struct cnr_out *out, u8 type, u32 block)
{
	struct canary_hdr *h = &out->hdr;

	memset(out, 0, sizeof(*out));
	h->version = CANARY_VERSION;
	h->type = type;
	h->comm = cpu_to_be32(c->cfg.comm);
	h->epoch = cpu_to_be32(c->epoch);
	h->block = cpu_to_be32(block);
	h->members = cpu_to_be16(c->cfg.members);
	h->rank = cpu_to_be16(c->cfg.rank);
}

/* @length: bytes of data, or that a path takes; a multiple of 4 */
void cnr_set_length(struct canary_hdr *h, u32 length)
{
	h->contribution.length = cpu_to_be16(length);
}

/* The payload of @out is @words. */
void cnr_data(struct cnr_out *out, u8 kind, const u32 *words, u16 length)
{
	out->hdr.contribution.kind = kind;
	cnr_set_length(&out->hdr, length);
	out->payload = words;
	out->len = length;
}

/* Set the checksum of the data of @out. Their hash, for the mac, is made in the same pass. */
void cnr_data_sum(const struct cnr_comm *c, struct cnr_out *out)
{
	u64 hash;
	u32 sum;

	hash = cnr_hash_sum(canary_kind(&out->hdr), c->data_key, out->payload, out->len, &sum);
	out->hdr.contribution.sum = cpu_to_be32(sum);
	out->hdr.mac = cpu_to_be64(hash);
	out->hashed = true;
}

/* The header is complete: add digest and mac, and count the bytes. */
void cnr_seal(struct cnr_comm *c, struct cnr_out *out)
{
	const u8 *key = cnr_mac_key(c, &out->hdr);

	if (cnr_has_digest(&out->hdr))
		cnr_set_digest(&out->hdr, cnr_digest(key, out->payload, out->len));
	if (out->hdr.type == CANARY_RESULT || out->hdr.type == CANARY_RING_RESULT)
		out->hdr.mac = cpu_to_be64(cnr_result_mac(c, out));
	else if (out->hashed)
		out->hdr.mac = cpu_to_be64(cnr_mac_with(c, &out->hdr, be64_to_cpu(out->hdr.mac)));
	else
		out->hdr.mac = cpu_to_be64(cnr_mac(c, &out->hdr, out->payload, out->port));
	c->stats.counter[CNR_C_bytes_out] += sizeof(out->hdr) + out->len;
}

/* Address @out to @rank. Its header is complete except for what cnr_seal() adds. */
void cnr_to_rank(struct cnr_comm *c, struct cnr_out *out, u16 rank)
{
	if (canary_has_to(&out->hdr))
		out->hdr.request.to = cpu_to_be16(rank);
	out->addr = c->peer[rank].addr;
	out->port = c->peer[rank].port;
}
