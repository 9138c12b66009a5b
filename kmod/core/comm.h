/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Inside of the protocol core: the state of a communicator and what its parts offer to each
 * other. Drivers see core.h only.
 *
 * Timers (all in ns; struct cnr_comm.deadline is a lower bound of the earliest):
 *	block		the earliest result is missing, or one that was lost for sure: REQUEST;
 *			cnr_block.deadline
 *	lead		a block that this member leads lacks contributions, and is the earliest
 *			such, or all ranks have contributed to it; cnr_lead.deadline
 *	join		rendezvous is repeated; cnr_comm.join_at
 *	done		results are kept for others since it is not known whether they have them;
 *			cnr_comm.done_at
 *	alive		somebody owes an answer; cnr_comm.alive_at
 *	linger		closed: the longest that others are served; cnr_comm.linger_at
 *	plan		an operation is held until rank 0 tells its algorithm; cnr_plan.ask_at
 */
#ifndef CANARY_CORE_COMM_H
#define CANARY_CORE_COMM_H

#include "core.h"
#include "plan.h"
#include "ring.h"

#define CNR_NONE		0xffff	/* no lead slot, no rank */
#define CNR_CONTROLS		256	/* control messages waiting to be polled */
#define CNR_FAULTS		64	/* ranks at fault or missing that are remembered by name */
#define CNR_REQUESTS		32	/* REQUESTs one timer may cause */
#define CNR_GROUPS		12	/* aggregators whose ranks are tried together */
#define CNR_FEW			64	/* ranks of which two are told by their tags; half: three */
#define CNR_HOLD_ROUNDS		2	/* round trips for which what switches hold is waited for */
#define CNR_OPS_BEGUN		32	/* none of the operation that many later is begun before */
#define CNR_PATH_TRIES		64	/* questions without the answer until a path is at fault */
#define CNR_EXPLICIT		64	/* blocks of an operation that is released at once */
#define CNR_NAMED_MAX		2	/* so many known missing ranks are asked singly */
#define CNR_RESTORE_SCAN	256	/* sources that are searched for others of an origin */
#define CNR_RESTORE_LONELY	16	/* sources without any after which none is looked for */
#define CNR_RESTORED		256	/* blocks that are remembered as restored; a power of two */
#define CNR_RESTORE_PAUSE	16	/* blocks not restored after one was in vain, ... */
#define CNR_RESTORE_PAUSE_MAX	4096	/* ... at least and at most */

#define CNR_MERGERS_BITS	6	/* known mergers, see merge.c: at most one for each value */
#define CNR_SPOILT_BURST	64	/* blocks that wrong aggregates may spoil at once, ... */
#define CNR_SPOILT_GAP		(CNR_SEC / 16)	/* ... and the time that pays for one */

#define CNR_REFRESH		4096	/* blocks after which the next member is refreshed */

#define CNR_RTO_MIN		(5 * CNR_MSEC)
#define CNR_RTO_INITIAL		(100 * CNR_MSEC)
#define CNR_RTO_MAX		(400 * CNR_MSEC)
#define CNR_PATIENCE_MAX	(250 * CNR_MSEC)
#define CNR_DEAD_AFTER		(5 * CNR_SEC)
#define CNR_DEAD_PROBES		64	/* questions in the time after which a rank is dead */
#define CNR_DEAD_UNANSWERED	32	/* and that it did not answer: we may have slept, too */
#define CNR_GONE_ONCE		1024	/* members that are given up at once; ... */
#define CNR_GONE_PAUSE		CNR_MSEC /* ... until others are */
#define CNR_PROBE_GAP		(20 * CNR_USEC)	/* between PROBEs, in the mean of a round */
#define CNR_REQUEST_PAUSE	(100 * CNR_USEC) /* after CNR_REQUESTS, if more are due */
#define CNR_LINGER		(60 * CNR_SEC)
#define CNR_JOIN_FIRST		(50 * CNR_MSEC)
#define CNR_JOIN_LAST		(1 * CNR_SEC)
#define CNR_JOIN_SILENCE	(20 * CNR_SEC)	/* of a rank that has not said READY */
#define CNR_JOIN_CLAIMED	(5 * CNR_SEC)	/* likewise, if somebody else claims the rank */
#define CNR_JOIN_SMALL		3	/* offers below what a rank wants before one is believed */
#define CNR_DONE_FIRST		(20 * CNR_MSEC)
#define CNR_DONE_PINNED		(1 * CNR_MSEC)	/* somebody waits for his buffer */
#define CNR_DONE_LAST		(1 * CNR_SEC)
#define CNR_DONE_TOLD		4	/* times DONE is said before it is asked for */

/* cnr_member.flags */
#define CNR_M_KNOWN		0x01	/* address known */
#define CNR_M_READY		0x02	/* rank 0: has the member table */
#define CNR_M_LEFT		0x04	/* gone: said LEAVE, or see CNR_M_DEAD */
#define CNR_M_PROBE		0x08	/* a PROBE is to be sent */
#define CNR_M_CLAIMED		0x10	/* rank 0: by a JOIN with another nonce */
#define CNR_M_DEAD		0x20	/* gone, because nothing was heard of it */

/*
 * struct cnr_member - what is known of one rank, beside its address. Numbers of blocks are counted
 * from the first one, so that nothing has to be written before something is heard: of thousands
 * of ranks most members hear nothing. See cnr_sent(), cnr_done().
 * @sent:	it contributed all blocks before this one
 * @via:	its first aggregator, 0 if none is known
 * @done:	collector: it has all results before this one; left members: it ended there
 * @asked:	since when it owes an answer, 0 if it does not
 * @probes:	how often it was sent PROBE since
 */
struct cnr_member {
	u8	flags;
	u8	probes;
	u16	pad;
	u32	sent;
	u32	done;
	__be32	via;
	u64	asked;
};

/* cnr_block.state */
enum cnr_block_state {
	CNR_B_IDLE,		/* not contributed yet; may already have a lead slot */
	CNR_B_SENT,		/* contributed (or led, with own data), result missing */
	CNR_B_DONE,		/* result is in the vector, an earlier block is missing */
};

/* cnr_block.flags */
#define CNR_B_QUEUED		0x01	/* on the transmit queue */
#define CNR_B_BYPASS		0x02	/* contribute with CANARY_F_BYPASS */
#define CNR_B_AGAIN		0x04	/* asked for or contributed again: no round trip sample */
#define CNR_B_PARTIAL		0x08	/* ring: the partial sum with own data is in the vector */
#define CNR_B_EARLY		0x10	/* ring: a partial sum came before it was posted */
#define CNR_B_LOST		0x20	/* the leader has sent the result */
#define CNR_B_AROUND		0x40	/* around switches from the start, see around.c */

/*
 * struct cnr_block - a block between una and next + window, by serial & block_mask
 * @lead:	index of the lead slot, CNR_NONE if not led here or nothing came yet
 * @op:		index of the operation, valid once contributed
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
	u8	silent;
	u8	again;
	u32	asked_from;
	u64	sent_at;
	u64	asked_at;
	u64	deadline;
	u64	tag;
	u32	done;
	u32	sum;
	u8	load;
};

/*
 * struct cnr_source - one accepted contribution of a led block
 * @repeat:	an earlier entry has the same address, or a restoration names it: gets no result
 *		of its own
 * @merged:	it is an aggregate
 * @origin, @cookie: the switch that bypassed it and takes restorations, else 0
 */
struct cnr_source {
	__be32	addr;
	__be16	port;
	u8	repeat;
	u8	merged;
	u64	tag;
	__be32	origin;
	__be32	cookie;
};

/*
 * struct cnr_merger - somebody whose aggregates were right, see merge.c
 * @debt:	for blocks that they spoilt: the time until which it is paid
 */
struct cnr_merger {
	__be32	addr;
	__be16	port;
	u16	pad;
	u64	debt;
};

enum cnr_lead_state {
	CNR_L_FREE,
	CNR_L_COLLECTING,
	CNR_L_RESULT,		/* finished; results are going out */
};

/* cnr_lead.flags */
#define CNR_L_POSTED		0x01	/* own application has posted the block */
#define CNR_L_MERGED		0x02	/* an aggregate came: who is in is not known */
#define CNR_L_FAIL_ALL		0x04	/* FAILURE is going out to everybody */
#define CNR_L_FAIL_MISSING	0x08	/* FAILURE is going out to the ranks in @want */
#define CNR_L_ORIGIN		0x10	/* sources with an origin are still to be answered */
#define CNR_L_STRANGE		0x20	/* an aggregate of strangers came, see merge.c */
#define CNR_L_EXPECTED		0x40	/* @expected is known */

/*
 * struct cnr_lead - a block that this member leads
 * @count, @tag, @sum, @done, @load: merged over the contributions accepted
 * @sources:	entries in @source
 * @cursor:	next source (restorations, results) or rank (failures) to send to
 * @owed:	a restoration went to the origin of that source (number + 1), its result is next
 * @lists:	restorations that went out
 * @tries:	timer back-off
 * @odd, @odd_sig: a rank with another operation, and that operation's signature, if @odd is not
 *		CNR_NONE: who differs is only known when a second one has been heard
 * @asks:	times that ranks were asked to contribute again since something came
 * @hold:	finished: us since the first contribution came
 * @seen:	bitmap of the ranks whose single contributions were accepted
 * @want:	bitmap of the ranks that are missing, as far as that is known
 * @first_at:	when the first contribution came
 * @last_at:	when the last one came, or the block was posted or begun anew
 * @all_at:	since when it is known that all ranks have contributed; 0 if it is not
 * @asked_at:	when ranks were asked the last time; 0 if they were not
 * @first_ask:	when the first of @asks was
 * @expected:	see cnr_lead_expected()
 * @acc:	the sum so far, without own data
 * @tags:	of all ranks, if the core has slices; so far those of the first @tagged
 * @tagged:	see @tags
 */
struct cnr_lead {
	u32	block;
	u8	state;
	u8	attempt;
	u8	flags;
	u8	tries;
	u8	op;
	u8	dtype;
	u8	load;
	u8	pad;
	u16	count;
	u16	elements;
	u32	opsig;
	u32	sum;
	u32	done;
	u64	tag;
	u64	deadline;
	u32	odd_sig;
	u16	odd;
	u8	asks;
	u8	pad2;
	u32	hold;
	u32	sources;
	u32	cursor;
	u32	owed;
	u32	lists;
	struct cnr_source *source;
	u64	first_at;
	u64	last_at;
	u64	all_at;
	u64	asked_at;
	u64	first_ask;
	u64	expected;
	u64	*seen;
	u64	*want;
	u32	*acc;
	u64	*tags;
	u32	tagged;
};

enum cnr_op_state {
	CNR_O_ACTIVE,
	CNR_O_COMPLETE,		/* all results here; to be reported */
	CNR_O_REPORTED,		/* kept until everybody has the results */
};

/* struct cnr_operation - blocks [base, base + blocks) */
struct cnr_operation {
	struct cnr_op op;
	u32	base;
	u32	blocks;
	u32	blocks_done;
	u32	opsig;		/* 0 while the algorithm is not known */
	u32	plansig;	/* the same for whatever algorithm */
	u32	seq;
	u32	attempts;
	int	error;
	u8	state;
	u8	algorithm;	/* CANARY_ALG_AUTO: held until rank 0 has decided */
	u8	why;		/* enum canary_why */
};

/*
 * struct cnr_control - a message that waits to be polled
 * @arg:	by type: first entry of the member table (WELCOME, JOIN), elements (WELCOME with
 *		a cookie), count (REQUEST in rings), number of the question (ALIVE, WAIT), else
 *		unused
 * @nonce:	of the JOIN that is answered, if its sender is no member yet
 */
struct cnr_control {
	u8	type;
	u8	flags;
	u8	attempt;
	u8	pad;
	u16	rank;
	__be16	port;
	__be32	addr;
	u32	block;
	u32	arg;
	u64	nonce;
};

/* Messages that go to all members, one a poll; bits of cnr_comm.broadcast */
enum cnr_broadcast {
	CNR_CAST_WELCOME,
	CNR_CAST_READY,
	CNR_CAST_PROBE,
	CNR_CAST_PLAN,
	CNR_CAST_DONE,
	CNR_CAST_LEAVE,
	CNR_CAST_ABORT,
	CNR_CASTS
};

/*
 * What each packet touches comes first, large arrays last, so that it is few cache lines (those
 * that cnr_prefetch() names). Therefore @ring ends, and @cfg begins, with what packets touch; and
 * @stats begins with a line.
 */
struct cnr_comm {
	enum cnr_state state;
	u32	epoch;
	u16	elements;	/* agreed */
	u16	window;		/* agreed; power of two */
	u8	algorithm;	/* agreed, enum canary_algorithm */
	u8	trees;		/* agreed: how many, with CANARY_ALG_STATIC */
	u8	load;
	bool	merges;		/* switches aggregate here */
	bool	shunned;	/* not now, see around.c */
	bool	work;		/* for cnr_work() */
	bool	over;		/* FAILED, and all that was held for it is dropped */
	u16	slice;		/* as configured, if there are more members; else 0 */
	u8	key[16];	/* session key, PROTOCOL.md "Keys" */
	u32	*data_key;	/* of cnr_hash() */

	/* of the result that was sent last */
	u64	hash;
	__be32	hash_block;
	bool	hash_known;

	bool	table;		/* the member table is complete: the epoch has begun, ... */
	bool	began;		/* ... here, too */
	u8	round_load;	/* see window.c */
	bool	round_full;	/* cwnd was all in use */
	__be32	via;		/* our first aggregator, 0 if none is known */
	u32	broadcast;	/* bits of enum cnr_broadcast */

	/* the window, all serial */
	u32	una;		/* earliest block without result */
	u32	next;		/* next block to contribute */
	u32	posted;		/* first block that is not posted */
	u32	all_done;	/* everybody has all results before it */
	u32	all_sent;	/* everybody has contributed all blocks before it */
	u32	led;		/* all blocks before it that are led here are finished */
	u32	led_timed;	/* ... as it was when that block got its timer */
	u32	block_mask;
	struct cnr_block *block;
	u32	*txq;		/* serials of blocks to contribute (again) */
	u32	tx_head;
	u32	tx_tail;
	u32	leads;
	u32	leads_out;	/* lead slots with something to send */

	struct cnr_lead *lead;
	struct canary_peer *peer;	/* where ranks are */
	struct cnr_member *member;
	u64	deadline;
	u32	op_seq;		/* next operation */
	u32	op_report;	/* next to report */
	u32	op_release;	/* next to release */
	u32	op_passed;	/* first that lacks results */
	u32	control_head;
	u32	control_tail;
	u32	lead_next;	/* where to look for them first */
	u32	lead_free;	/* where to look for a free one first */
	u32	asked;		/* members that owe an answer */

	/* the network, see window.c */
	u64	srtt;
	u64	rttvar;
	u64	answer;		/* likewise, of answers that wait for nobody */
	u64	answer_var;
	u64	rto;
	u64	round_min;	/* shortest round trip of it */
	u64	round_sum;
	u32	cwnd;
	u32	round_end;	/* serial: a round is over with a result from there on */
	u32	round_losses;
	u32	round_results;
	u32	restore_pause;	/* blocks that the next restoration in vain costs; decays */
	u32	restore_skip;	/* of these still to come */

	struct cnr_ring ring;
	struct cnr_config cfg;

	/* switches that do not help, see around.c */
	u32	anew;		/* share of the blocks that were begun anew */
	u32	again;		/* share of these for which once was enough */
	u32	around;		/* blocks that they were shunned for the last time */
	u32	around_until;	/* serial: the first block to try them with again */
	u32	tried;		/* blocks since then */
	u64	around_end;	/* time to try them with again in any case */

	u64	alive_at;
	u64	probe_at;	/* no leader's PROBEs before */
	u64	done_at;
	u64	reordering;	/* how late a rank's packet came */
	u64	held_back;	/* how late an aggregate came */
	u64	asked_at;	/* last question about a loss */
	u64	base[2];	/* shortest round trip, of this period and the one before */
	u64	base_until;
	u64	linger_at;

	struct cnr_stats stats;

	/* rendezvous */
	u8	salt[16];
	u32	known;		/* entries of the table (member), ranks known (rank 0) */
	u32	known_all;	/* rank 0: all ranks before it are known */
	u32	ready;		/* rank 0: ranks that have the table */
	u32	missing;	/* ranks missing, as rank 0 says */
	u64	nonce;
	u64	join_cookie;	/* given to us by rank 0, 0: not yet */
	struct canary_peer answers_from; /* from there; so do refusals come */
	u32	joins;		/* JOINs sent */
	u64	join_at;
	u32	join_tries;
	struct canary_peer root;	/* rank 0 as it calls itself */
	u16	offer_mtu;
	bool	answered;	/* as large as the path to rank 0 is believed to be */
	bool	heard;		/* rank 0 answered at all */

	struct cnr_questions *questions;
	u32	first;		/* serial of the epoch's first block */
	u32	left;		/* members that are gone, ... */
	u32	dead;		/* ... and of these, did not say so */
	u16	collector;	/* the lowest rank that is not: it is told who has what */
	u32	behind;		/* collector: all before it have more than @done_base, ... */
	u32	done_base;	/* what all had when the look at them began; ... */
	u32	done_least;	/* they have at least this */
	u32	done_asked;	/* those from there on are still to be asked what they have */
	u32	done_goal;	/* results before it are here; does everybody have them? */
	u32	done_tries;

	struct cnr_joiner *joiner;	/* rank 0: by rank; else NULL */

	struct cnr_operation ops[CNR_OPS];
	struct cnr_plan plan;
	struct cnr_odd odd;
	u32	cast_cursor[CNR_CASTS];
	struct cnr_control control[CNR_CONTROLS];

	enum canary_abort why;
	int	error;
	u32	faults;		/* ranks at fault in all */
	u32	faults_known;
	u16	fault[CNR_FAULTS];
	u32	trouble_next;
	struct cnr_trouble trouble[CNR_TROUBLES];

	u64	merger_key;	/* odd, secret: of places in @merger */
	u64	strangers;	/* debt of those whose aggregates are not known, merge.c */
	struct cnr_merger merger[1 << CNR_MERGERS_BITS];

	u32	restored[CNR_RESTORED];	/* by led block: serial + 1; until somebody asks again */
	u32	own_key[CNR_DATA_KEY];	/* @data_key, unless the driver has a place for it */
	u8	scratch[CANARY_PAYLOAD_MAX] __attribute__((__aligned__(8)));
};

static inline void cnr_count(struct cnr_comm *c, enum cnr_counter counter)
{
	c->stats.counter[counter]++;
}

/* All blocks before it were contributed by @m, as far as is known. */
static inline u32 cnr_sent(const struct cnr_comm *c, const struct cnr_member *m)
{
	return c->first + m->sent;
}

/* And of those @m has the results. */
static inline u32 cnr_done(const struct cnr_comm *c, const struct cnr_member *m)
{
	return c->first + m->done;
}

static inline void cnr_arm(struct cnr_comm *c, u64 at)
{
	if (at < c->deadline)
		c->deadline = at;
}

/* What follows the header */
static inline const void *cnr_payload(const struct cnr_in *in)
{
	return in->payload ? in->payload : in->hdr + 1;
}

/* Elements that fit IP packets of @mtu bytes */
static inline u16 cnr_offer_elements(u32 mtu)
{
	return min_t(u32, CANARY_ELEMENTS(mtu), CANARY_ELEMENTS_MAX);
}

static inline u16 cnr_leader(const struct cnr_comm *c, u32 block)
{
	return block % c->cfg.members;
}

static inline struct cnr_block *cnr_block(struct cnr_comm *c, u32 block)
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

/* Is there more than one member's data in it, so that nobody vouches for the header? */
static inline bool cnr_is_merged(const struct canary_hdr *h)
{
	return h->type == CANARY_CONTRIBUTION && h->count != cpu_to_be16(1) &&
	       !(h->flags & CANARY_F_RING);
}

static inline bool cnr_seen(const struct cnr_lead *l, u16 rank)
{
	return l->seen[rank / 64] >> (rank % 64) & 1;
}

static inline bool cnr_wanted(const struct cnr_lead *l, u16 rank)
{
	return l->want[rank / 64] >> (rank % 64) & 1;
}

/* Is there no use in telling it anything? The dead may just have been cut off. */
static inline bool cnr_is_deaf(const struct cnr_member *m)
{
	return (m->flags & (CNR_M_LEFT | CNR_M_DEAD)) == CNR_M_LEFT;
}

static inline bool cnr_lead_sending(const struct cnr_lead *l)
{
	return l->state == CNR_L_RESULT ||
	       (l->flags & (CNR_L_FAIL_ALL | CNR_L_FAIL_MISSING));
}

/* result.c: results that others may write to */
void cnr_result_note(struct cnr_comm *c, struct cnr_operation *o, u32 block, const u32 *data);
void cnr_result_vouch(struct cnr_comm *c, const struct cnr_operation *o, u32 block);
bool cnr_result_changed(struct cnr_comm *c, const struct cnr_operation *o, u32 block,
			const u32 *data);

/* comm.c */
void cnr_all_sent(struct cnr_comm *c, u64 now, u32 sent);

/* op.c: operations */
int cnr_op_post(struct cnr_comm *c, u64 now, const struct cnr_op *op);
struct cnr_operation *cnr_find_op(struct cnr_comm *c, u32 block);
u32 *cnr_block_data(struct cnr_comm *c, const struct cnr_operation *op, u32 block, u16 *elements,
		    enum cnr_use use);
u16 cnr_block_elements(struct cnr_comm *c, const struct cnr_operation *op, u32 block);
const u32 *cnr_block_source(struct cnr_comm *c, const struct cnr_operation *op, u32 block,
			    u16 *elements);
void cnr_block_done(struct cnr_comm *c, u64 now, u32 block);
bool cnr_may_begin(const struct cnr_comm *c, const struct cnr_operation *o);
u32 cnr_proven_done(struct cnr_comm *c, const struct cnr_operation *o, u32 block);
void cnr_fail_ops(struct cnr_comm *c, int error);

/* member.c: contributions, results */
bool cnr_start_next(struct cnr_comm *c, u64 now);
void cnr_fill(struct cnr_comm *c, u64 now);
void cnr_block_asked(struct cnr_block *b, u64 now);
bool cnr_path_fails(struct cnr_comm *c, u64 now, const struct cnr_block *b, u16 leader);
void cnr_block_timers(struct cnr_comm *c, u64 now);
void cnr_block_all_sent(struct cnr_comm *c, u64 now, u32 block);
enum canary_drop cnr_result_input(struct cnr_comm *c, u64 now, const struct cnr_in *in);
enum canary_drop cnr_failure_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h);
enum canary_drop cnr_wait_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h);
bool cnr_contribution_build(struct cnr_comm *c, struct cnr_out *out);

/* restore.c: results by way of the switch that bypassed */
bool cnr_restore_build(struct cnr_comm *c, struct cnr_lead *l, struct cnr_out *out);
void cnr_restore_failed(struct cnr_comm *c, u32 block);

/* leader.c */
struct cnr_lead *cnr_lead_get(struct cnr_comm *c, u32 block);
void cnr_lead_posted(struct cnr_comm *c, u64 now, u32 block);
void cnr_lead_clear(struct cnr_comm *c, struct cnr_lead *l);
void cnr_lead_send(struct cnr_comm *c, struct cnr_lead *l, u8 state, u8 flag);
void cnr_lead_alive(struct cnr_comm *c, u64 now, const struct canary_hdr *h, bool more);
void cnr_lead_differs(struct cnr_comm *c, u64 now, struct cnr_lead *l, u16 rank, u32 opsig);
enum canary_drop cnr_contribution_input(struct cnr_comm *c, u64 now, const struct cnr_in *in);
enum canary_drop cnr_request_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h);
void cnr_lead_drop_all(struct cnr_comm *c);
bool cnr_lead_build(struct cnr_comm *c, u64 now, struct cnr_out *out);
void cnr_lead_finish(struct cnr_comm *c, u64 now, struct cnr_lead *l, const u32 *sum);
bool cnr_result_build(struct cnr_comm *c, u32 block, u8 attempt, struct cnr_out *out);

/* work.c: what takes long */
void cnr_tags_begin(struct cnr_comm *c, struct cnr_lead *l);
bool cnr_tags_known(const struct cnr_comm *c, const struct cnr_lead *l);
void cnr_ring_tags_begin(struct cnr_comm *c, u32 block);
bool cnr_ring_tags_known(const struct cnr_comm *c, u32 block);
u64 cnr_ring_tags_sum(const struct cnr_comm *c, u32 block, u32 opsig);
u64 cnr_tags_of(const struct cnr_comm *c, const struct cnr_lead *l, u16 rank);

/* Is @block one that we have begun, as a ring? Asked for each packet, and mostly there is none. */
static inline bool cnr_is_ring(struct cnr_comm *c, u32 block)
{
	return c->ring.ops && cnr_ring_begun(c, block);
}

/* merge.c: whose aggregates are taken */
bool cnr_merger_known(struct cnr_comm *c, const struct cnr_in *in);
u64 cnr_lead_expected(struct cnr_comm *c, struct cnr_lead *l);
void cnr_lead_discard(struct cnr_comm *c, struct cnr_lead *l);
enum canary_drop cnr_merge_admit(struct cnr_comm *c, u64 now, struct cnr_lead *l,
				 const struct cnr_in *in);
bool cnr_merge_replaces(struct cnr_comm *c, struct cnr_lead *l, const struct canary_hdr *h);
void cnr_merge_doubt(struct cnr_comm *c, u64 now, struct cnr_lead *l, const struct canary_hdr *h);
bool cnr_merge_witness(struct cnr_comm *c, struct cnr_lead *l);
void cnr_merge_taken(struct cnr_comm *c, u64 now, struct cnr_lead *l, const struct cnr_source *s);
void cnr_merge_proven(struct cnr_comm *c, struct cnr_lead *l);
void cnr_merge_spoilt(struct cnr_comm *c, u64 now, const struct cnr_lead *l);

/* around.c: switches that do not help */
void cnr_around_begin(struct cnr_comm *c);
bool cnr_around(struct cnr_comm *c, u64 now, u32 block);
void cnr_around_done(struct cnr_comm *c, u64 now, const struct cnr_block *b);
void cnr_around_learn(struct cnr_comm *c, bool good);
u8 cnr_around_attempt(struct cnr_comm *c, u8 attempt);

/* missing.c: contributions that do not come */
u32 cnr_led(struct cnr_comm *c);
void cnr_lead_rearm(struct cnr_comm *c, struct cnr_lead *l, u64 now);
void cnr_lead_restart(struct cnr_comm *c, u64 now, struct cnr_lead *l);
void cnr_lead_next(struct cnr_comm *c, u64 now);
void cnr_lead_timers(struct cnr_comm *c, u64 now);
void cnr_lead_heard(struct cnr_comm *c, u64 now);
void cnr_lead_all_sent(struct cnr_comm *c, u64 now, u32 block);

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

#endif /* CANARY_CORE_COMM_H */
