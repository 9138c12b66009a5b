/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: operations (op.c), who does what in them (shape.c), their blocks (block.c),
 * their words (encoding.c), results (result.c), round trips and how much may be in flight
 * (window.c), members that run another operation (differs.c).
 */
#ifndef CANARY_CORE_BLOCKS_H
#define CANARY_CORE_BLOCKS_H

#include "comm.h"

/* Tests of what no row of these tables uses yet add rows of their own. */
#ifndef CNR_TEST_SHAPES
#define CNR_TEST_SHAPES
#endif
#ifndef CNR_TEST_ENCODINGS
#define CNR_TEST_ENCODINGS
#endif

#define CNR_RING_BLOCKS		8	/* blocks a member from which on a ring may pay */
#define CNR_OPS_BEGUN		32	/* operations begun that may lack results */
/*
 * Serial numbers must stay comparable: blocks in use take half of them, less what a window can
 * reach.
 */
#define CNR_SERIALS		((1ULL << 31) - 4 * CNR_WINDOW_MAX)
#define CNR_CWND_FIRST		64	/* blocks in flight at first */
#define CNR_PATH_TRIES		64	/* unanswered questions until the path is at fault */
#define CNR_WAIT_MAX		(250 * CNR_MSEC) /* longest time between two questions */
#define CNR_RTO_MAX		(400 * CNR_MSEC)

/* cnr_block.state */
enum cnr_block_state {
	CNR_B_IDLE,		/* not contributed yet; may already have a lead slot */
	CNR_B_SENT,		/* contributed (or led, with own data), not done */
	CNR_B_DONE,		/* done here, but an earlier block is not */
};

/* cnr_block.flags */
#define CNR_B_QUEUED		0x01	/* on the transmit queue */
#define CNR_B_BYPASS		0x02	/* contribute with CANARY_F_BYPASS */
#define CNR_B_AGAIN		0x04	/* asked for or contributed again: measure no round trip */
#define CNR_B_PARTIAL		0x08	/* ring: the partial sum with own data is in the vector */
#define CNR_B_EARLY		0x10	/* ring: a partial sum came before it was posted */
#define CNR_B_LOST		0x20	/* the leader has sent the result: it is lost, or late */
#define CNR_B_AROUND		0x40	/* around switches from the start, see tree_around.c */

/* A set of members, relative to a block */
enum cnr_who {
	CNR_NOBODY,
	CNR_LEADER,
	CNR_ALL,
};

/*
 * struct cnr_roles - who does what in a block
 * @leader:	this rank gets the contributions, and finishes the block
 * @contribute:	enum cnr_who: whose data are in the result
 * @receive:	enum cnr_who: who gets the result. For other members that contribute, the block is
 *		done when the leader has their contribution
 * @tree:	results go to those who contributed so many blocks earlier; 0: to this one. The
 *		blocks of a tree follow each other, have the same leader, and are less than
 *		CANARY_TREE_MAX. Only to the first one do others than the leader contribute, and
 *		without data
 * @more:	the next block goes down the same tree
 */
struct cnr_roles {
	u16	leader;
	u8	contribute:2;
	u8	receive:2;
	u8	more:1;
	u8	tree;
};

/*
 * struct cnr_block - a block between una and next + window, by serial & block_mask
 * @lead:	index of the lead slot; CNR_NONE if it is not led here or nothing came yet
 * @op:		index of the operation; valid once contributed
 * @roles:	as its shape says; valid once contributed
 * @silent:	questions in a row that were not answered
 * @again:	how often the contribution was asked for again in this attempt, 255 at most
 * @shard:	which packet of our contribution is sent next
 * @sent_at:	time of the first contribution
 * @asked_at:	time of the first question of @silent
 * @asked_from:	only answers to questions after this one are news, see cnr_is_answer(); valid if
 *		@silent, or in a ring
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
	u8	shard;
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
 * struct cnr_encoding - how an operator reduces a type: elements of a vector become words on the
 * wire, and words become elements. An encoding without functions uses the elements themselves as
 * words; results then have the place and the size of contributions. Any other encoding has all
 * functions, except that @choose, @memory, @blocks, @settles, @alike, @shard, @finish, @tidy,
 * @as_is and @total are optional.
 * @op:		enum canary_operator
 * @dtype:	enum canary_dtype
 * @kind:	enum canary_kind of all blocks, if there are no functions
 * @element:	bytes of an element in a vector
 * @lane:	bytes of an element in a contribution, if not @element
 * @method:	enum canary_method
 * @how:	CANARY_HOW_* that it may be asked for
 * @numbers:	cnr_part.first and .elements count floating-point numbers. A complex one is two
 * @mask:	for the functions (integers.c)
 * @choose:	NULL; or picks another encoding for @op, by its length or @how for example. It
 *		needs no other member then but @element and @how. NULL: it is this one
 * @memory:	how many bytes of cnr_op.memory it needs, for what it keeps for later blocks and for
 *		what is sent again. They are 0 at first. @e is this encoding
 * @blocks:	how many blocks @op has, with payloads of up to cnr_comm.length bytes; NULL: as many
 *		as its elements take. @e likewise
 * @settles:	NULL; or how many of them, from the first one, tell by their results whether more
 *		blocks follow at the end. Operations behind it begin when that is known. Blocks
 *		that do not follow wait for no other results
 * @more:	with @settles: these results are here; how many blocks follow?
 * @most:	with @settles: how many may follow
 * @step:	for the functions of ranks.c: combines an element of the ranks so far, which it
 *		replaces, with that of the next rank
 * @part:	describes block cnr_part.index
 * @alike:	NULL; or fills in cnr_operation.full and .alike
 * @encode:	makes the words of our own contribution. It makes the same words when the
 *		contribution is sent again
 * @shard:	where cnr_part.list is set: makes packet @number of our own contribution, the same
 *		one when it is sent again. There are at most cnr_config.shards. *@last: no other one
 *		follows. Return: its bytes, at most cnr_comm.length
 * @finish:	at the leader: turns what all have contributed into what the result carries, in
 *		place
 * @tidy:	NULL: what follows the elements in a result is 0. Or makes what @store leaves out of
 *		a result, in place, what @serve makes of it
 * @as_is:	NULL: never. Or tells whether the result of the block is its elements as the vector
 *		has them, and nothing else
 * @total:	NULL; or at the leader: makes the result at @to of our own contribution, and of
 *		@others, which all others have contributed. @to may be @others, or where the
 *		elements are. *@sum: the checksum of the result, which is then @as_is. Return: false
 *		if @encode and @finish have to do it; then nothing was done
 * @store:	stores a result
 * @serve:	makes the words of a result that was stored and tidy, exactly as they came
 */
struct cnr_encoding {
	u8	op;
	u8	dtype;
	u8	kind;
	u8	element;
	u8	lane;
	u8	method;
	u8	how;
	bool	numbers;
	u64	mask;
	const struct cnr_encoding *(*choose)(const struct cnr_comm *c, const struct cnr_op *op);
	size_t	(*memory)(const struct cnr_comm *c, const struct cnr_encoding *e,
			  const struct cnr_op *op);
	u64	(*blocks)(const struct cnr_comm *c, const struct cnr_encoding *e,
			  const struct cnr_op *op);
	u32	(*settles)(const struct cnr_comm *c, const struct cnr_op *op);
	u32	(*more)(const struct cnr_comm *c, const struct cnr_operation *o);
	u64	(*most)(const struct cnr_comm *c, const struct cnr_op *op);
	void	(*step)(const struct cnr_op *op, void *to, const void *by);
	void	(*part)(const struct cnr_comm *c, const struct cnr_operation *o,
			struct cnr_part *p);
	void	(*alike)(const struct cnr_comm *c, struct cnr_operation *o);
	void	(*encode)(const struct cnr_comm *c, const struct cnr_operation *o,
			  const struct cnr_part *p, u32 *words);
	u16	(*shard)(const struct cnr_comm *c, const struct cnr_operation *o,
			 const struct cnr_part *p, u8 number, u32 *words, bool *last);
	void	(*finish)(const struct cnr_comm *c, const struct cnr_operation *o,
			  const struct cnr_part *p, u32 *words);
	void	(*tidy)(const struct cnr_comm *c, const struct cnr_operation *o,
			const struct cnr_part *p, u32 *words);
	bool	(*as_is)(const struct cnr_comm *c, const struct cnr_operation *o,
			 const struct cnr_part *p);
	bool	(*total)(const struct cnr_comm *c, const struct cnr_operation *o,
			 const struct cnr_part *p, u32 *to, const u32 *others, u32 *sum);
	void	(*store)(const struct cnr_comm *c, const struct cnr_operation *o,
			 const struct cnr_part *p, const u32 *words);
	void	(*serve)(const struct cnr_comm *c, const struct cnr_operation *o,
			 const struct cnr_part *p, u32 *words);
};

/*
 * struct cnr_shape - who contributes to an operation and who gets the result. An allreduce and a
 * reduce differ in this.
 * @shape:	enum canary_shape
 * @rooted:	cnr_op.root is a rank; else it has to be 0
 * @turns:	ranks lead its blocks in turn; else one rank leads all blocks
 * @rings:	a ring can run it. A ring needs leaders that take turns, contributions of all
 *		members to all blocks, and all results at all members
 * @kept:	others ask for results again. So a result is kept until nobody needs anything of it.
 *		Else it is forgotten when the operation is complete here
 * @together:	so many blocks go down one tree, at most. Results of the later ones come unasked, so
 *		members begin the first one when they have room for all. 0: each goes by itself
 * @roles:	tells the roles of @block; what it does not set is 0. The block is done at the
 *		leader when all contributions are there. At others that get the result, it is done
 *		when the result is there. At the rest, it is done when the leader has said that it
 *		took their contributions (tree_taken.c)
 */
struct cnr_shape {
	u8	shape;
	bool	rooted;
	bool	turns;
	bool	rings;
	bool	kept;
	u8	together;
	void	(*roles)(const struct cnr_comm *c, const struct cnr_operation *o, u32 block,
			 struct cnr_roles *r);
};

/*
 * struct cnr_algorithm - a collective: how a block is summed up, as layers around see it. A
 * function that is NULL does nothing.
 * @collective: its place in cnr_comm.collectives
 * @algorithm:	enum canary_algorithm, of which its packets are evidence
 * @follows:	a block may begin beyond the window, as other members have begun it already
 * @keeps:	members read results of blocks again that others lead. So cnr_op.data keeps all;
 *		else only what cnr_result_make() and cnr_result_own() made
 * @begin:	the epoch begins
 * @wanted:	it is going to run an operation
 * @ready:	may its blocks begin? NULL: yes
 * @in_flight:	how many of its blocks may lack their results; NULL: cnr_window_room() decides
 * @start:	a block was posted here, and its turn has come
 * @yield:	another collective begins a block: forget what came for it
 * @timer:	of a block that was begun and is not done; *@budget REQUESTs may be sent
 * @done:	a block is done here, whichever collective ran it
 * @earliest:	@b is now the earliest block that is not done; @asked: the block before had been
 *		asked for
 * @expects:	is a contribution of one member to be taken here?
 * @input:	a message about a block
 * @alive:	an ALIVE came; @more: its sender has contributed more than was known
 * @timers:	of what is held for others
 * @news:	if its bit in cnr_comm.news is set: is there news for all members? Asked before
 *		anything else is sent to all
 * @answer:	if its bit in cnr_comm.answers is set: the next packet that others wait for. Return:
 *		false if there is none; then the bit is cleared
 * @contribute:	if its bit in cnr_comm.contributes is set: likewise, our own next contribution
 * @work:	a slice of long work (cnr_work()). Return: false if there is none
 * @drop:	the communicator is over: forget what is held for others, or waits to be sent
 */
struct cnr_algorithm {
	u8	collective;
	u8	algorithm;
	bool	follows;
	bool	keeps;
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

/* Has this member begun @block, and is it or an earlier block not done here? */
static inline bool cnr_in_flight(const struct cnr_comm *c, u32 block)
{
	return block - c->una < c->next - c->una;
}

/* Was @block begun here, and is it still in the window? Then cnr_block.op and .roles are valid. */
static inline bool cnr_is_begun(const struct cnr_comm *c, u32 block)
{
	return cnr_in_flight(c, block) && cnr_block(c, block)->state != CNR_B_IDLE;
}

/* Return: what runs @block; NULL: it was not begun here, or is out of the window */
static inline const struct cnr_algorithm *cnr_block_run(struct cnr_comm *c, u32 block)
{
	return cnr_is_begun(c, block) ? c->ops[cnr_block(c, block)->op].run : NULL;
}

/* Return: what runs @algorithm (enum canary_algorithm) */
static inline const struct cnr_algorithm *cnr_algorithm(struct cnr_comm *c, u8 algorithm)
{
	return c->collectives[algorithm == CANARY_ALG_RING ? CNR_RING : CNR_TREE];
}

/* shape.c: who does what in a block */
bool cnr_shapes_known(const struct cnr_config *cfg);
bool cnr_shapes_turn(const struct cnr_config *cfg);
bool cnr_shapes_kept(const struct cnr_config *cfg);
u32 cnr_shapes_leads(const struct cnr_config *cfg, u32 window, u32 run);
const struct cnr_shape *cnr_shape_of(const struct cnr_comm *c, const struct cnr_op *op);
u32 cnr_led_before(const struct cnr_comm *c, const struct cnr_operation *o, u32 block);
bool cnr_op_asked_for(const struct cnr_comm *c, const struct cnr_operation *o);
u32 cnr_led_number(const struct cnr_comm *c, u32 block);

static inline void cnr_roles(const struct cnr_comm *c, const struct cnr_operation *o, u32 block,
			     struct cnr_roles *r)
{
	*r = (struct cnr_roles){};
	o->shape->roles(c, o, block, r);
}

/* Whose turn is it to lead @block? The turns skip where serial numbers wrap. */
static inline u16 cnr_turn(const struct cnr_comm *c, u32 block)
{
	return (block >> c->run_bits) % c->cfg.members;
}

u16 cnr_leader_found(struct cnr_comm *c, u32 block);	/* block.c */

/*
 * Who leads @block? It may be long done here, or not posted. Its leader is then known only if
 * leaders take turns in all operations. Return: CNR_NONE if it is not known
 */
static inline u16 cnr_leader(struct cnr_comm *c, u32 block)
{
	return c->turns ? cnr_turn(c, block) : cnr_leader_found(c, block);
}

/* May @rank lead @block? True also while nobody knows who leads it. */
static inline bool cnr_may_lead(struct cnr_comm *c, u32 block, u16 rank)
{
	u16 leader = cnr_leader(c, block);

	return leader == rank || leader == CNR_NONE;
}

/* How many others contribute to a block that is led here? @r NULL: how many at most? */
static inline u16 cnr_contributors(const struct cnr_comm *c, const struct cnr_roles *r)
{
	return !r || r->contribute == CNR_ALL ? c->cfg.members - 1 : 0;
}

/* Does nobody but the leader get the result? */
static inline bool cnr_is_silent(const struct cnr_roles *r)
{
	return r->receive != CNR_ALL;
}

/* Has an operation so few blocks that trees run it, with CANARY_ALG_AUTO (plan.c)? */
static inline bool cnr_is_short(const struct cnr_comm *c, u64 blocks)
{
	return blocks / c->cfg.members < CNR_RING_BLOCKS;
}

/* encoding.c: elements and words */
const struct cnr_encoding *cnr_encoding(u8 op, u8 dtype);
const struct cnr_encoding *cnr_encoding_of(const struct cnr_comm *c, const struct cnr_op *op);
u64 cnr_blocks(const struct cnr_comm *c, const struct cnr_encoding *e, const struct cnr_op *op);
void cnr_encoding_begin(const struct cnr_comm *c, struct cnr_operation *o);
void cnr_part_cut(const struct cnr_comm *c, const struct cnr_operation *o, struct cnr_part *p);
bool cnr_part_after(const struct cnr_comm *c, const struct cnr_operation *o, u32 block);
u32 *cnr_pad(const struct cnr_operation *o, const struct cnr_part *p, const void *elements,
	     u32 *words);
const u32 *cnr_words_made(struct cnr_comm *c, const struct cnr_operation *o,
			  const struct cnr_part *p, void *at);
const u32 *cnr_serve_made(struct cnr_comm *c, const struct cnr_operation *o,
			  const struct cnr_part *p);

/* Return: blocks of @each elements that @elements take; at least 1, since a barrier has none */
static inline u32 cnr_blocks_of(u32 elements, u32 each)
{
	return max_t(u32, elements / each + !!(elements % each), 1);
}

/* cnr_encoding.part, where a block has as many lanes as elements, of the same size */
static inline void cnr_part_same(const struct cnr_comm *c, const struct cnr_operation *o,
				 struct cnr_part *p)
{
	p->after = 0;
	p->first = p->index * o->each;
	p->elements = min_t(u32, o->each, o->op.elements - p->first);
	p->length = (p->elements * o->element + 3) & ~3U;
	p->result = p->length;
	p->kind = o->encoding->kind;
}

/* Fill in what @block of @o is. Of most blocks that is known, but for their place. */
static inline void cnr_part(const struct cnr_comm *c, const struct cnr_operation *o, u32 block,
			    struct cnr_part *p)
{
	u32 number = block - o->base - o->full.index;

	if (number < o->alike) {
		*p = o->full;
		p->index = block - o->base;
		p->first = number * o->full.elements;
		return;
	}
	p->index = block - o->base;
	p->list = CANARY_KIND_NONE;
	p->led = false;
	if (o->plain)
		cnr_part_same(c, o, p);
	else
		cnr_part_cut(c, o, p);
}

/* Are the results here that the encoding of @block, the next block of @o, needs? */
static inline bool cnr_part_ready(const struct cnr_comm *c, const struct cnr_operation *o,
				  u32 block)
{
	return o->plain || block - o->base < o->ready || cnr_part_after(c, o, block);
}

/* Are the words of @p just what is in the vector? */
static inline bool cnr_part_plain(const struct cnr_operation *o, const struct cnr_part *p)
{
	return o->plain && p->length == p->elements * o->element;
}

/* Is the result of @p just what is in the vector? */
static inline bool cnr_result_plain(const struct cnr_comm *c, const struct cnr_operation *o,
				    const struct cnr_part *p)
{
	if (o->plain)
		return cnr_part_plain(o, p);
	return o->encoding->as_is && o->encoding->as_is(c, o, p);
}

static inline void *cnr_vector(const struct cnr_operation *o, const struct cnr_part *p,
			       enum cnr_use use)
{
	if (o->op.at)
		return o->op.at(&o->op, p->first, p->elements, use);
	return (u8 *)o->op.data + (size_t)p->first * o->element;
}

/* Return: where the result of @p is wanted, if cnr_op.target is set */
static inline void *cnr_target(const struct cnr_operation *o, const struct cnr_part *p)
{
	return (u8 *)o->op.target + (size_t)p->first * o->element;
}

/* Store @bytes of the result of @p, from byte @at on: where it is kept, and where it is wanted. */
static inline void cnr_put(const struct cnr_operation *o, const struct cnr_part *p, size_t at,
			   const void *from, size_t bytes)
{
	if (!o->op.target || p->led)
		memcpy((u8 *)cnr_vector(o, p, CNR_USE_RESULT) + at, from, bytes);
	if (o->op.target)
		memcpy((u8 *)cnr_target(o, p) + at, from, bytes);
}

static inline const void *cnr_vector_source(const struct cnr_operation *o,
					    const struct cnr_part *p)
{
	if (o->op.source)
		return (const u8 *)o->op.source + (size_t)p->first * o->element;
	return cnr_vector(o, p, CNR_USE_INPUT);
}

/* Return: the words of our own contribution; good until the next call */
static inline const u32 *cnr_words(struct cnr_comm *c, const struct cnr_operation *o,
				   const struct cnr_part *p)
{
	return cnr_part_plain(o, p) ? cnr_vector_source(o, p) :
				       cnr_words_made(c, o, p, c->scratch);
}

/* Store @words, the result. */
static inline void cnr_store(const struct cnr_comm *c, const struct cnr_operation *o,
			     const struct cnr_part *p, const u32 *words)
{
	if (!o->plain)
		o->encoding->store(c, o, p, words);
	else
		cnr_put(o, p, 0, words, p->elements * o->element);
}

/* Return: the words of a result that was stored; good until the next call */
static inline const u32 *cnr_serve(struct cnr_comm *c, const struct cnr_operation *o,
				   const struct cnr_part *p)
{
	return cnr_result_plain(c, o, p) ? cnr_vector(o, p, CNR_USE_SERVE) :
					   cnr_serve_made(c, o, p);
}

/* addends.c: members with several vectors */
bool cnr_addends_gather(const struct cnr_encoding *e, const struct cnr_op *op);
bool cnr_addends_fit(const struct cnr_comm *c, const struct cnr_encoding *e,
		     const struct cnr_op *op);
void cnr_addends_encode(const struct cnr_comm *c, const struct cnr_operation *o,
			const struct cnr_part *p, u32 *words);

/* Return: how many vectors are added up. Lanes have room for so many, and averages divide by it */
static inline u32 cnr_addends(const struct cnr_comm *c, const struct cnr_op *op)
{
	return op->addends ? op->addends : c->cfg.members;
}

/* Return: bytes that cnr_op.memory has for the words of one of several vectors */
static inline size_t cnr_addend_memory(const struct cnr_comm *c, const struct cnr_op *op)
{
	return op->mores ? (c->length + 7) & ~(size_t)7 : 0;
}

/* op.c: operations */
bool cnr_blocks_fit(u64 blocks);
struct cnr_operation *cnr_op_new(struct cnr_comm *c, const struct cnr_op *op,
				 const struct cnr_encoding *e, u64 most);
struct cnr_operation *cnr_op_number(struct cnr_comm *c);
void cnr_op_settle(struct cnr_comm *c, struct cnr_operation *o);
void cnr_op_alone(struct cnr_comm *c, struct cnr_operation *o);
void cnr_op_run(struct cnr_comm *c, struct cnr_operation *o, u8 algorithm);
void cnr_op_info(const struct cnr_comm *c, struct cnr_info *info);
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

/* result.c: results, in memory that others may write to, too */
bool cnr_result_build(struct cnr_comm *c, u32 block, u8 attempt, struct cnr_out *out);
u32 cnr_result_make(struct cnr_comm *c, struct cnr_operation *o, u32 block, const u32 *others,
		    u32 *room);
void cnr_result_own(struct cnr_comm *c, struct cnr_operation *o, u32 block);
bool cnr_result_is_tidy(struct cnr_comm *c, const struct cnr_operation *o, const struct cnr_part *p,
			const u32 *words);
void cnr_result_note(struct cnr_comm *c, struct cnr_operation *o, u32 block, const u32 *words);
bool cnr_result_changed(struct cnr_comm *c, const struct cnr_operation *o, u32 block,
			const u32 *words);

/* window.c: round trips, reordering, blocks in flight */
void cnr_window_begin(struct cnr_comm *c);
void cnr_window_loss(struct cnr_comm *c);
void cnr_window_result(struct cnr_comm *c, u64 now, u32 block, u64 rtt, u8 load);
bool cnr_window_room(struct cnr_comm *c, u32 blocks);
void cnr_rtt(struct cnr_comm *c, u64 rtt);
void cnr_answered(struct cnr_comm *c, u64 time);
u64 cnr_answer_time(const struct cnr_comm *c, u8 tries);
u64 cnr_reordering(const struct cnr_comm *c);
void cnr_asked_early(struct cnr_comm *c, u64 now);
void cnr_came_late(struct cnr_comm *c, u64 late, bool aggregate);

/* differs.c: members that run another operation */
void cnr_differs(struct cnr_comm *c, u64 now, u32 block, u16 rank, u32 sig, u32 agree);
void cnr_differs_inside(struct cnr_comm *c, u64 now, u16 rank);
void cnr_differs_heard(struct cnr_comm *c, u64 now, const struct canary_hdr *h);

#endif /* CANARY_CORE_BLOCKS_H */
