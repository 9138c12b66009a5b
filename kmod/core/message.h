/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Layer 1, messages: what message.c does */
#ifndef CANARY_CORE_MESSAGE_H
#define CANARY_CORE_MESSAGE_H

#include "comm.h"

/* Does it have data of more than one member? Then no mac protects its header. */
static inline bool cnr_is_merged(const struct canary_hdr *h)
{
	return h->type == CANARY_CONTRIBUTION && !canary_is_single(h);
}

/* Is it a message with data? Then the header has their checksum. */
static inline bool cnr_has_data(const struct canary_hdr *h)
{
	return h->type == CANARY_CONTRIBUTION || h->type == CANARY_RESULT ||
	       h->type == CANARY_RING_SUM || h->type == CANARY_RING_RESULT;
}

/* Is it a message about a block that a ring runs? */
static inline bool cnr_is_of_ring(u8 type)
{
	return type >= CANARY_RING_SUM && type <= CANARY_RING_WAIT;
}

/* Do the data agree with their checksum? */
static inline bool cnr_sum_right(const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;

	return cnr_checksum(canary_kind(h), cnr_payload(in), canary_length(h)) ==
	       be32_to_cpu(h->contribution.sum);
}

/* Return: the checksum of the data of @out, for its header */
static inline u32 cnr_out_sum(const struct cnr_out *out)
{
	return cnr_checksum(canary_kind(&out->hdr), out->payload, out->len);
}

/* What the secrets of a communicator are for. Each label has one purpose. */
enum cnr_label {
	CNR_LABEL_JOIN		= 1,	/* nonce */
	CNR_LABEL_SALT		= 2,	/* two of them: 2 and 3 */
	CNR_LABEL_EPOCH		= 4,	/* and first block */
	CNR_LABEL_TRUST		= 5,	/* cnr_trust.key: 5 to 8 */
	CNR_LABEL_SESSION	= 9,
	CNR_LABEL_CHALLENGE	= 10,
	CNR_LABEL_GREETING	= 11,	/* nonce */
};

u64 cnr_secret(const struct cnr_comm *c, u32 label);
void cnr_derive_key(struct cnr_comm *c);
void cnr_derive_table_key(struct cnr_comm *c);
u64 cnr_tag(const struct cnr_comm *c, u16 rank, u32 block, u8 attempt, u32 opsig);
u64 cnr_shard_tag(const struct cnr_comm *c, u32 block, u8 attempt, u32 opsig, u8 shard, bool last);
u64 cnr_expected_tag(const struct cnr_comm *c, u32 block, u8 attempt, u32 opsig);
u32 cnr_opsig(const struct cnr_op *op, u32 seq, u8 algorithm);
u64 cnr_mac(const struct cnr_comm *c, const struct canary_hdr *h, const void *payload, __be16 port);
enum canary_drop cnr_check_mac(const struct cnr_comm *c, const struct cnr_in *in);
bool cnr_has_digest(const struct canary_hdr *h);
u32 cnr_digest_of(const struct canary_hdr *h);
u32 cnr_digest(const u8 key[16], const void *payload, u32 len);
const u8 *cnr_mac_key(const struct cnr_comm *c, const struct canary_hdr *h);
void cnr_header(struct cnr_comm *c, struct cnr_out *out, u8 type, u32 block);
void cnr_set_length(struct canary_hdr *h, u32 length);
void cnr_data(struct cnr_out *out, u8 kind, const u32 *words, u16 length);
void cnr_data_sum(const struct cnr_comm *c, struct cnr_out *out);
void cnr_seal(struct cnr_comm *c, struct cnr_out *out);
void cnr_to_rank(struct cnr_comm *c, struct cnr_out *out, u16 rank);
void cnr_seal_by(struct cnr_comm *c, u32 block, u64 hash);
bool cnr_sealed_by(const struct cnr_comm *c, u32 block, u64 *hash);

#endif /* CANARY_CORE_MESSAGE_H */
