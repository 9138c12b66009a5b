/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 0, ground: the state of a communicator. One file changes each part, and is named with it.
 * Layers above may read it. It lives as long as the communicator. The headers of the layers say
 * what the files offer each other; drivers see core.h only.
 *
 * Timers (all in ns; struct cnr_comm.deadline is a lower bound of the earliest):
 *	block		a result is missing: the earliest one, or one that is due. The member sends
 *			REQUEST; cnr_block.deadline
 *	lead		a block that this member leads lacks contributions, and is the earliest
 *			such, or all ranks have contributed to it; cnr_lead.deadline
 *	join		the member repeats its JOIN; cnr_rendezvous.at
 *	done		results are kept, as it is not known whether all others have them;
 *			cnr_progress.at
 *	alive		somebody owes an answer; cnr_alive.at
 *	linger		a closed member stops serving others; cnr_progress.linger_at
 *	plan		an operation is held until rank 0 tells its algorithm; cnr_plan.ask_at
 *	greeting	not all are in that form it from a table; cnr_formed.at. The others rest
 */
#ifndef CANARY_CORE_COMM_H
#define CANARY_CORE_COMM_H

#include "core.h"

struct cnr_algorithm;
struct cnr_block;
struct cnr_encoding;
struct cnr_joiner;
struct cnr_lead;
struct cnr_questions;
struct cnr_ring_item;
struct cnr_shape;

#define CNR_NONE		0xffff	/* no lead slot, no rank */
#define CNR_CONTROLS		256	/* most control messages that wait to be polled */
#define CNR_FAULTS		64	/* most ranks at fault or missing that are known by name */
#define CNR_RESTORED		256	/* blocks that are remembered as restored; a power of two */

#define CNR_MERGERS_BITS	6	/* at most one merger is known for each value */

/* cnr_member.flags */
#define CNR_M_KNOWN		0x01	/* address known */
#define CNR_M_READY		0x02	/* rank 0: has the member table; from a table: it is in */
#define CNR_M_LEFT		0x04	/* gone: it said LEAVE, or CNR_M_DEAD is set */
#define CNR_M_PROBE		0x08	/* a PROBE is to be sent */
#define CNR_M_CLAIMED		0x10	/* rank 0: a JOIN with another nonce claimed it */
#define CNR_M_DEAD		0x20	/* gone, because nothing was heard of it */
#define CNR_M_NEEDS		0x40	/* rank 0, from a table: it has an operation that waits */

/*
 * struct cnr_member - what is known of one rank, beside its address. Numbers of blocks count from
 * the first block of the epoch. So zeros are right for a rank that was never heard, and nothing has
 * to be written at the start: most members never hear most of thousands of ranks. See cnr_sent(),
 * cnr_done().
 * @sent:	it contributed all blocks before this one
 * @first_aggregator:	its first aggregator, 0 if none is known
 * @done:	collector: it needs nothing of blocks before this one; left members: it ended there
 * @asked:	since when it owes an answer, 0 if it does not
 * @probes:	how often it was sent PROBE since then
 */
struct cnr_member {
	u8	flags;
	u8	probes;
	u16	pad;
	u32	sent;
	u32	done;
	__be32	first_aggregator;
	u64	asked;
};

enum cnr_op_state {
	CNR_O_ACTIVE,
	CNR_O_COMPLETE,		/* all blocks are done here; to be reported */
	CNR_O_REPORTED,		/* kept as long as others may ask for it */
};

/*
 * struct cnr_part - a block of an operation, as its encoding cuts it
 * @index:	number of the block in the operation
 * @first, @elements: the elements of the vector that it is about; or what the encoding counts
 * @after:	how many blocks of the operation, from the first one, must have results before the
 *		words of this one can be made
 * @length:	bytes of each contribution: a multiple of 4 and of the kind's lanes
 * @result:	bytes of its result: a multiple of 4; at most @length, unless that is 0
 * @kind:	enum canary_kind
 * @list:	enum canary_kind of what members send to the leader, if these are lists: one with
 *		CANARY_K_SHARDS. Else 0, and they send words of @kind. @length, @result and @kind
 *		are of the words that lists are combined into
 * @led:	this member makes the result, so others may ask for it
 */
struct cnr_part {
	u32	index;
	u32	first;
	u32	after;
	u16	elements;
	u16	length;
	u16	result;
	u8	kind;
	u8	list;
	bool	led;
};

/*
 * struct cnr_operation - blocks [base, base + blocks)
 * @settle_at:	0; or how many results, from the first one, tell how many blocks it has. @blocks may
 *		grow until then
 * @ready:	so many of its blocks, from the first one, wait for no results any more
 * @full:	what @alike of its blocks are, from number full.index on. They differ in their place
 *		only: @first grows from 0 on by @elements. Of them, @after is not told
 *
 * @base, @algorithm and all that follows from them are known when the operations before it have
 * settled (cnr_op_number()).
 */
struct cnr_operation {
	struct cnr_op op;
	u32	base;
	u32	blocks;
	u32	blocks_done;
	u32	settle_at;
	u32	ready;
	u32	reserved;	/* serial numbers for blocks that it may still get */
	u32	opsig;		/* 0 while the algorithm is not known */
	u32	plansig;	/* opsig of algorithm 0, which PLAN carries */
	u32	seq;
	u32	attempts;
	int	error;
	u32	each;		/* encoding.c: elements of a full block */
	u32	alike;
	struct cnr_part full;
	bool	plain;		/* its words are its elements */
	bool	switches;	/* may they combine its first block? */
	u8	element;	/* bytes of an element, or of what cnr_encoding.numbers counts */
	size_t	memory_own;	/* bytes of op.memory for the encoding; a ring's words follow */
	const struct cnr_encoding *encoding;
	const struct cnr_shape *shape;
	u8	state;
	u8	algorithm;	/* CANARY_ALG_AUTO: held until rank 0 has decided */
	u8	why;		/* enum canary_why */
	bool	observed;	/* its blocks count for struct cnr_observed */
	const struct cnr_algorithm *run; /* runs @algorithm; NULL: held */
};

/*
 * struct cnr_control - a message that waits to be polled
 * @arg:	by type: first entry of the member table (WELCOME, JOIN), number of members as the
 *		JOIN says (COOKIE, REFUSED), what is wanted (RING_REQUEST), number of the question
 *		(ALIVE, WAIT, RING_WAIT, GREETING); else unused
 * @nonce:	of the JOIN or GREETING that is answered; others' GREETING: the session
 */
struct cnr_control {
	u8	type;
	u8	flags;
	u8	attempt;
	u8	pad;
	u16	rank;
	__be16	port;
	u64	nonce;
	struct canary_addr addr;
	u32	block;
	u32	arg;
};

/* The collectives, in the order in which they are asked; see struct cnr_algorithm */
enum cnr_collective {
	CNR_RING,
	CNR_TREE,
	CNR_COLLECTIVES
};

/* Messages that go to all members, one member at each poll; bits of cnr_comm.broadcast */
enum cnr_broadcast {
	CNR_CAST_WELCOME,
	CNR_CAST_READY,
	CNR_CAST_GREETING,
	CNR_CAST_PROBE,
	CNR_CAST_PLAN,
	CNR_CAST_DONE,
	CNR_CAST_TAKEN,
	CNR_CAST_LEAVE,
	CNR_CAST_ABORT,
	CNR_CASTS
};

/*
 * struct cnr_end - how the communicator ended (FAILED), outbox.c; while JOINING, who is missing
 * @faults:	how many ranks are at fault; @known of them are in @fault
 * @dropped:	whatever was held for the communicator has been dropped
 */
struct cnr_end {
	enum canary_abort why;
	int	error;
	bool	dropped;
	u32	faults;
	u32	known;
	u16	fault[CNR_FAULTS];
};

/*
 * struct cnr_rendezvous - who the members are, join.c
 * @known:	entries of the table that are here (member), or ranks that are known (rank 0)
 * @known_all:	rank 0: all ranks before it are known
 * @ready:	rank 0: how many ranks have the table
 * @missing:	how many ranks are missing, as rank 0 says
 * @nonce:	of our JOINs
 * @cookie:	the cookie that rank 0 gave us; 0: none yet
 * @answers_from: where the cookie came from. Refusals are taken only from there
 * @sent:	how many JOINs were sent
 * @at:		timer of the next JOIN; rank 0: of its next look for silent ranks
 * @tries:	JOINs since the last news
 * @root:	address and port of rank 0, as it calls itself
 * @mtu:	largest packet that this member offers
 * @answered:	rank 0 has received our largest offer, so smaller ones are not needed
 * @heard:	rank 0 has answered something
 * @joiner:	rank 0: by rank; else NULL
 */
struct cnr_rendezvous {
	u32	known;
	u32	known_all;
	u32	ready;
	u32	missing;
	u64	nonce;
	u64	cookie;
	struct canary_peer answers_from;
	u32	sent;
	u64	at;
	u32	tries;
	struct canary_peer root;
	u16	mtu;
	bool	answered;
	bool	heard;
	struct cnr_joiner *joiner;
};

/*
 * struct cnr_formed - a communicator that was formed from a table, greet.c; zeros if it was not.
 * Ranks other than 0 greet rank 0, and a nonce of each is let in
 * @until:	until then, ranks that are not in may not be there yet
 * @began:	when it was formed
 * @since:	since when there are greetings; they end while nobody needs anything
 * @at:		timer of the next greeting, while somebody is missing
 * @sent:	when the latest greeting was sent; of rank 0: when one came
 * @asked:	when the first of @silent greetings was sent
 * @silent:	greetings without answer
 * @tries:	greetings since the last news
 * @question:	number of our last greeting
 * @answered:	highest number that was answered
 * @in_from:	@question when we were let in
 * @in:		rank 0: how many are in
 * @needs:	rank 0: how many others have operations that wait (CNR_M_NEEDS)
 * @nonce:	ours; not of rank 0
 * @session:	of rank 0, drawn by it; 0: not known yet
 * @challenge:	of rank 0, for us; not of rank 0
 * @key:	of greetings: from the table
 */
struct cnr_formed {
	u64	until;
	u64	began;
	u64	since;
	u64	at;
	u64	sent;
	u64	asked;
	u32	silent;
	u32	tries;
	u32	question;
	u32	answered;
	u32	in_from;
	u32	in;
	u32	needs;
	u64	nonce;
	u64	session;
	u64	challenge;
	u8	key[16];
};

/*
 * struct cnr_alive - who lives, alive.c
 * @asked:	members that owe an answer
 * @left:	members that are gone
 * @dead:	those of @left that did not say LEAVE
 * @at:		timer, while somebody owes an answer
 */
struct cnr_alive {
	u32	asked;
	u32	left;
	u32	dead;
	u64	at;
};

/* struct cnr_troubles - the latest things that others did wrong, and who, trouble.c */
struct cnr_troubles {
	u32	next;
	struct cnr_trouble list[CNR_TROUBLES];
};

/*
 * struct cnr_progress - which results all members have, and when a member may go, leave.c
 * @goal:	results before it are here. It is to be found out whether all others have them
 * @tries:	how often that was asked since
 * @at:		timer, while results are kept
 * @linger_at:	timer of a closed member: it serves others no longer than this
 * @asked:	the ranks from this one on are still to be asked what they have
 * @collector:	the lowest rank that is not gone. Members tell it what they have
 * @cursor:	collector: all ranks before it have more than @base
 * @base:	collector: what all had when the present look at all ranks began
 * @least:	collector: the ranks before @cursor have at least this
 */
struct cnr_progress {
	u32	goal;
	u32	tries;
	u64	at;
	u64	linger_at;
	u32	asked;
	u16	collector;
	u32	cursor;
	u32	base;
	u32	least;
};

/*
 * struct cnr_network - what is believed of the network, window.c. A round is over when a window of
 * blocks has come back. Fields named round_... are about the present round.
 * @srtt, @rttvar, @rto: of round trips, as in RFC 6298
 * @answer, @answer_var: mean and deviation of the time to an answer that waits for nobody
 * @cwnd:	blocks that the network is trusted with
 * @round_end:	serial: a result from this block on ends the round
 * @round_min:	shortest round trip
 * @round_sum:	sum of the round trips
 * @round_load:	fullest queue that results reported
 * @round_full:	@cwnd was all in use
 * @reordering:	how late a rank's packet may come
 * @held_back:	how late an aggregate may come
 * @asked_at:	time of the last question about a loss
 * @base:	shortest round trip, of this period and of the one before
 * @base_until:	end of this period
 * @queued:	bytes of ours that our host's queue had room for when it last refused a packet
 * @queued_at:	when it refused that packet, or 0
 * @single_until: packets leave one by one until then, see cnr_host_burst()
 */
struct cnr_network {
	u64	srtt;
	u64	rttvar;
	u64	answer;
	u64	answer_var;
	u64	rto;
	u64	round_min;
	u64	round_sum;
	u32	cwnd;
	u32	round_end;
	u32	round_losses;
	u32	round_results;
	u8	round_load;
	bool	round_full;
	u64	reordering;
	u64	held_back;
	u64	asked_at;
	u32	queued;
	u64	queued_at;
	u64	single_until;
	u64	base[2];
	u64	base_until;
};

/*
 * struct cnr_tree - blocks that a tree sums up, tree.h
 * @txq:	serials of blocks to contribute (again)
 * @leads:	slots in @lead, for blocks that are led here
 * @out_first, @out_last: slots that have something to send, linked by cnr_lead.out_next; number
 *		+ 1, 0: none
 * @lead_free:	where to look for a free slot first
 * @kept:	slot of the latest kept tree, see tree_kept.c
 * @led_timed:	cnr_comm.led, as it was when that block got its timer
 * @merges:	switches aggregate here
 * @told:	silent blocks that are led here (tree_taken.c): @una when all members were told last
 * @untold:	of these: how many were finished since then
 * @silent_end:	of these: where their operation ends
 * @probe_at:	leaders send no PROBEs before this time
 */
struct cnr_tree {
	u32	*txq;
	u32	tx_head;
	u32	tx_tail;
	struct cnr_lead *lead;
	u32	leads;
	u32	out_first;
	u32	out_last;
	u32	lead_free;
	u32	kept;
	u32	led_timed;
	bool	merges;
	u32	told;
	u32	untold;
	u32	silent_end;
	u64	probe_at;
};

/*
 * struct cnr_around - whether switches help, tree_around.c
 * @now:	blocks go around switches at present
 * @anew:	share of the blocks that were begun anew
 * @again:	of the blocks that were begun anew once, through switches: share that ended well
 * @blocks:	for how many blocks switches were given up the last time
 * @until:	serial: the first block that tries switches again
 * @end:	time at which switches are tried again in any case
 * @tried:	blocks since switches are tried again
 */
struct cnr_around {
	bool	now;
	u32	anew;
	u32	again;
	u32	blocks;
	u32	until;
	u32	tried;
	u64	end;
};

/*
 * struct cnr_merger - a source whose aggregates were right, see tree_trust.c
 * @switch_id:	the number that it calls itself by in them; 0: unknown
 * @debt:	for blocks that its aggregates spoilt: the time at which the debt is paid
 */
struct cnr_merger {
	struct canary_peer at;
	__be32	switch_id;
	u64	debt;
};

/*
 * struct cnr_trust - whose aggregates are taken, tree_trust.c
 * @key:	secret odd numbers that choose places in @merger, one for each word of an address
 * @strangers:	debt of all strangers together
 */
struct cnr_trust {
	u64	key[4];
	u64	strangers;
	struct cnr_merger merger[1 << CNR_MERGERS_BITS];
};

/*
 * struct cnr_restore - results by way of switches, tree_restore.c
 * @pause:	how many blocks do without restoration after one that failed. It doubles with each
 *		failure, and decays
 * @skip:	how many blocks still do without restoration
 * @block:	by led block: serial + 1 if it was restored and nobody has asked since
 */
struct cnr_restore {
	u32	pause;
	u32	skip;
	u32	block[CNR_RESTORED];
};

/*
 * struct cnr_ring - own place in the ring, ring.c
 * @at:		ranks in the order of the ring
 * @place:	the reverse: place in the ring, by rank
 * @srtt, @rttvar, @rto: of the time from the start of a block to its result, as in RFC 6298
 * @shift:	how often the timer was doubled since the last measurement
 * @slowed_at:	when it was doubled last
 * @known:	the order of the ring is known, and so are @own, @next and @prev
 * @wanted:	the order is needed; @steps steps of finding it were done
 * @led:	the block, led here, whose tags are being added up. Another one follows only when
 *		this block is finished: ring_tags.c
 * @tagged:	how many ranks' tags of block @led are in @expected
 * @queue:	what is to be sent, [tail, head) by @mask
 */
struct cnr_ring {
	u16	*at;
	u16	*place;
	u64	srtt;
	u64	rttvar;
	u64	rto;
	u64	slowed_at;
	u16	own;
	u16	next;
	u16	prev;
	bool	known;
	bool	wanted;
	u32	steps;
	u32	led;
	u32	tagged;
	u64	expected;
	u8	shift;
	struct cnr_ring_item *queue;
	u32	mask;
	u32	head;
	u32	tail;
};

/* struct cnr_announced - what rank 0 has told about an operation that is not posted here yet */
struct cnr_announced {
	bool	valid;
	u8	algorithm;
	u8	why;
	u32	seq;
	u32	plansig;
};

/*
 * struct cnr_plan - which algorithm runs what, plan.c
 * @held:	operations posted whose algorithm is not known
 * @ask_at:	when to ask rank 0 (again), while operations are held
 * @announced: by sequence number
 * @tell, @tell_end: rank 0: sequence numbers of the operations that members are being told about
 * @algorithm, @why: rank 0: what it found best
 * @rings:	rank 0: operations since it last looked at trees
 * @last, @last_algorithm, @last_why: the latest operation that was not short, if there was one
 */
struct cnr_plan {
	u32	held;
	u64	ask_at;
	u32	tries;
	struct cnr_announced announced[CNR_OPS];
	u32	tell;
	u32	tell_end;
	u8	algorithm;
	u8	why;
	u32	rings;
	u32	last;
	u8	last_algorithm;
	u8	last_why;
};

/*
 * struct cnr_observed - rank 0: what became of blocks that it led as trees
 * @blocks:	how many blocks
 * @sources:	how many contribution packets came for them
 * @contributors: how many members contributed to them
 * @again:	how many of the blocks were begun anew
 */
struct cnr_observed {
	u64	blocks;
	u64	sources;
	u64	contributors;
	u64	again;
};

/* struct cnr_dissent - a rank that runs another operation than ours; a third one is being asked */
struct cnr_dissent {
	u16	rank;		/* CNR_NONE: none */
	u32	block;
	u32	sig;
};

/*
 * Fields that each packet touches come first, large arrays last. So a packet needs few cache lines,
 * which cnr_prefetch() names. For the same reason such fields end @ring and begin @cfg, and @stats
 * begins a cache line.
 */
struct cnr_comm {
	enum cnr_state state;
	u32	epoch;		/* join.c sets it, and all agreed values */
	u16	length;		/* agreed: bytes of data in a packet, at most */
	u16	window;		/* agreed; power of two */
	u8	algorithm;	/* agreed, enum canary_algorithm */
	u8	trees;		/* agreed: number of static trees, or 0 */
	u8	run_bits;	/* agreed: a member leads 1 << run_bits blocks in a row */
	u8	load;
	bool	work;		/* there is something for cnr_work() to do */
	bool	turns;		/* leaders take turns in all operations, see cnr_leader() */
	bool	kept;		/* all operations keep their results, see cnr_shape.kept */
	u16	slice;		/* as configured, if there are more members; else 0 */
	u8	key[16];	/* session key; PROTOCOL.md, "Keys, tags, sums" */
	u32	*data_key;	/* of cnr_hash() */

	/* message.c: hash of the data of the result that was sent last */
	u64	hash;
	__be32	hash_block;
	bool	hash_known;

	bool	table;		/* all members and the session key are known */
	bool	began;		/* the epoch has begun here: cnr_begin() was called */
	bool	waits;		/* formed from a table, and not all are in: no block begins */
	__be32	first_aggregator; /* our first aggregator, 0 if none is known */
	u32	broadcast;	/* outbox.c: bits of enum cnr_broadcast */
	u8	news, answers, contributes; /* a bit for each collective: struct cnr_algorithm */

	/* The window, changed by block.c unless another file is named. All are serial numbers. */
	u32	una;		/* earliest block that is not done here; sent as "acked" */
	u32	next;		/* next block to contribute */
	u32	posted;		/* op.c: first block that is not posted */
	u32	all_done;	/* leave.c: nobody needs anything of blocks before it */
	u32	all_sent;	/* tree_sent.c: everybody has contributed all blocks before it */
	u32	led;		/* tree_missing.c: all before it that are led here are finished */
	u32	block_mask;
	struct cnr_block *block;
	struct cnr_tree tree;

	const struct cnr_algorithm *collectives[CNR_COLLECTIVES];
	const struct cnr_algorithm *latest;	/* runs the block that was begun last; or NULL */
	u32	ops_run;	/* op.c: operations held whose algorithm is known */
	u32	ops_run_by[CNR_COLLECTIVES]; /* those that each of them runs */

	struct canary_peer *peer;	/* where ranks are */
	struct cnr_member *member;
	u64	deadline;
	u32	op_seq;		/* op.c: next operation */
	u32	op_number;	/* next to get serial numbers */
	u32	reserved;	/* serial numbers that operations posted may still take */
	u32	wanted;		/* those that the last operation needs that had to wait for them */
	bool	unsettled;	/* the operation before op_number may grow */
	bool	settled;	/* it has settled since cnr_go_on() looked */
	u32	op_report;	/* next to report */
	u32	op_release;	/* next to release */
	u32	op_passed;	/* first that lacks results */
	u32	control_head;	/* outbox.c; poll.c takes from the tail */
	u32	control_tail;
	struct cnr_alive alive;

	struct cnr_network net;
	struct cnr_around around;
	struct cnr_ring ring;
	struct cnr_config cfg;

	struct cnr_stats stats;

	u8	salt[16];	/* of the session key */
	struct cnr_rendezvous join;
	struct cnr_questions *questions;
	u32	first;		/* serial of the epoch's first block */
	struct cnr_progress progress;
	struct cnr_formed formed;

	struct cnr_operation ops[CNR_OPS];
	struct cnr_plan plan;
	struct cnr_observed observed;
	struct cnr_dissent dissent;
	u32	cast_cursor[CNR_CASTS];
	struct cnr_control control[CNR_CONTROLS];

	struct cnr_end end;
	struct cnr_troubles trouble;

	struct cnr_trust trust;
	struct cnr_restore restore;
	u32	own_key[CNR_DATA_KEY];	/* @data_key, unless the driver has a place for it */
	u8	scratch[CANARY_PAYLOAD_MAX] __attribute__((__aligned__(8)));
};

static inline void cnr_count(struct cnr_comm *c, enum cnr_counter counter)
{
	c->stats.counter[counter]++;
}

/* @m has contributed all blocks before the one returned, as far as is known. */
static inline u32 cnr_sent(const struct cnr_comm *c, const struct cnr_member *m)
{
	return c->first + m->sent;
}

/* @m needs nothing of the blocks before the one returned. */
static inline u32 cnr_done(const struct cnr_comm *c, const struct cnr_member *m)
{
	return c->first + m->done;
}

static inline void cnr_arm(struct cnr_comm *c, u64 at)
{
	if (at < c->deadline)
		c->deadline = at;
}

/* Does @in come from @p? */
static inline bool cnr_is_at(const struct canary_peer *p, const struct cnr_in *in)
{
	return p->port == in->port && canary_addr_equal(&p->addr, &in->addr);
}

static inline const void *cnr_payload(const struct cnr_in *in)
{
	return in->payload ? in->payload : in->hdr + 1;
}

/* Bytes of the headers before the data of a packet to or from @addr */
static inline u32 cnr_headers(const struct canary_addr *addr)
{
	return canary_addr_ip_header(addr) + CANARY_UDP_HEADERS;
}

/* Bytes of data that fit IP packets of @mtu bytes from @addr */
static inline u16 cnr_offer_length(const struct canary_addr *addr, u32 mtu)
{
	return min_t(u32, (mtu - cnr_headers(addr)) & ~3U, CANARY_PAYLOAD_MAX);
}

/* Return: how many blocks a member leads in a row; 1 until that is agreed */
static inline u32 cnr_led_run(const struct cnr_comm *c)
{
	return 1U << c->run_bits;
}

#endif /* CANARY_CORE_COMM_H */
