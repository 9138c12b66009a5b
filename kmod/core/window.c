// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: what a member believes about the network: how long a round trip takes, how much
 * later than its followers a packet may come, and how many blocks to have in flight.
 *
 * None of that may depend on how long other ranks compute. So a round trip is the time from
 * contribution to result, less the time for which the leader held the first contribution (the
 * result says so); or it is the time from question to answer. Reordering is only measured when all
 * ranks are known to have contributed.
 *
 * Two limits apply. [una, next) spans at most the agreed window, for which leaders have room. And
 * at most cwnd blocks come after the latest one that has a result; so much the network is trusted
 * with. So a loss holds up una, but not the blocks after it.
 *
 * A third limit is for the queues of our own host, which tell when they are full.
 */
#include "blocks.h"

#define CNR_CWND_LEAST		32	/* least cwnd when queues overflow */
#define CNR_CWND_LOSSY		16	/* least cwnd when much is lost in short queues */
#define CNR_EAGER		3	/* repetitions of a question without back-off */
#define CNR_ROUND_LEAST		32	/* least results of a round */
#define CNR_REORDER_LEAST	(50 * CNR_USEC)
#define CNR_FORGET		16	/* each round forgets 1 / this */
#define CNR_BASE_FOR		(10 * CNR_SEC)	/* for so long the shortest round trip holds */
#define CNR_QUEUED_LEAST	3	/* least packets in our host's queue */
#define CNR_CHARGE		768	/* about what a host adds to a packet's size */
#define CNR_BURST		1000	/* us */
#define CNR_SINGLE		(10 * CNR_SEC)	/* for so long packets leave one by one */
#define CNR_LOADED		192	/* of 255: some queue on the way is about to overflow */

void cnr_window_begin(struct cnr_comm *c)
{
	struct cnr_network *n = &c->net;

	n->cwnd = c->cfg.lossless ? c->window : min_t(u32, c->window, CNR_CWND_FIRST);
	n->held_back = 2 * c->cfg.rto_min;
	n->base[0] = CNR_NEVER;
	n->base[1] = CNR_NEVER;
	n->round_min = CNR_NEVER;
	n->round_end = c->una;
}

/* Add a sample to the mean and deviation of RFC 6298. */
static void cnr_smooth(u64 *mean, u64 *deviation, u64 sample)
{
	u64 diff;

	if (!*mean) {
		*mean = sample;
		*deviation = sample / 2;
		return;
	}
	diff = sample > *mean ? sample - *mean : *mean - sample;
	*deviation += diff / 4 - *deviation / 4;
	*mean += sample / 8 - *mean / 8;
}

/*
 * RFC 6298, in ns. In a standing queue there is hardly any variance. So rto_min is left for jitter.
 */
void cnr_rtt(struct cnr_comm *c, u64 rtt)
{
	struct cnr_network *n = &c->net;

	cnr_smooth(&n->srtt, &n->rttvar, rtt);
	n->rto = n->srtt + max_t(u64, 4 * n->rttvar, c->cfg.rto_min);
	n->rto = min_t(u64, n->rto, CNR_RTO_MAX);
}

/*
 * An answer came @time after the first question. If the question was repeated, the answer may have
 * taken less, but never more. So Karn's rule is not needed, and answers that are often lost count,
 * too.
 */
void cnr_answered(struct cnr_comm *c, u64 time)
{
	cnr_smooth(&c->net.answer, &c->net.answer_var, time);
}

/*
 * Return: how long an answer may take that waits for nobody, the @tries'th time
 *
 * An unneeded question costs one packet, so there is little room for jitter. A few packets do not
 * burden the network, so back-off begins late.
 */
u64 cnr_answer_time(const struct cnr_comm *c, u8 tries)
{
	const struct cnr_network *n = &c->net;
	u64 slack = max_t(u64, min_t(u64, 4 * n->rttvar, 2 * n->srtt), n->srtt);
	u64 time = n->srtt ? n->srtt + max_t(u64, slack, c->cfg.rto_min / 16) :
		   2 * c->cfg.rto_min;

	/* No switch holds answers, and they do not come from all members at once. */
	if (n->answer) {
		slack = max_t(u64, 4 * n->answer_var, n->answer);
		time = min_t(u64, time, n->answer + max_t(u64, slack, c->cfg.rto_min / 16));
	}
	tries = tries > CNR_EAGER ? min_t(u8, tries - CNR_EAGER, 10) : 0;
	return min_t(u64, time << tries, CNR_WAIT_MAX);
}

/*
 * Return: how much later than a packet that was sent after it a packet may come, without being lost
 */
u64 cnr_reordering(const struct cnr_comm *c)
{
	return max_t(u64, c->net.reordering, max_t(u64, c->net.srtt / 4, CNR_REORDER_LEAST));
}

/*
 * Something came @late after all ranks had contributed: a rank's packet that took longer, or an
 * aggregate, which switches hold for a while if something is missing. The longest time of each is
 * kept, and slowly forgotten. That of packets is forgotten round by round, as they usually are in
 * time. That of aggregates is only forgotten when others come: what is asked for again too early
 * throws away what a switch holds, and then its aggregate never comes to tell.
 */
void cnr_came_late(struct cnr_comm *c, u64 late, bool aggregate)
{
	struct cnr_network *n = &c->net;
	u64 *longest = aggregate ? &n->held_back : &n->reordering;

	late = min_t(u64, late + late / 4, CNR_RTO_MAX);
	if (aggregate)
		n->held_back -= n->held_back / CNR_FORGET;
	*longest = max_t(u64, *longest, late);
}

/* A result came twice: it was asked for although it was on its way already. */
void cnr_asked_early(struct cnr_comm *c, u64 now)
{
	struct cnr_network *n = &c->net;

	if (n->asked_at && now - n->asked_at < 4 * n->rto)
		n->reordering = min_t(u64, cnr_reordering(c) * 5 / 4, n->rto);
}

static u64 cnr_base(const struct cnr_comm *c)
{
	return min_t(u64, c->net.base[0], c->net.base[1]);
}

/* A contribution or a result of ours got lost. */
void cnr_window_loss(struct cnr_comm *c)
{
	c->net.round_losses++;
}

/*
 * A round is over: a window of blocks has come back. Losses alone say nothing about congestion, as
 * links may be bad. Losses with a queue do, and so do many losses.
 */
static void cnr_window_round(struct cnr_comm *c)
{
	struct cnr_network *n = &c->net;
	u64 base = cnr_base(c), rtt = n->round_min;
	bool queue = rtt > 2 * base + c->cfg.rto_min / 4 || n->round_load >= CNR_LOADED;
	u32 least = CNR_CWND_LEAST;

	n->reordering -= n->reordering / CNR_FORGET;
	if (c->cfg.lossless)
		return;
	if (n->round_losses >= CNR_CWND_LOSSY && n->round_losses * 4 > n->round_results) {
		queue = true;
		least = CNR_CWND_LOSSY;
	}
	if (n->round_losses && queue) {
		n->cwnd = max_t(u32, n->cwnd - n->cwnd / 4, min_t(u32, n->cwnd, least));
	} else if (rtt > 2 * base + 4 * c->cfg.rto_min || n->round_load >= CNR_LOADED) {
		n->cwnd = max_t(u32, n->cwnd - n->cwnd / 8, min_t(u32, n->cwnd, least));
	} else if (n->round_full && n->round_results >= n->cwnd / 2 &&
		   cnr_div64(n->round_sum, n->round_results) < base + base / 2) {
		n->cwnd = min_t(u32, n->cwnd + n->cwnd / 8 + 1, c->window);
	}
}

/* The result of @block came after @rtt. @load: the fullest queue on the way */
void cnr_window_result(struct cnr_comm *c, u64 now, u32 block, u64 rtt, u8 load)
{
	struct cnr_network *n = &c->net;

	n->round_min = min_t(u64, n->round_min, rtt);
	n->round_load = max_t(u8, n->round_load, load);
	n->round_sum += rtt;
	n->round_results++;
	if (canary_before(block, n->round_end) || n->round_results < CNR_ROUND_LEAST)
		return;
	if (now >= n->base_until) {
		n->base_until = now + CNR_BASE_FOR / 2;
		n->base[1] = n->base[0];
		n->base[0] = n->round_min;
	}
	n->base[0] = min_t(u64, n->base[0], n->round_min);
	cnr_window_round(c);
	n->round_end = c->next;
	n->round_min = CNR_NEVER;
	n->round_load = 0;
	n->round_losses = 0;
	n->round_results = 0;
	n->round_sum = 0;
	n->round_full = false;
}

/* Is the network trusted with @blocks more? */
bool cnr_window_room(struct cnr_comm *c, u32 blocks)
{
	u32 passed = canary_before(c->all_sent, c->una) ? c->una : c->all_sent;

	if (c->next - passed + blocks <= c->net.cwnd)
		return true;
	c->net.round_full = true;
	return false;
}

static u32 cnr_charge(const struct cnr_comm *c)
{
	return c->cfg.mtu + CNR_CHARGE;
}

/*
 * A queue of our own host loses nothing by bad links. So this is congestion, and known at once.
 * Others who use the queue have to get in, too. So three tenths less of ours is left there, once a
 * round trip, and then half a packet more each round trip. Flows of TCP, which learn of a full
 * queue alike, do the same.
 */
void cnr_host_refused(struct cnr_comm *c, u64 now, u32 waiting)
{
	struct cnr_network *n = &c->net;

	if (n->queued_at && now - n->queued_at < n->srtt)
		return;
	waiting = min_t(u32, waiting, cnr_host_room(c, now));
	n->queued = max_t(u32, waiting / 10 * 7, CNR_QUEUED_LEAST * cnr_charge(c));
	n->queued_at = now;
}

u32 cnr_host_room(const struct cnr_comm *c, u64 now)
{
	const struct cnr_network *n = &c->net;
	u64 more, most = ~0U;

	if (!n->queued_at)
		return most;
	more = min_t(u64, now - n->queued_at, 3600 * CNR_SEC);
	more = cnr_div64(more, CNR_USEC) * cnr_charge(c);
	more = cnr_div64(more, 2 * (u32)cnr_div64(n->srtt, CNR_USEC) + 1);
	return min_t(u64, n->queued + more, most);
}

/*
 * As many as leave within CNR_BURST, by how many are in flight during a round trip. So slow links
 * get single packets. So does a network that loses much: it may be together that they are lost.
 */
u32 cnr_host_burst(struct cnr_comm *c, u64 now)
{
	struct cnr_network *n = &c->net;
	u32 blocks = min_t(u32, n->cwnd, c->posted - c->una);
	u64 in_time;

	if (n->round_losses >= CNR_CWND_LOSSY && n->round_losses * 4 > n->round_results)
		n->single_until = now + CNR_SINGLE;
	if (!n->srtt || now < n->single_until || cnr_host_room(c, now) / cnr_charge(c) < blocks)
		return 1;
	in_time = cnr_div64((u64)blocks * CNR_BURST, cnr_div64(n->srtt, CNR_USEC) + 1);
	return max_t(u64, 1, min_t(u64, blocks, in_time));
}
