/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 5, tree. A block at its leader: tree_slots.c, tree_leader.c, tree_arrived.c,
 * tree_missing.c, tree_sent.c. A block at the other members: tree_member.c. What tags have to add
 * up to: tree_tags.c. Whose aggregates are taken: tree_trust.c. When to go around switches:
 * tree_around.c. Results by way of the switch that bypassed: tree_restore.c. Silent blocks:
 * tree_taken.c. Results that go down the tree of an earlier block: tree_kept.c.
 */
#ifndef CANARY_CORE_TREE_H
#define CANARY_CORE_TREE_H

#include "blocks.h"

#define CNR_SPOILT_BURST	64	/* blocks that wrong aggregates may spoil at once */
#define CNR_SPOILT_GAP		(CNR_SEC / 16)	/* time that pays for one such block */

/*
 * struct cnr_source - one accepted contribution of a led block
 * @repeat:	it gets no result of its own: an earlier entry has the same address, or a
 *		restoration names it
 * @merged:	it is an aggregate
 * @bypassed:	it has the flag BYPASS
 * @switch_id:	the switch that merged or bypassed it last, as far as is known
 * @cookie:	of the switch that bypassed it, if that switch takes restorations; else 0
 */
struct cnr_source {
	struct canary_addr addr;
	u64	tag;
	__be32	switch_id;
	__be32	cookie;
	__be16	port;
	u8	repeat;
	u8	merged:1;
	u8	bypassed:1;
};

/*
 * struct cnr_shards - the single packets that came of one rank for a block of lists
 * @here:	bits of those that are here
 * @all:	how many there are; 0: the last one is not here
 */
struct cnr_shards {
	u16	here;
	u8	all;
};

enum cnr_lead_state {
	CNR_L_FREE,
	CNR_L_COLLECTING,
	CNR_L_RESULT,		/* finished; results are going out */
	CNR_L_KEPT,		/* they went out; those of later blocks will */
};

/* cnr_lead.flags */
#define CNR_L_POSTED		0x01	/* own application has posted the block */
#define CNR_L_MERGED		0x02	/* an aggregate came: not known whose data are in it */
#define CNR_L_FAIL_ALL		0x04	/* FAILURE is going out to everybody */
#define CNR_L_FAIL_MISSING	0x08	/* FAILURE is going out to the ranks in @want */
#define CNR_L_COOKIES		0x10	/* sources with a cookie are still to be answered */
#define CNR_L_STRANGE		0x20	/* strangers' aggregate came, see tree_trust.c */
#define CNR_L_EXPECTED		0x40	/* @expected is known */
#define CNR_L_NO_SUM		0x80	/* @sum is not yet that of @turn */

/*
 * struct cnr_lead - a block that this member leads
 * @count, @tag, @done, @load: merged over the contributions accepted
 * @sum:	likewise; of a finished block: of the result whose @turn it is
 * @contributors: the @count of a complete block; until the block is posted, the largest one
 *		possible
 * @finished:	so many blocks of its tree are finished: @block, and those after it (tree_kept.c)
 * @turn:	of these, the one whose results are going out: @block + @turn
 * @more:	later blocks will go down the same tree
 * @sources:	entries in @source
 * @cursor:	next source (restorations, results) or rank (failures) to send to
 * @listed:	it is in the list of slots that have something to send, see cnr_tree.out_first
 * @out_next:	the next one there
 * @restoration_due: number + 1 of a source; a restoration went to its switch, and the result for
 *		that switch is next
 * @lists:	how many restorations went out
 * @tries:	timer back-off
 * @dissenter, @dissent_sig: a rank that runs another operation, and its signature; @dissenter
 *		CNR_NONE: none. Who differs is only known when a second rank was heard
 * @asks:	how often ranks were asked to contribute again since a contribution came
 * @held_us:	finished blocks: us from the first contribution to the last
 * @arrived:	bitmap of the ranks whose single contributions were accepted, tree_arrived.c
 * @shards:	by rank; NULL if cnr_config.shards is 0
 * @want:	bitmap of the ranks that are missing, as far as that is known
 * @first_at:	when the first contribution came
 * @last_at:	when the last one came, or the block was posted or begun anew
 * @all_at:	since when it is known that all ranks have contributed; 0 if it is not
 * @asked_at:	when ranks were asked the last time; 0 if they were not
 * @first_ask:	when the first of @asks was
 * @expected:	see cnr_lead_expected()
 * @kind, @length: of contributions, once there is one or it is posted; @length of lists: of the
 *		words that they are combined into, once it is posted
 * @acc:	what was combined so far, without own data
 * @tags:	with slices: the tags of the first @tagged ranks
 * @tagged:	how many entries of @tags are there
 * @hashed:	@hash is that of the data of the result of @block, for its mac
 */
struct cnr_lead {
	u32	block;
	u8	state;
	u8	attempt;
	u8	flags;
	u8	tries;
	u8	kind;
	u8	load;
	u16	count;
	u16	length;
	u32	opsig;
	u32	sum;
	u32	done;
	u64	tag;
	u64	deadline;
	u32	dissent_sig;
	u16	dissenter;
	u16	contributors;
	u8	asks;
	u8	finished;
	u8	turn;
	bool	more;
	bool	listed;
	u32	held_us;
	u32	sources;
	u32	cursor;
	u32	out_next;
	u32	restoration_due;
	u32	lists;
	struct cnr_source *source;
	u64	first_at;
	u64	last_at;
	u64	all_at;
	u64	asked_at;
	u64	first_ask;
	u64	expected;
	u64	*arrived;
	struct cnr_shards *shards;
	u64	*want;
	u32	*acc;
	u64	*tags;
	u32	tagged;
	bool	hashed;
	u64	hash;
};

/* Did the contribution of @rank come, singly? */
static inline bool cnr_arrived_has(const struct cnr_lead *l, u16 rank)
{
	return l->arrived[rank / 64] >> (rank % 64) & 1;
}

/* Is the contribution of @rank missing? In every shape either all others contribute, or none. */
static inline bool cnr_lacks(const struct cnr_comm *c, const struct cnr_lead *l, u16 rank)
{
	return rank != c->cfg.rank && !cnr_arrived_has(l, rank);
}

static inline bool cnr_wanted(const struct cnr_lead *l, u16 rank)
{
	return l->want[rank / 64] >> (rank % 64) & 1;
}

/* Does @l have lists? Context: there is a contribution, or it is posted */
static inline bool cnr_lead_lists(const struct cnr_lead *l)
{
	return canary_kind_flags(l->kind) & CANARY_K_SHARDS;
}

/* Does @h have the kind of @l, and as many bytes, if all have as many? */
static inline bool cnr_lead_alike(const struct cnr_lead *l, const struct canary_hdr *h)
{
	return canary_kind(h) == l->kind && (canary_is_list(h) || canary_length(h) == l->length);
}

/* Were as many members counted as contribute to the block of @l? Of lists, others may follow. */
static inline bool cnr_arrived_counted(const struct cnr_lead *l)
{
	return l->count == l->contributors;
}

/* Would so many be counted with @h? */
static inline bool cnr_arrived_counted_with(const struct cnr_lead *l, const struct canary_hdr *h)
{
	return l->count + be16_to_cpu(h->contribution.count) == l->contributors;
}

/* Does the header @h show that it has the data of all contributors? */
static inline bool cnr_lead_whole(const struct cnr_lead *l, const struct canary_hdr *h)
{
	return be16_to_cpu(h->contribution.count) == l->contributors && !canary_is_list(h);
}

/* Does another algorithm run @block? Each packet asks this, and mostly no other one runs at all. */
static inline bool cnr_is_others(struct cnr_comm *c, u32 block)
{
	const struct cnr_algorithm *run;

	if (c->ops_run == c->ops_run_by[CNR_TREE])
		return false;
	run = cnr_block_run(c, block);
	return run && run->collective != CNR_TREE;
}

/* tree.c */
extern const struct cnr_algorithm cnr_tree;

/* tree_tags.c: what tags have to add up to */
void cnr_tags_begin(struct cnr_comm *c, struct cnr_lead *l);
bool cnr_tags_known(const struct cnr_comm *c, const struct cnr_lead *l);
u64 cnr_tags_of(const struct cnr_comm *c, const struct cnr_lead *l, u16 rank);
void cnr_tags_slice(struct cnr_comm *c, struct cnr_lead *l);
u64 cnr_lead_expected(struct cnr_comm *c, struct cnr_lead *l);

/* tree_arrived.c: what has come of each rank */
void cnr_arrived_clear(const struct cnr_comm *c, struct cnr_lead *l);
enum canary_drop cnr_arrived_admit(const struct cnr_comm *c, const struct cnr_lead *l,
				   const struct canary_hdr *h);
void cnr_arrived_took(struct cnr_lead *l, const struct canary_hdr *h);
bool cnr_arrived_all(struct cnr_comm *c, struct cnr_lead *l);
bool cnr_arrived_any(const struct cnr_comm *c, const struct cnr_lead *l);
u32 cnr_arrived_missing(const struct cnr_comm *c, const struct cnr_lead *l, u64 *want);

/* tree_slots.c: slots of led blocks, and what goes out of them */
void cnr_lead_send(struct cnr_comm *c, struct cnr_lead *l, u8 state, u8 flag);
bool cnr_lead_turn(struct cnr_lead *l);
void cnr_lead_clear(struct cnr_comm *c, struct cnr_lead *l);
struct cnr_lead *cnr_lead_get(struct cnr_comm *c, u32 block);
void cnr_lead_discard(struct cnr_comm *c, struct cnr_lead *l);
void cnr_lead_forget(struct cnr_comm *c, u32 block);
bool cnr_lead_build(struct cnr_comm *c, u64 now, struct cnr_out *out);
void cnr_lead_drop_all(struct cnr_comm *c);

/* tree_restore.c: results by way of switches */
void cnr_restore_begin(struct cnr_comm *c, const struct cnr_operation *o, struct cnr_lead *l);
bool cnr_restore_build(struct cnr_comm *c, struct cnr_lead *l, struct cnr_out *out);
void cnr_restore_failed(struct cnr_comm *c, u32 block);

/* tree_trust.c: whose aggregates are taken */
void cnr_trust_begin(struct cnr_comm *c);
bool cnr_merger_known(struct cnr_comm *c, const struct cnr_in *in);
enum canary_drop cnr_trust_admit(struct cnr_comm *c, u64 now, struct cnr_lead *l,
				 const struct cnr_in *in);
bool cnr_trust_replaces(struct cnr_comm *c, struct cnr_lead *l, const struct canary_hdr *h);
void cnr_trust_doubt(struct cnr_comm *c, u64 now, struct cnr_lead *l, const struct canary_hdr *h);
bool cnr_trust_witness(struct cnr_comm *c, struct cnr_lead *l);
void cnr_trust_taken(struct cnr_comm *c, u64 now, struct cnr_lead *l, const struct cnr_source *s);
void cnr_trust_proven(struct cnr_comm *c, struct cnr_lead *l);
void cnr_trust_spoilt(struct cnr_comm *c, u64 now, const struct cnr_lead *l);

/* tree_around.c: switches that do not help */
void cnr_around_begin(struct cnr_comm *c);
bool cnr_around(struct cnr_comm *c, u64 now, u32 block);
void cnr_around_done(struct cnr_comm *c, u64 now, const struct cnr_block *b);
void cnr_around_learn(struct cnr_comm *c, bool good);
u8 cnr_around_attempt(struct cnr_comm *c, u8 attempt);

/* tree_missing.c: contributions that do not come */
u32 cnr_led(struct cnr_comm *c);
void cnr_lead_rearm(struct cnr_comm *c, struct cnr_lead *l, u64 now);
void cnr_lead_restart(struct cnr_comm *c, u64 now, struct cnr_lead *l);
void cnr_lead_next(struct cnr_comm *c, u64 now);
void cnr_lead_timers(struct cnr_comm *c, u64 now);
void cnr_lead_heard(struct cnr_comm *c, u64 now);
void cnr_lead_all_sent(struct cnr_comm *c, u64 now, u32 block);

/* tree_sent.c: blocks that all ranks have contributed */
void cnr_all_sent(struct cnr_comm *c, u64 now, u32 sent);

/* tree_kept.c: results down the tree of an earlier block */
void cnr_kept_begin(struct cnr_comm *c, struct cnr_lead *l, bool more);
void cnr_kept_start(struct cnr_comm *c, u64 now, u32 block);

/* tree_taken.c: blocks whose result only the leader gets */
void cnr_taken_finished(struct cnr_comm *c, const struct cnr_operation *o);
void cnr_taken_news(struct cnr_comm *c);
void cnr_taken_say(struct cnr_comm *c, u16 rank);
enum canary_drop cnr_taken_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h);

/* tree_leader.c: contributions come in */
void cnr_lead_posted(struct cnr_comm *c, u64 now, u32 block);
void cnr_lead_alive(struct cnr_comm *c, u64 now, const struct canary_hdr *h, bool more);
enum canary_drop cnr_contribution_input(struct cnr_comm *c, u64 now, const struct cnr_in *in);
enum canary_drop cnr_request_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h);
bool cnr_lead_work(struct cnr_comm *c, u64 now);

/* tree_member.c: contributions go out, results come in */
void cnr_member_start(struct cnr_comm *c, u64 now, u32 block);
void cnr_member_timer(struct cnr_comm *c, u64 now, u32 block, u32 *budget);
void cnr_member_earliest(struct cnr_comm *c, u64 now, struct cnr_block *b, bool asked);
enum canary_drop cnr_result_input(struct cnr_comm *c, u64 now, const struct cnr_in *in);
enum canary_drop cnr_failure_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h);
enum canary_drop cnr_wait_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h);
bool cnr_contribution_build(struct cnr_comm *c, u64 now, struct cnr_out *out);

#endif /* CANARY_CORE_TREE_H */
