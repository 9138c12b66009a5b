/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 0, ground: the state of a communicator. Each part of it is changed by the file that is
 * named with it, and read by layers above. It lives as long as the communicator. What the files
 * offer to each other is in the headers of their layers; drivers see core.h only.
 *
 * Timers (all in ns; struct cnr_comm.deadline is a lower bound of the earliest):
 *	block		the earliest result is missing, or one that was lost for sure: REQUEST;
 *			cnr_block.deadline
 *	lead		a block that this member leads lacks contributions, and is the earliest
 *			such, or all ranks have contributed to it; cnr_lead.deadline
 *	join		rendezvous is repeated; cnr_rendezvous.at
 *	done		results are kept for others since it is not known whether they have them;
 *			cnr_progress.at
 *	alive		somebody owes an answer; cnr_alive.at
 *	linger		closed: the longest that others are served; cnr_progress.linger_at
 *	plan		an operation is held until rank 0 tells its algorithm; cnr_plan.ask_at
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
#define CNR_CONTROLS		256	/* control messages waiting to be polled */
#define CNR_FAULTS		64	/* ranks at fault or missing that are remembered by name */
#define CNR_RESTORED		256	/* blocks that are remembered as restored; a power of two */

#define CNR_MERGERS_BITS	6	/* mergers known, at most one for each value */

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
 * @first_aggregator:	its first aggregator, 0 if none is known
 * @done:	collector: it needs nothing of blocks before this one; left members: it ended there
 * @asked:	since when it owes an answer, 0 if it does not
 * @probes:	how often it was sent PROBE since
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
	u32	each;		/* encoding.c: elements of a block, where words are elements */
	bool	plain;		/* and they are */
	u8	element;	/* bytes of one */
	size_t	memory_own;	/* of op.memory: the encoding's; words of rings are behind */
	const struct cnr_encoding *encoding;
	const struct cnr_shape *shape;
	u8	state;
	u8	algorithm;	/* CANARY_ALG_AUTO: held until rank 0 has decided */
	u8	why;		/* enum canary_why */
	bool	observed;	/* its blocks count for struct cnr_observed */
	const struct cnr_algorithm *run; /* that of @algorithm; NULL: held */
};

/*
 * struct cnr_control - a message that waits to be polled
 * @arg:	by type: first entry of the member table (WELCOME, JOIN), length (WELCOME with
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

/* Messages that go to all members, one a poll; bits of cnr_comm.broadcast */
enum cnr_broadcast {
	CNR_CAST_WELCOME,
	CNR_CAST_READY,
	CNR_CAST_PROBE,
	CNR_CAST_PLAN,
	CNR_CAST_DONE,
	CNR_CAST_TAKEN,
	CNR_CAST_LEAVE,
	CNR_CAST_ABORT,
	CNR_CASTS
};

/*
 * struct cnr_end - how it ended (FAILED), outbox.c; while JOINING, who is missing
 * @faults:	ranks at fault in all; @known of them are in @fault
 * @dropped:	and all that was held for it is dropped
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
 * @known:	entries of the table (member), ranks known (rank 0)
 * @known_all:	rank 0: all ranks before it are known
 * @ready:	rank 0: ranks that have the table
 * @missing:	ranks missing, as rank 0 says
 * @nonce:	of our JOINs
 * @cookie:	given to us by rank 0, 0: not yet
 * @answers_from: where that came from; so do refusals
 * @sent:	JOINs
 * @at:		timer of the next one; rank 0: of a look at who is silent
 * @tries:	JOINs since something new was heard
 * @root:	rank 0 as it calls itself
 * @mtu:	largest packet offered
 * @answered:	as large as the path to rank 0 is believed to be
 * @heard:	rank 0 answered at all
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
 * struct cnr_alive - who lives, alive.c
 * @asked:	members that owe an answer
 * @left:	members that are gone, ...
 * @dead:	... and of these, did not say so
 * @at:		timer, while somebody owes an answer
 */
struct cnr_alive {
	u32	asked;
	u32	left;
	u32	dead;
	u64	at;
};

/* struct cnr_troubles - who does what wrong, the latest ones, trouble.c */
struct cnr_troubles {
	u32	next;
	struct cnr_trouble list[CNR_TROUBLES];
};

/*
 * struct cnr_progress - what all have, and when one may go, leave.c
 * @goal:	results before it are here; does everybody have them?
 * @tries:	how often that was asked since
 * @at:		timer, while results are kept
 * @linger_at:	closed: the longest that others are served
 * @asked:	members from there on are still to be asked what they have
 * @collector:	the lowest rank that is not gone: it is told who has what
 * @cursor:	collector: all before it have more than @base, ...
 * @base:	... which all had when the look at them began; ...
 * @least:	... they have at least this
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
 * blocks has come back.
 * @srtt, @rttvar, @rto: of round trips, as in RFC 6298
 * @answer, @answer_var: likewise, of answers that wait for nobody
 * @cwnd:	blocks that the network is trusted with
 * @round_end:	serial: a round is over with a result from there on; the rest is of this one
 * @round_min:	shortest round trip
 * @round_sum:	of round trips
 * @round_load:	of queues, as results say
 * @round_full:	@cwnd was all in use
 * @reordering:	how late a rank's packet came
 * @held_back:	how late an aggregate came
 * @asked_at:	last question about a loss
 * @base:	shortest round trip, of this period and the one before
 * @base_until:	end of this period
 * @queued:	bytes of ours that our host's queue had room for when it had refused one; ...
 * @queued_at:	... when that was, or 0
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
	u64	base[2];
	u64	base_until;
};

/*
 * struct cnr_tree - blocks that are summed up by a tree, tree.h
 * @txq:	serials of blocks to contribute (again)
 * @leads:	slots in @lead, for blocks that are led here
 * @leads_out:	those with something to send; @lead_next: where to look for them first
 * @lead_free:	where to look for a free one first
 * @led_timed:	cnr_comm.led, as it was when that block got its timer
 * @merges:	switches aggregate here
 * @told, @untold, @silent_end: of silent blocks that are led here, tree_taken.c: @una when all were
 *		told the last time, how many are finished since, where their operation ends
 * @probe_at:	no leader's PROBEs before
 */
struct cnr_tree {
	u32	*txq;
	u32	tx_head;
	u32	tx_tail;
	struct cnr_lead *lead;
	u32	leads;
	u32	leads_out;
	u32	lead_next;
	u32	lead_free;
	u32	led_timed;
	bool	merges;
	u32	told;
	u32	untold;
	u32	silent_end;
	u64	probe_at;
};

/*
 * struct cnr_around - whether switches help, tree_around.c
 * @now:	they do not: blocks go around them
 * @anew:	share of the blocks that were begun anew
 * @again:	share of these for which once was enough
 * @blocks:	that went around them the last time
 * @until:	serial: the first block to try them with again; ...
 * @end:	... or the time to do so in any case
 * @tried:	blocks since then
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
 * struct cnr_merger - somebody whose aggregates were right, see tree_trust.c
 * @switch_id:	the number that it calls itself by in them, 0: by none
 * @debt:	for blocks that they spoilt: the time until which it is paid
 */
struct cnr_merger {
	struct canary_peer at;
	__be32	switch_id;
	u64	debt;
};

/*
 * struct cnr_trust - whose aggregates are taken, tree_trust.c
 * @key:	odd, secret: of places in @merger, one for each word of an address
 * @strangers:	debt of those whose aggregates are not known
 */
struct cnr_trust {
	u64	key[4];
	u64	strangers;
	struct cnr_merger merger[1 << CNR_MERGERS_BITS];
};

/*
 * struct cnr_restore - results by way of switches, tree_restore.c
 * @pause:	blocks that the next restoration in vain costs; decays
 * @skip:	of these still to come
 * @block:	by led block: serial + 1, until somebody asks again
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
 * @srtt, @rttvar, @rto, @shift, @slowed_at: as in struct cnr_comm, of blocks in the ring
 * @known:	the order is known; the same goes for @own, @next, @prev
 * @wanted:	the order is, and @steps of what it takes to find it were done
 * @tagged:	ranks whose tags are in @expected, for the block @led that is led here: ring_tags.c.
 *		@led is another one only when that is finished
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

/* struct cnr_announced - what rank 0 has told of an operation that is not posted here yet */
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
 * @ask_at:	then: when rank 0 is asked (again)
 * @announced: by sequence number
 * @tell, @tell_end: rank 0: sequence numbers of operations that are being told
 * @algorithm, @why: rank 0: what was found best
 * @rings:	rank 0: operations since trees were looked at
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
 * struct cnr_observed - rank 0: what became of blocks that were led here as trees
 * @blocks:	how many
 * @sources:	contribution packets of them
 * @contributors: members that contributed to them
 * @again:	how many of them were begun anew
 */
struct cnr_observed {
	u64	blocks;
	u64	sources;
	u64	contributors;
	u64	again;
};

/* struct cnr_dissent - a rank with another operation than ours, until a third one was asked */
struct cnr_dissent {
	u16	rank;		/* CNR_NONE: none */
	u32	block;
	u32	sig;
};

/*
 * What each packet touches comes first, large arrays last, so that it is few cache lines (those
 * that cnr_prefetch() names). Therefore @ring ends, and @cfg begins, with what packets touch; and
 * @stats begins with a line.
 */
struct cnr_comm {
	enum cnr_state state;
	u32	epoch;		/* join.c, as what is agreed */
	u16	length;		/* agreed: bytes of data in a packet, at most */
	u16	window;		/* agreed; power of two */
	u8	algorithm;	/* agreed, enum canary_algorithm */
	u8	trees;		/* agreed: how many, with CANARY_ALG_STATIC */
	u8	load;
	bool	work;		/* for cnr_work() */
	bool	turns;		/* leaders take turns in all operations, see cnr_leader() */
	bool	kept;		/* and results are kept in all of them, see cnr_shape.kept */
	u16	slice;		/* as configured, if there are more members; else 0 */
	u8	key[16];	/* session key, PROTOCOL.md "Keys" */
	u32	*data_key;	/* of cnr_hash() */

	/* message.c: of the result that was sent last */
	u64	hash;
	__be32	hash_block;
	bool	hash_known;

	bool	table;		/* the member table is complete: the epoch has begun, ... */
	bool	began;		/* ... here, too */
	__be32	first_aggregator; /* our first aggregator, 0 if none is known */
	u32	broadcast;	/* outbox.c: bits of enum cnr_broadcast */
	u8	news, answers, contributes; /* by collective: a bit; see struct cnr_algorithm */

	/* block.c, but for what is said otherwise: the window, all serial */
	u32	una;		/* acked: the earliest block of which something is needed here */
	u32	next;		/* next block to contribute */
	u32	posted;		/* op.c: first block that is not posted */
	u32	all_done;	/* leave.c: nobody needs anything of blocks before it */
	u32	all_sent;	/* tree_sent.c: everybody has contributed all blocks before it */
	u32	led;		/* tree_missing.c: all before it that are led here are finished */
	u32	block_mask;
	struct cnr_block *block;
	struct cnr_tree tree;

	const struct cnr_algorithm *collectives[CNR_COLLECTIVES];
	const struct cnr_algorithm *latest;	/* of the block that was begun last; or NULL */
	u32	ops_run;	/* op.c: operations held whose algorithm is known, ... */
	u32	ops_run_by[CNR_COLLECTIVES]; /* ... and those of each */

	struct canary_peer *peer;	/* where ranks are */
	struct cnr_member *member;
	u64	deadline;
	u32	op_seq;		/* op.c: next operation */
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

/* All blocks before it were contributed by @m, as far as is known. */
static inline u32 cnr_sent(const struct cnr_comm *c, const struct cnr_member *m)
{
	return c->first + m->sent;
}

/* And of those it needs nothing. */
static inline u32 cnr_done(const struct cnr_comm *c, const struct cnr_member *m)
{
	return c->first + m->done;
}

static inline void cnr_arm(struct cnr_comm *c, u64 at)
{
	if (at < c->deadline)
		c->deadline = at;
}

/* Does it come from there? */
static inline bool cnr_is_at(const struct canary_peer *p, const struct cnr_in *in)
{
	return p->port == in->port && canary_addr_equal(&p->addr, &in->addr);
}

/* What follows the header */
static inline const void *cnr_payload(const struct cnr_in *in)
{
	return in->payload ? in->payload : in->hdr + 1;
}

/* What is before the data of a packet to or from @addr */
static inline u32 cnr_headers(const struct canary_addr *addr)
{
	return canary_addr_ip_header(addr) + CANARY_UDP_HEADERS;
}

/* Bytes of data that fit IP packets of @mtu bytes from @addr */
static inline u16 cnr_offer_length(const struct canary_addr *addr, u32 mtu)
{
	return min_t(u32, (mtu - cnr_headers(addr)) & ~3U, CANARY_PAYLOAD_MAX);
}

#endif /* CANARY_CORE_COMM_H */
