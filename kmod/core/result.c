// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: results are made in the vector, and sent from there to members that ask. No
 * timers.
 *
 * Others may write to that memory (cnr_op.hashes). Then a hash tells what is right. It is made of
 * memory that only the core can write to, before anybody else could change the data. The mac is
 * made with that hash, not with what is read when the result is sent. So the receiver notices a
 * change when it compares the data. A checksum would not be enough: it stays the same if elements
 * change places.
 *
 * Results have words that nobody stores, such as what pads the elements. A member may contribute
 * anything there. So they are made what they are when the result is sent again.
 */
#include "blocks.h"
#include "message.h"

static u64 cnr_result_hash(struct cnr_comm *c, const struct cnr_operation *o, u32 block,
			   const u32 *words)
{
	struct cnr_part p;

	cnr_part(c, o, block, &p);
	return cnr_hash(c->data_key, words, p.result);
}

/*
 * Note the hash of @words. They will be the result of @block, and nobody else can write to them
 * yet.
 */
void cnr_result_note(struct cnr_comm *c, struct cnr_operation *o, u32 block, const u32 *words)
{
	if (o->op.hashes)
		o->op.hashes[block - o->base] = cnr_result_hash(c, o, block, words);
}

static void cnr_result_tidy(const struct cnr_comm *c, const struct cnr_operation *o,
			    const struct cnr_part *p, u32 *words)
{
	u32 pad, end = p->elements * o->element;

	if (o->plain) {
		pad = canary_kind_identity(p->kind);
		memcpy((u8 *)words + end, (u8 *)&pad + end % sizeof(pad), p->result - end);
	} else if (o->encoding->tidy) {
		o->encoding->tidy(c, o, p, words);
	} else if (end < p->result) {
		memset((u8 *)words + end, 0, p->result - end);
	}
}

/* Return: false if @words, a result, are none that a leader makes */
bool cnr_result_is_tidy(struct cnr_comm *c, const struct cnr_operation *o, const struct cnr_part *p,
			const u32 *words)
{
	u32 *tidy = (u32 *)c->scratch;

	if (cnr_part_plain(o, p))
		return true;
	memcpy(tidy, words, p->result);
	cnr_result_tidy(c, o, p, tidy);
	return !memcmp(tidy, words, p->result);
}

/* The result of @p was made where it is kept. It goes where it is wanted, too. */
static void cnr_result_show(const struct cnr_operation *o, const struct cnr_part *p)
{
	if (o->op.target)
		memcpy(cnr_target(o, p), cnr_vector(o, p, CNR_USE_SERVE),
		       p->elements * o->element);
}

/*
 * Make the result of @p, a part of @block, in one pass, if its encoding can. It goes into the
 * vector at once if nobody else can write to that. Its hash is made while the words are at hand, as
 * it is usually the next result to be sent. Return: false: nothing was done
 */
static bool cnr_result_total(struct cnr_comm *c, struct cnr_operation *o, u32 block,
			     const struct cnr_part *p, const u32 *others, u32 *room, u32 *sum)
{
	const struct cnr_encoding *e = o->encoding;
	bool in_place = !o->op.hashes && !o->op.at;
	u32 *to = room;

	if (o->plain || !e->total || o->op.mores)
		return false;
	if (in_place)
		to = cnr_vector(o, p, CNR_USE_BOTH);
	if (!e->total(c, o, p, to, others, sum))
		return false;
	if (!in_place) {
		cnr_result_note(c, o, block, room);
		cnr_store(c, o, p, room);
	} else {
		cnr_seal_by(c, block, cnr_hash(c->data_key, to, p->result));
		cnr_result_show(o, p);
	}
	return true;
}

/* The same step by step. Return: the checksum of the result */
static u32 cnr_result_words(struct cnr_comm *c, struct cnr_operation *o, u32 block,
			    const struct cnr_part *p, const u32 *others, u32 *room)
{
	u32 sum = cnr_combine(p->kind, room, cnr_words(c, o, p), others, p->length);

	if (!o->plain && o->encoding->finish)
		o->encoding->finish(c, o, p, room);
	if (!cnr_part_plain(o, p)) {
		cnr_result_tidy(c, o, p, room);
		sum = cnr_checksum(p->kind, room, p->result);
	}
	cnr_result_note(c, o, block, room);
	cnr_store(c, o, p, room);
	return sum;
}

/*
 * Make the result of @block: combine @others, which all others have contributed, with our own
 * words. @room is for words, and may be @others; nobody else can write to it. Return: the checksum
 * of the result
 */
u32 cnr_result_make(struct cnr_comm *c, struct cnr_operation *o, u32 block, const u32 *others,
		    u32 *room)
{
	const u32 *own;
	struct cnr_part p;
	u32 *data, sum;
	bool held;

	cnr_part(c, o, block, &p);
	p.led = true;
	if (!o->op.hashes && cnr_part_plain(o, &p)) {
		data = cnr_vector(o, &p, CNR_USE_BOTH);
		own = o->op.source ? cnr_vector_source(o, &p) : data;
		sum = cnr_combine(p.kind, data, own, others, p.length);
		cnr_result_show(o, &p);
		return sum;
	}
	held = cnr_vector_hold(p.length / sizeof(u32));
	if (!cnr_result_total(c, o, block, &p, others, room, &sum))
		sum = cnr_result_words(c, o, block, &p, others, room);
	if (held)
		cnr_vector_release();
	return sum;
}

/* Make the result of @block of our own words: nobody else contributes. */
void cnr_result_own(struct cnr_comm *c, struct cnr_operation *o, u32 block)
{
	u32 *room = (u32 *)c->scratch;	/* nobody else can write to it */
	struct cnr_part p;
	const u32 *own;

	cnr_part(c, o, block, &p);
	p.led = true;
	own = cnr_words(c, o, &p);
	if (own != room)
		memcpy(room, own, p.length);
	if (!o->plain && o->encoding->finish)
		o->encoding->finish(c, o, &p, room);
	cnr_result_tidy(c, o, &p, room);
	cnr_result_note(c, o, block, room);
	cnr_store(c, o, &p, room);
}

/* Did somebody write to @words, the result of @block? Then the result is lost. */
bool cnr_result_changed(struct cnr_comm *c, const struct cnr_operation *o, u32 block,
			const u32 *words)
{
	return o->op.hashes &&
	       o->op.hashes[block - o->base] != cnr_result_hash(c, o, block, words);
}

/*
 * Return: which of the 32 blocks that were led before @block are finished. The lowest bit is the
 * latest.
 */
static u32 cnr_finished_bits(struct cnr_comm *c, const struct cnr_operation *o, u32 block)
{
	u32 all = canary_before(c->led, c->una) ? c->una : c->led;
	u32 i, bits = 0;

	for (i = 0; i < 32; i++) {
		block = cnr_led_before(c, o, block);
		/* The turns skip where serial numbers wrap. Other shapes have other leaders. */
		if (cnr_leader(c, block) != c->cfg.rank)
			break;
		if (canary_before(block, all))
			return bits | ~0U << i;
		if (canary_before(block, c->next) && cnr_block(c, block)->state == CNR_B_DONE)
			bits |= 1U << i;
	}
	return bits;
}

/* The next result to be sent is that of @block: seal it with its noted hash. */
static void cnr_result_vouch(struct cnr_comm *c, const struct cnr_operation *o, u32 block)
{
	if (o->op.hashes)
		cnr_seal_by(c, block, o->op.hashes[block - o->base]);
}

/* Make the packet with the result of @block, which is finished. Return: false if it is not kept */
bool cnr_result_build(struct cnr_comm *c, u32 block, u8 attempt, struct cnr_out *out)
{
	struct cnr_operation *o = cnr_find_op(c, block);
	struct canary_hdr *h = &out->hdr;
	struct cnr_part p;

	if (!o)
		return false;
	cnr_part(c, o, block, &p);
	cnr_header(c, out, CANARY_RESULT, block);
	h->attempt = attempt;
	h->opsig = cpu_to_be32(o->opsig);
	h->flags = CANARY_F_LAST;
	cnr_data(out, p.kind, cnr_serve(c, o, &p), p.result);
	h->result.load = c->load;
	h->result.finished = cpu_to_be32(cnr_finished_bits(c, o, block));
	h->result.acked = cpu_to_be32(c->all_done);
	cnr_result_vouch(c, o, block);
	return true;
}
