// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: results, from the vector, to whoever asks. No timers.
 *
 * Others may write to that memory (cnr_op.hashes). What is right is told by the hash, made of
 * memory that is the core's alone before anybody else could write to it: the mac is made with that,
 * not with what is read when it is sent. Who takes the packet compares the data. The checksum would
 * not do: it is the same for the same elements in another order.
 */
#include "blocks.h"
#include "message.h"

/* @data will be the result of @block, and nobody else can write to them yet. */
void cnr_result_note(struct cnr_comm *c, struct cnr_operation *o, u32 block, const u32 *data)
{
	if (o->op.hashes)
		o->op.hashes[block - o->base] = cnr_hash(c->data_key, data,
							 cnr_block_elements(c, o, block));
}

/* Did somebody write to @data, the result of @block? Then nobody has it any more. */
bool cnr_result_changed(struct cnr_comm *c, const struct cnr_operation *o, u32 block,
			const u32 *data)
{
	return o->op.hashes && o->op.hashes[block - o->base] !=
			       cnr_hash(c->data_key, data, cnr_block_elements(c, o, block));
}

/* Which of the 32 blocks that were led before @block are finished? The latest: the lowest bit. */
static u32 cnr_finished_bits(struct cnr_comm *c, u32 block)
{
	u32 all = canary_before(c->led, c->una) ? c->una : c->led;
	u32 i, bits = 0;

	for (i = 0; i < 32; i++) {
		block -= c->cfg.members;
		/* Where serials wrap, the rotation skips. */
		if (cnr_leader(c, block) != c->cfg.rank)
			break;
		if (canary_before(block, all))
			return bits | ~0U << i;
		if (canary_before(block, c->next) && cnr_block(c, block)->state == CNR_B_DONE)
			bits |= 1U << i;
	}
	return bits;
}

/* The next result to be sent is that of @block. */
static void cnr_result_vouch(struct cnr_comm *c, const struct cnr_operation *o, u32 block)
{
	if (o->op.hashes)
		cnr_seal_by(c, block, o->op.hashes[block - o->base]);
}

/* The result of a finished block, from the vector. Return: false if it is not kept any more. */
bool cnr_result_build(struct cnr_comm *c, u32 block, u8 attempt, struct cnr_out *out)
{
	struct cnr_operation *o = cnr_find_op(c, block);
	struct canary_hdr *h = &out->hdr;
	u16 elements;
	u32 *data;

	if (!o)
		return false;
	data = cnr_block_data(c, o, block, &elements, CNR_USE_SERVE);
	cnr_header(c, out, CANARY_RESULT, block);
	h->attempt = attempt;
	h->opsig = cpu_to_be32(o->opsig);
	h->result.count = h->members;
	h->result.op = o->op.op;
	h->result.dtype = o->op.dtype;
	h->result.elements = cpu_to_be16(elements);
	h->result.load = c->load;
	h->result.finished = cpu_to_be32(cnr_finished_bits(c, block));
	h->result.acked = cpu_to_be32(c->all_done);
	out->payload = data;
	out->len = elements * sizeof(*data);
	cnr_result_vouch(c, o, block);
	return true;
}
