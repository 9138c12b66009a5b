/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: operations (op.c), who does what in them (shape.c), their blocks (block.c),
 * their words (encoding.c), results (result.c), round trips and how much may be in flight
 * (window.c), who runs something else (differs.c).
 */
#ifndef CANARY_CORE_BLOCKS_H
#define CANARY_CORE_BLOCKS_H

#include "comm.h"

#define CNR_OPS_BEGUN		32	/* none of the operation that many later is begun before */
#define CNR_CWND_FIRST		64	/* blocks in flight, before anything is known */
#define CNR_PATH_TRIES		64	/* questions without the answer until a path is at fault */
#define CNR_WAIT_MAX		(250 * CNR_MSEC) /* longest time until something is asked again */
#define CNR_RTO_MAX		(400 * CNR_MSEC)

/* cnr_block.state */
enum cnr_block_state {
	CNR_B_IDLE,		/* not contributed yet; may already have a lead slot */
	CNR_B_SENT,		/* contributed (or led, with own data), and not done: cnr_shape */
	CNR_B_DONE,		/* nothing of it is needed here, but something of an earlier one */
};

/* cnr_block.flags */
#define CNR_B_QUEUED		0x01	/* on the transmit queue */
#define CNR_B_BYPASS		0x02	/* contribute with CANARY_F_BYPASS */
#define CNR_B_AGAIN		0x04	/* asked for or contributed again: no round trip sample */
#define CNR_B_PARTIAL		0x08	/* ring: the partial sum with own data is in the vector */
#define CNR_B_EARLY		0x10	/* ring: a partial sum came before it was posted */
#define CNR_B_LOST		0x20	/* the leader has sent the result */
#define CNR_B_AROUND		0x40	/* around switches from the start, see tree_around.c */

/* Some of the members, as a block has them */
enum cnr_who {
	CNR_NOBODY,
	CNR_LEADER,
	CNR_ALL,
};

/*
 * struct cnr_roles - who does what in a block
 * @leader:	what is contributed goes to this rank, which finishes the block
 * @contribute:	enum cnr_who, whose data are in the result
 * @receive:	enum cnr_who, who gets the result. Others of those that contribute are done with the
 *		block when the leader has what they contributed
 */
struct cnr_roles {
	u16	leader;
	u8	contribute;
	u8	receive;
};

/*
 * struct cnr_block - a block between una and next + window, by serial & block_mask
 * @lead:	index of the lead slot, CNR_NONE if not led here or nothing came yet
 * @op:		index of the operation, valid once contributed
 * @roles:	as its shape says, valid once contributed
 * @silent:	REQUESTs that nothing came back for
 * @again:	how often the contribution was asked for again in this attempt, 255 at most
 * @sent_at:	time of the first contribution
 * @asked_at:	time of the first REQUEST of @silent
 * @asked_from:	answers to questions after this one are news, see cnr_is_answer(); if @silent,
 *		or in a ring
 * @tag, @done, @sum, @load: ring: of the partial sum
 */
struct cnr_block {
	u8	state;
	u8	attempt;
	u8	flags;
	u8	tries;
	u16	lead;
	u16	op;
	struct cnr_roles roles;
	u8	silent;
	u8	again;
	u8	load;
	u64	sent_at;
	u64	asked_at;
	u64	deadline;
	u64	tag;
	u32	asked_from;
	u32	done;
	u32	sum;
};

/*
 * struct cnr_part - a block of an operation, as its encoding cuts it
 * @index:	of the operation's blocks
 * @first, @elements: those of the vector that it is about
 * @after:	so many of the operation's blocks, the first ones, must have results before its
 *		words can be made
 * @length:	bytes of each contribution: a multiple of 4 and of the kind's lanes
 * @result:	bytes of its result, a multiple of 4, not more than @length
 * @kind:	enum canary_kind
 */
struct cnr_part {
	u32	index;
	u32	first;
	u32	after;
	u16	elements;
	u16	length;
	u16	result;
	u8	kind;
};

/*
 * struct cnr_encoding - how a type is reduced by an operator: elements of a vector become words on
 * the wire, and words become elements. Without functions, words are the elements, and results have
 * the place and the size of contributions. Otherwise all are there, but @memory and @finish.
 * @op:		enum canary_operator
 * @dtype:	enum canary_dtype
 * @kind:	enum canary_kind, of all blocks, without functions
 * @element:	bytes of an element in a vector
 * @memory:	bytes of cnr_op.memory that it wants: what it has to keep for later blocks, and for
 *		what is sent again. They are 0 at first
 * @blocks:	how many, with payloads of up to cnr_comm.length bytes
 * @part:	what block cnr_part.index is
 * @encode:	makes the words of our own contribution: the same ones when it is sent again
 * @finish:	at the leader: what all have contributed becomes what the result carries, in place
 * @store:	a result is here
 * @serve:	the words of a result that was stored: the very same ones
 */
struct cnr_encoding {
	u8	op;
	u8	dtype;
	u8	kind;
	u8	element;
	size_t	(*memory)(const struct cnr_comm *c, const struct cnr_op *op);
	u32	(*blocks)(const struct cnr_comm *c, const struct cnr_op *op);
	void	(*part)(const struct cnr_comm *c, const struct cnr_operation *o,
			struct cnr_part *p);
	void	(*encode)(const struct cnr_comm *c, const struct cnr_operation *o,
			  const struct cnr_part *p, u32 *words);
	void	(*finish)(const struct cnr_comm *c, const struct cnr_operation *o,
			  const struct cnr_part *p, u32 *words);
	void	(*store)(const struct cnr_comm *c, const struct cnr_operation *o,
			 const struct cnr_part *p, const u32 *words);
	void	(*serve)(const struct cnr_comm *c, const struct cnr_operation *o,
			 const struct cnr_part *p, u32 *words);
};

/*
 * struct cnr_shape - who contributes to an operation and who gets the result: what an allreduce and
 * a reduce differ in
 * @shape:	enum canary_shape
 * @rooted:	cnr_op.root is a rank of it; else that is 0
 * @turns:	its blocks are led by one rank after the other; else one rank leads all
 * @rings:	a ring can do it: that presumes leaders that take turns, and that all contribute to
 *		all blocks and get all results
 * @kept:	others ask for results again. So it is kept until nobody needs anything of it; else
 *		it is forgotten when it is complete here
 * @roles:	of @block. It is done at the leader when all that is contributed is there; at others
 *		that get the result, when that is there; at the rest, when the leader has said that
 *		what they contributed was taken (tree_taken.c)
 */
struct cnr_shape {
	u8	shape;
	bool	rooted;
	bool	turns;
	bool	rings;
	bool	kept;
	void	(*roles)(const struct cnr_comm *c, const struct cnr_operation *o, u32 block,
			 struct cnr_roles *r);
};

/*
 * struct cnr_algorithm - a collective: how a block is summed up, as layers around see it. What is
 * NULL is nothing to it.
 * @collective: its place in cnr_comm.collectives
 * @algorithm:	enum canary_algorithm, that its packets show
 * @follows:	a block may be begun beyond the window, as others are there already
 * @begin:	the epoch begins
 * @wanted:	it is going to run an operation
 * @ready:	may its blocks begin?
 * @in_flight:	how many of them may be without result; NULL: as the network is trusted with
 * @start:	a block was posted here, and its turn has come
 * @yield:	another one begins a block: forget what came for it
 * @timer:	of a block that was begun and has no result; *@budget REQUESTs may be sent
 * @done:	a block is done here, whoever ran it
 * @earliest:	no earlier block lacks its result now; @asked: that one had been asked for
 * @expects:	is a contribution of one member to be taken here?
 * @input:	a message about a block
 * @alive:	ALIVE, from who has contributed @more than was known
 * @timers:	of what is held for others
 * @news:	with its bit in cnr_comm.news: is all to be told something, before what others say?
 * @answer:	with its bit in cnr_comm.answers: the next packet that others wait for. The bit goes
 *		if there is none. Return: false then
 * @contribute:	with its bit in cnr_comm.contributes: likewise, our own next contribution
 * @work:	a slice of what takes long (cnr_work()). Return: false if there is nothing
 * @drop:	it is over: nothing is held for others, or waits to be sent
 */
struct cnr_algorithm {
	u8	collective;
	u8	algorithm;
	bool	follows;
	void	(*begin)(struct cnr_comm *c);
	void	(*wanted)(struct cnr_comm *c);
	bool	(*ready)(const struct cnr_comm *c);
	u32	(*in_flight)(const struct cnr_comm *c);
	void	(*start)(struct cnr_comm *c, u64 now, u32 block);
	void	(*yield)(struct cnr_comm *c, u32 block);
	void	(*timer)(struct cnr_comm *c, u64 now, u32 block, u32 *budget);
	void	(*done)(struct cnr_comm *c, u64 now, const struct cnr_block *b);
	void	(*earliest)(struct cnr_comm *c, u64 now, struct cnr_block *b, bool asked);
	bool	(*expects)(struct cnr_comm *c, const struct canary_hdr *h);
	enum canary_drop (*input)(struct cnr_comm *c, u64 now, const struct cnr_in *in);
	void	(*alive)(struct cnr_comm *c, u64 now, const struct canary_hdr *h, bool more);
	void	(*timers)(struct cnr_comm *c, u64 now);
	void	(*news)(struct cnr_comm *c);
	bool	(*answer)(struct cnr_comm *c, u64 now, struct cnr_out *out);
	bool	(*contribute)(struct cnr_comm *c, u64 now, struct cnr_out *out);
	bool	(*work)(struct cnr_comm *c, u64 now);
	void	(*drop)(struct cnr_comm *c);
};

static inline struct cnr_block *cnr_block(const struct cnr_comm *c, u32 block)
{
	return &c->block[block & c->block_mask];
}

/* Is @block one that this member may hold state for? */
static inline bool cnr_in_window(const struct cnr_comm *c, u32 block)
{
	return block - c->una < min_t(u32, c->next - c->una + c->window, c->block_mask + 1);
}

/* Has this member begun @block, and still lacks its result or that of an earlier one? */
static inline bool cnr_in_flight(const struct cnr_comm *c, u32 block)
{
	return block - c->una < c->next - c->una;
}

/* Was it begun here, and has not gone? So cnr_block.op and .roles are valid. */
static inline bool cnr_is_begun(const struct cnr_comm *c, u32 block)
{
	return cnr_in_flight(c, block) && cnr_block(c, block)->state != CNR_B_IDLE;
}

/* Who runs @block? NULL: it was not begun here, or has gone. */
static inline const struct cnr_algorithm *cnr_block_run(struct cnr_comm *c, u32 block)
{
	return cnr_is_begun(c, block) ? c->ops[cnr_block(c, block)->op].run : NULL;
}

/* That of enum canary_algorithm */
static inline const struct cnr_algorithm *cnr_algorithm(struct cnr_comm *c, u8 algorithm)
{
	return c->collectives[algorithm == CANARY_ALG_RING ? CNR_RING : CNR_TREE];
}

/* shape.c: who does what in a block */
bool cnr_shapes_known(const struct cnr_config *cfg);
bool cnr_shapes_turn(const struct cnr_config *cfg);
bool cnr_shapes_kept(const struct cnr_config *cfg);
u32 cnr_shapes_leads(const struct cnr_config *cfg, u32 window);
const struct cnr_shape *cnr_shape_of(const struct cnr_comm *c, const struct cnr_op *op);
u32 cnr_stride(const struct cnr_comm *c, const struct cnr_operation *o);
bool cnr_op_asked_for(const struct cnr_comm *c, const struct cnr_operation *o);
u32 cnr_led_number(const struct cnr_comm *c, u32 block);

static inline void cnr_roles(const struct cnr_comm *c, const struct cnr_operation *o, u32 block,
			     struct cnr_roles *r)
{
	o->shape->roles(c, o, block, r);
}

/* Whose turn is it to lead @block? Where serials wrap, that skips. */
static inline u16 cnr_turn(const struct cnr_comm *c, u32 block)
{
	return block % c->cfg.members;
}

u16 cnr_leader_found(struct cnr_comm *c, u32 block);	/* block.c */

/*
 * Who leads @block? It may be long done here, or not posted. Then it is not known, unless leaders
 * take turns in all operations that there will be. Return: CNR_NONE if it is not.
 */
static inline u16 cnr_leader(struct cnr_comm *c, u32 block)
{
	return c->turns ? cnr_turn(c, block) : cnr_leader_found(c, block);
}

/* Does @rank lead @block, as far as is known here? Who it is need not be known yet. */
static inline bool cnr_may_lead(struct cnr_comm *c, u32 block, u16 rank)
{
	u16 leader = cnr_leader(c, block);

	return leader == rank || leader == CNR_NONE;
}

/* How many others contribute to a block that is led here? Without @r: how many could? */
static inline u16 cnr_contributors(const struct cnr_comm *c, const struct cnr_roles *r)
{
	return !r || r->contribute == CNR_ALL ? c->cfg.members - 1 : 0;
}

/* Does nobody but the leader get a result? */
static inline bool cnr_is_silent(const struct cnr_roles *r)
{
	return r->receive != CNR_ALL;
}

/* encoding.c: elements and words */
const struct cnr_encoding *cnr_encoding(u8 op, u8 dtype);
u32 cnr_blocks(const struct cnr_comm *c, const struct cnr_encoding *e, const struct cnr_op *op);
void cnr_encoding_begin(const struct cnr_comm *c, struct cnr_operation *o);
void cnr_part_cut(const struct cnr_comm *c, const struct cnr_operation *o, struct cnr_part *p);
bool cnr_part_after(const struct cnr_comm *c, const struct cnr_operation *o, u32 block);
u32 *cnr_pad(const struct cnr_operation *o, const struct cnr_part *p, const void *elements,
	     u32 *words);
const u32 *cnr_words_made(struct cnr_comm *c, const struct cnr_operation *o,
			  const struct cnr_part *p);
const u32 *cnr_serve_made(struct cnr_comm *c, const struct cnr_operation *o,
			  const struct cnr_part *p);

/* What is @block of @o? */
static inline void cnr_part(const struct cnr_comm *c, const struct cnr_operation *o, u32 block,
			    struct cnr_part *p)
{
	p->index = block - o->base;
	if (!o->plain) {
		cnr_part_cut(c, o, p);
		return;
	}
	p->after = 0;
	p->first = p->index * o->each;
	p->elements = min_t(u32, o->each, o->op.elements - p->first);
	p->length = (p->elements * o->element + 3) & ~3U;
	p->result = p->length;
	p->kind = o->encoding->kind;
}

/* Are the results here that @block of @o, the next one, is encoded by? */
static inline bool cnr_part_ready(const struct cnr_comm *c, const struct cnr_operation *o,
				  u32 block)
{
	return o->plain || cnr_part_after(c, o, block);
}

/* Are its words just what is in the vector? */
static inline bool cnr_part_plain(const struct cnr_operation *o, const struct cnr_part *p)
{
	return o->plain && p->length == p->elements * o->element;
}

static inline void *cnr_vector(const struct cnr_operation *o, const struct cnr_part *p,
			       enum cnr_use use)
{
	if (o->op.at)
		return o->op.at(&o->op, p->first, p->elements, use);
	return (u8 *)o->op.data + (size_t)p->first * o->element;
}

static inline const void *cnr_vector_source(const struct cnr_operation *o,
					    const struct cnr_part *p)
{
	if (o->op.source)
		return (const u8 *)o->op.source + (size_t)p->first * o->element;
	return cnr_vector(o, p, CNR_USE_INPUT);
}

/* Our own contribution; good until the next call. */
static inline const u32 *cnr_words(struct cnr_comm *c, const struct cnr_operation *o,
				   const struct cnr_part *p)
{
	return cnr_part_plain(o, p) ? cnr_vector_source(o, p) : cnr_words_made(c, o, p);
}

/* The result is @words. */
static inline void cnr_store(const struct cnr_comm *c, const struct cnr_operation *o,
			     const struct cnr_part *p, const u32 *words)
{
	if (!o->plain)
		o->encoding->store(c, o, p, words);
	else
		memcpy(cnr_vector(o, p, CNR_USE_RESULT), words, p->elements * o->element);
}

/* The result as it was stored; good until the next call. */
static inline const u32 *cnr_serve(struct cnr_comm *c, const struct cnr_operation *o,
				   const struct cnr_part *p)
{
	return cnr_part_plain(o, p) ? cnr_vector(o, p, CNR_USE_SERVE) : cnr_serve_made(c, o, p);
}

/* op.c: operations */
struct cnr_operation *cnr_op_new(struct cnr_comm *c, const struct cnr_op *op);
void cnr_op_alone(struct cnr_comm *c, struct cnr_operation *o);
void cnr_op_run(struct cnr_comm *c, struct cnr_operation *o, u8 algorithm);
struct cnr_operation *cnr_find_op(struct cnr_comm *c, u32 block);
bool cnr_may_begin(const struct cnr_comm *c, const struct cnr_operation *o);
u32 cnr_proven_done(struct cnr_comm *c, const struct cnr_operation *o, u32 block);
void cnr_fail_ops(struct cnr_comm *c, int error);

/* block.c: blocks */
bool cnr_start_next(struct cnr_comm *c, u64 now);
void cnr_fill(struct cnr_comm *c, u64 now);
bool cnr_path_fails(struct cnr_comm *c, u64 now, const struct cnr_block *b, u16 leader);
void cnr_block_asked(struct cnr_block *b, u64 now);
void cnr_block_timers(struct cnr_comm *c, u64 now);
void cnr_block_done(struct cnr_comm *c, u64 now, u32 block);

/* result.c: results, and those that others may write to */
bool cnr_result_build(struct cnr_comm *c, u32 block, u8 attempt, struct cnr_out *out);
u32 cnr_result_make(struct cnr_comm *c, struct cnr_operation *o, u32 block, const u32 *others,
		    u32 *room);
void cnr_result_note(struct cnr_comm *c, struct cnr_operation *o, u32 block, const u32 *words);
bool cnr_result_changed(struct cnr_comm *c, const struct cnr_operation *o, u32 block,
			const u32 *words);

/* window.c: round trips, reordering, blocks in flight */
void cnr_window_begin(struct cnr_comm *c);
void cnr_window_loss(struct cnr_comm *c);
void cnr_window_result(struct cnr_comm *c, u64 now, u32 block, u64 rtt, u8 load);
bool cnr_window_room(struct cnr_comm *c);
void cnr_rtt(struct cnr_comm *c, u64 rtt);
void cnr_answered(struct cnr_comm *c, u64 time);
u64 cnr_answer_time(const struct cnr_comm *c, u8 tries);
u64 cnr_reordering(const struct cnr_comm *c);
void cnr_asked_early(struct cnr_comm *c, u64 now);
void cnr_came_late(struct cnr_comm *c, u64 late, bool aggregate);

/* differs.c: who runs another operation */
void cnr_differs(struct cnr_comm *c, u64 now, u32 block, u16 rank, u32 sig, u32 agree);
void cnr_differs_heard(struct cnr_comm *c, u64 now, const struct canary_hdr *h);

#endif /* CANARY_CORE_BLOCKS_H */
