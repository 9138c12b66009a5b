// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: results in memory that others may write to (cnr_op.hashes).
 *
 * What is right is told by the hash, made of memory that is the core's alone before anybody else
 * could write to it: the mac is made with that, not with what is read when it is sent. Who takes
 * the packet compares the data. The checksum would not do: it is the same for the same elements in
 * another order.
 */
#include "comm.h"
#include "message.h"

/* @data will be the result of @block, and nobody else can write to them yet. */
void cnr_result_note(struct cnr_comm *c, struct cnr_operation *o, u32 block, const u32 *data)
{
	if (o->op.hashes)
		o->op.hashes[block - o->base] = cnr_hash(c->data_key, data,
							 cnr_block_elements(c, o, block));
}

/* The next result to be sent is that of @block. */
void cnr_result_vouch(struct cnr_comm *c, const struct cnr_operation *o, u32 block)
{
	if (o->op.hashes)
		cnr_seal_by(c, block, o->op.hashes[block - o->base]);
}

/* Did somebody write to @data, the result of @block? Then nobody has it any more. */
bool cnr_result_changed(struct cnr_comm *c, const struct cnr_operation *o, u32 block,
			const u32 *data)
{
	return o->op.hashes && o->op.hashes[block - o->base] !=
			       cnr_hash(c->data_key, data, cnr_block_elements(c, o, block));
}
