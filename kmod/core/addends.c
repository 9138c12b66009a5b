// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: members that contribute several vectors to one operation, as a host does for all
 * processes on it. Words of all of them are combined here, as a switch would do it. So results have
 * the same bits as if each vector had a member of its own. No state, no timers.
 */
#include "blocks.h"

#define CNR_GATHER	64	/* words that are copied at a time, as vectors may be anywhere */

/* Combine @bytes at @from with those at @to, whose words are elements. */
static void cnr_gather_one(u8 kind, u8 *to, const u8 *from, size_t bytes)
{
	u32 all[CNR_GATHER], one[CNR_GATHER];
	u32 some;

	for (; bytes; bytes -= some, to += some, from += some) {
		some = min_t(size_t, bytes, sizeof(all));
		all[(some - 1) / sizeof(*all)] = canary_kind_identity(kind);
		one[(some - 1) / sizeof(*one)] = canary_kind_identity(kind);
		memcpy(all, to, some);
		memcpy(one, from, some);
		cnr_combine(kind, all, all, one, (some + 3) & ~3U);
		memcpy(to, all, some);
	}
}

/* As cnr_gather(), with the encoding of @op */
bool cnr_addends_gather(const struct cnr_encoding *e, const struct cnr_op *op)
{
	u32 i;

	if (e->part || e->encode)
		return false;
	for (i = 0; i < op->mores; i++)
		cnr_gather_one(e->kind, op->data, op->more[i], (size_t)op->elements * e->element);
	return true;
}

/* May @op be posted, as far as its vectors are concerned? */
bool cnr_addends_fit(const struct cnr_comm *c, const struct cnr_encoding *e,
		     const struct cnr_op *op)
{
	if (!op->addends)
		return !op->mores;
	if (op->addends < c->cfg.members || op->addends - op->mores < c->cfg.members ||
	    c->cfg.members == 1 || !op->places)
		return false;
	return !op->mores || (op->more && e->encode);
}

/* Return: where words of one vector are made. It is the end of what is kept for the encoding. */
static u32 *cnr_addend_room(const struct cnr_comm *c, const struct cnr_operation *o)
{
	return (u32 *)((u8 *)o->op.memory + o->memory_own - cnr_addend_memory(c, &o->op));
}

/* Add the words of all further vectors to those at @words. */
void cnr_addends_encode(const struct cnr_comm *c, const struct cnr_operation *o,
			const struct cnr_part *p, u32 *words)
{
	struct cnr_operation one = *o;
	u32 i, *room = cnr_addend_room(c, o);

	for (i = 0; i < o->op.mores; i++) {
		one.op.source = o->op.more[i];
		one.op.places = o->op.places + i + 1;
		o->encoding->encode(c, &one, p, room);
		cnr_combine(p->kind, words, words, room, p->length);
	}
}
