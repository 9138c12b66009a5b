// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 7, roof: a communicator's life. Its memory, its begin and end, and the entry points for
 * calls and time. Packets come in by input.c, and go out by poll.c.
 *
 * States: enum cnr_state in core.h. Timers: comm.h; none of them belongs to this file.
 */
#include "plan.h"
#include "ring.h"
#include "roof.h"
#include "session.h"
#include "tree.h"

#define CNR_RTO_MIN		(5 * CNR_MSEC)
#define CNR_RTO_INITIAL		(100 * CNR_MSEC)
#define CNR_DEAD_AFTER		(5 * CNR_SEC)
#define CNR_LINGER		(60 * CNR_SEC)

#define CNR_ALIGN(n)	(((n) + 15) & ~(size_t)15)

static u32 cnr_window(const struct cnr_config *cfg)
{
	return cfg->window ? cfg->window : CNR_WINDOW_DEFAULT;
}

int cnr_check(const struct cnr_config *cfg, const char **what)
{
	u32 window = cnr_window(cfg);

	*what = "members";
	if (!cfg->members)
		return -EINVAL;
	*what = "rank";
	if (cfg->rank >= cfg->members)
		return -EINVAL;
	*what = "window";
	if (window > CNR_WINDOW_MAX || (window & (window - 1)))
		return -EINVAL;
	*what = "mtu";
	if (cfg->mtu < CNR_MTU_LEAST)
		return -EINVAL;
	*what = "algorithm";
	if (cfg->algorithm > CANARY_ALG_MAX)
		return -EINVAL;
	*what = "trees";
	if (!cnr_trees_fit(cfg->algorithm, cfg->trees))
		return -EINVAL;
	*what = "run";
	if (!cnr_run_fits(cfg->algorithm, cfg->run))
		return -EINVAL;
	*what = "shapes";
	if (!cnr_shapes_known(cfg))
		return -EINVAL;
	*what = "shards";
	if (cfg->shards > CANARY_SHARDS_MAX)
		return -EINVAL;
	*what = NULL;
	return 0;
}

/* Return: how many sources a block that is led here may have */
static u32 cnr_sources(const struct cnr_config *cfg)
{
	return cfg->members * max_t(u32, cfg->shards, 1);
}

static u32 cnr_slice(const struct cnr_config *cfg)
{
	return cfg->slice < cfg->members ? cfg->slice : 0;
}

/* Memory that is handed out piece by piece; with @mem NULL it is only counted */
struct cnr_room {
	u8	*mem;
	size_t	used;
};

static void *cnr_take(struct cnr_room *r, size_t n, size_t size)
{
	void *piece = r->mem ? r->mem + r->used : NULL;

	r->used += CNR_ALIGN(n * size);
	return piece;
}

/* The queue of a ring. Packets touch it often only where rings run all operations. */
static void cnr_layout_queue(struct cnr_comm *c, const struct cnr_config *cfg, struct cnr_room *r)
{
	struct cnr_ring_item *queue = cnr_take(r, 4 * cnr_window(cfg), sizeof(*queue));

	if (c)
		c->ring.queue = queue;
}

/* Return: how many slots for blocks that are led here */
static u32 cnr_leads(const struct cnr_config *cfg)
{
	u32 window = cnr_window(cfg);

	return cnr_shapes_leads(cfg, window, cnr_run_room(cfg, window));
}

static void cnr_layout_leads(struct cnr_comm *c, const struct cnr_config *cfg, struct cnr_room *r)
{
	u32 leads = cnr_leads(cfg), i;
	size_t ranks = (cfg->members + 63) / 64 * sizeof(u64);
	size_t tags = cnr_slice(cfg) ? cfg->members * sizeof(u64) : 0;
	struct cnr_lead *lead = cnr_take(r, leads, sizeof(*lead));
	void *arrived, *shards, *want, *acc, *of;

	if (c) {
		c->tree.lead = lead;
		c->tree.leads = leads;
	}
	for (i = 0; i < leads; i++) {
		arrived = cnr_take(r, 1, ranks);
		shards = cnr_take(r, cfg->shards ? cfg->members : 0, sizeof(*lead->shards));
		want = cnr_take(r, 1, ranks);
		acc = cnr_take(r, 1, cnr_offer_length(&cfg->addr, cfg->mtu));
		of = cnr_take(r, 1, tags);
		if (!c)
			continue;
		lead[i].arrived = arrived;
		lead[i].shards = cfg->shards ? shards : NULL;
		lead[i].want = want;
		lead[i].acc = acc;
		lead[i].tags = of;
	}
}

/* Memory that packets touch */
static void cnr_layout(struct cnr_comm *c, const struct cnr_config *cfg, struct cnr_room *r)
{
	u32 window = cnr_window(cfg);
	struct canary_peer *peer;
	struct cnr_block *block;
	u32 *txq;

	cnr_take(r, 1, sizeof(*c));
	peer = cfg->peers ? cfg->peers : cnr_take(r, cfg->members, sizeof(*peer));
	txq = cnr_take(r, 2 * window, sizeof(*txq));
	block = cnr_take(r, 2 * window, sizeof(*block));
	if (c) {
		c->peer = peer;
		c->tree.txq = txq;
		c->block = block;
	}
	if (cfg->algorithm == CANARY_ALG_RING)
		cnr_layout_queue(c, cfg, r);
	cnr_layout_leads(c, cfg, r);
}

/*
 * Memory that packets hardly touch: tables by rank, and sources of lead slots. Each lead slot has
 * room for all packets of each member, in case nobody aggregates.
 */
static void cnr_layout_seldom(struct cnr_comm *c, const struct cnr_config *cfg, struct cnr_room *r)
{
	u32 leads = cnr_leads(cfg), i;
	struct cnr_member *member = cnr_take(r, cfg->members, sizeof(*member));
	struct cnr_questions *questions = cnr_take(r, cfg->members, sizeof(*questions));
	u16 *at = cnr_take(r, cfg->members, sizeof(*at));
	u16 *place = cnr_take(r, cfg->members, sizeof(*place));
	struct cnr_joiner *joiner = cnr_take(r, cfg->rank ? 0 : cfg->members, sizeof(*joiner));
	struct cnr_source *source;

	if (c) {
		c->member = member;
		c->questions = questions;
		c->ring.at = at;
		c->ring.place = place;
		c->join.joiner = cfg->rank ? NULL : joiner;
	}
	if (cfg->algorithm != CANARY_ALG_RING)
		cnr_layout_queue(c, cfg, r);
	for (i = 0; i < leads; i++) {
		source = cnr_take(r, cnr_sources(cfg), sizeof(*source));
		if (c)
			c->tree.lead[i].source = source;
	}
}

size_t cnr_seldom_size(const struct cnr_config *cfg)
{
	struct cnr_room room = { .mem = NULL };

	cnr_layout_seldom(NULL, cfg, &room);
	return room.used;
}

size_t cnr_size(const struct cnr_config *cfg)
{
	struct cnr_room room = { .mem = NULL };

	cnr_layout(NULL, cfg, &room);
	if (!cfg->seldom)
		cnr_layout_seldom(NULL, cfg, &room);
	return room.used;
}

struct cnr_comm *cnr_init(void *mem, const struct cnr_config *cfg)
{
	struct cnr_room room = { .mem = mem }, seldom = { .mem = cfg->seldom };
	struct cnr_comm *c = mem;
	u32 i;

	c->cfg = *cfg;
	c->cfg.window = cnr_window(cfg);
	c->window = c->cfg.window;
	c->algorithm = cfg->algorithm;
	c->trees = cfg->trees;
	c->slice = cnr_slice(cfg);
	c->turns = cnr_shapes_turn(cfg);
	c->kept = cnr_shapes_kept(cfg);
	c->plan.ask_at = CNR_NEVER;
	c->dissent.rank = CNR_NONE;
	if (!c->cfg.rto_min)
		c->cfg.rto_min = CNR_RTO_MIN;
	if (!c->cfg.dead_after)
		c->cfg.dead_after = CNR_DEAD_AFTER;
	if (!c->cfg.linger)
		c->cfg.linger = CNR_LINGER;
	cnr_layout(c, cfg, &room);
	cnr_layout_seldom(c, cfg, cfg->seldom ? &seldom : &room);
	c->collectives[CNR_RING] = &cnr_ring;
	c->collectives[CNR_TREE] = &cnr_tree;
	c->data_key = cfg->data_key ? cfg->data_key : c->own_key;
	c->block_mask = 2 * c->window - 1;
	c->ring.mask = 4 * c->window - 1;
	for (i = 0; i <= c->block_mask; i++)
		c->block[i].lead = CNR_NONE;
	c->length = cnr_offer_length(&cfg->addr, cfg->mtu);
	c->join.mtu = min_t(u32, cfg->mtu, cnr_headers(&cfg->addr) + CANARY_PAYLOAD_MAX);
	c->net.rto = max_t(u64, CNR_RTO_INITIAL, c->cfg.rto_min);
	c->deadline = CNR_NEVER;
	c->join.at = CNR_NEVER;
	c->progress.at = CNR_NEVER;
	c->alive.at = CNR_NEVER;
	c->progress.linger_at = CNR_NEVER;
	c->formed.at = CNR_NEVER;
	c->peer[0].addr = cfg->root;
	c->peer[0].port = cfg->root_port;
	c->join.missing = cfg->members - 1;
	c->progress.asked = cfg->members;
	c->join.known_all = 1;
	return c;
}

/* All members are known since just now. The layers above the session begin, with block @first. */
void cnr_begin(struct cnr_comm *c)
{
	u32 i;

	if (c->began || !(c->table || c->formed.until))
		return;
	c->began = true;
	c->una = c->first;
	c->next = c->first;
	c->posted = c->first;
	c->all_sent = c->first;
	cnr_done_begin(c);
	cnr_window_begin(c);
	for (i = 0; i < CNR_COLLECTIVES; i++)
		if (c->collectives[i]->begin)
			c->collectives[i]->begin(c);
}

int cnr_connect(struct cnr_comm *c, u64 now)
{
	if (c->state == CNR_JOINING)
		return -EALREADY;
	if (c->state != CNR_NEW)
		return -EISCONN;
	c->state = CNR_JOINING;
	cnr_join_start(c, now);
	cnr_begin(c);
	return 0;
}

int cnr_form(struct cnr_comm *c, u64 now, const struct cnr_table *t)
{
	int err;

	if (c->state == CNR_JOINING)
		return -EALREADY;
	if (c->state != CNR_NEW)
		return -EISCONN;
	err = cnr_table_form(c, now, t);
	if (!err)
		cnr_begin(c);
	return err;
}

enum cnr_state cnr_state(const struct cnr_comm *c)
{
	return c->state;
}

u32 cnr_session(const struct cnr_comm *c)
{
	return c->epoch;
}

u32 cnr_missing(const struct cnr_comm *c, u16 *ranks, u32 max)
{
	u32 i, n = 0;

	if (c->state == CNR_JOINING && c->cfg.rank && !c->join.heard) {
		/* rank 0 has answered nothing */
		if (ranks && max)
			ranks[0] = 0;
		return ranks ? min_t(u32, 1, max) : 1;
	}
	if (c->state == CNR_FAILED || c->cfg.rank) {
		if (!ranks)
			return c->state == CNR_FAILED ? c->end.faults : c->join.missing;
		for (i = 0; i < c->end.known && i < max; i++)
			ranks[i] = c->end.fault[i];
		return i;
	}
	if (c->state != CNR_JOINING && !c->waits)
		return 0;
	for (i = 1; i < c->cfg.members; i++) {
		if (c->member[i].flags & (c->table ? CNR_M_READY : CNR_M_KNOWN))
			continue;
		if (ranks && n == max)
			break;
		if (ranks)
			ranks[n] = i;
		n++;
	}
	return n;
}

int cnr_failure(const struct cnr_comm *c, enum canary_abort *why)
{
	*why = c->state == CNR_FAILED ? c->end.why : CANARY_ABORT_NONE;
	return c->state == CNR_FAILED ? c->end.error : 0;
}

/* Drop everything above the outbox that is to be sent, or held for others. */
static void cnr_drop_all(struct cnr_comm *c)
{
	u32 i;

	for (i = 0; i < CNR_COLLECTIVES; i++)
		c->collectives[i]->drop(c);
}

void cnr_drop_held(struct cnr_comm *c)
{
	c->end.dropped = true;
	cnr_drop_all(c);
	cnr_fail_ops(c, c->end.error);
}

static void cnr_timers(struct cnr_comm *c, u64 now)
{
	u32 i;

	if (c->waits) {
		cnr_greeting_timer(c, now);
		cnr_linger_timer(c, now);
		return;
	}
	cnr_block_timers(c, now);
	cnr_go_on(c, now);
	for (i = 0; i < CNR_COLLECTIVES; i++)
		if (c->collectives[i]->timers)
			c->collectives[i]->timers(c, now);
	cnr_plan_timer(c, now);
	cnr_done_timer(c, now);
	cnr_linger_timer(c, now);
	if (cnr_alive_timer(c, now))
		cnr_gone_settle(c, now);
}

void cnr_timer(struct cnr_comm *c, u64 now)
{
	if (now < c->deadline)
		return;
	c->deadline = CNR_NEVER;
	if (c->state == CNR_JOINING)
		cnr_join_timer(c, now);
	else if (c->state == CNR_CONNECTED || c->state == CNR_LINGERING)
		cnr_timers(c, now);
	cnr_go_on(c, now);
}

/* Operations get serial numbers, as far as those before them have settled, and may begin. */
static void cnr_number_ops(struct cnr_comm *c, u64 now)
{
	struct cnr_operation *o;

	while ((o = cnr_op_number(c))) {
		cnr_plan_post(c, now, o);
		if (c->cfg.members == 1)
			cnr_op_alone(c, o);
	}
}

void cnr_settle_ops(struct cnr_comm *c, u64 now)
{
	while (c->settled) {
		c->settled = false;
		cnr_number_ops(c, now);
		/* Who left contributes to nothing more, as when an operation is posted. */
		if (c->alive.left && c->next != c->posted)
			cnr_fail_left(c, now);
		cnr_fill(c, now);
	}
}

bool cnr_gather(const struct cnr_comm *c, const struct cnr_op *op)
{
	const struct cnr_encoding *e = cnr_encoding_of(c, op);

	return e && cnr_addends_gather(e, op);
}

int cnr_post(struct cnr_comm *c, u64 now, const struct cnr_op *op)
{
	const struct cnr_encoding *e = cnr_encoding_of(c, op);
	struct cnr_operation *o;
	u64 most;

	if (!e || !cnr_shape_of(c, op) || (!op->memory && cnr_memory(c, op)) ||
	    (e->shard && !c->cfg.shards) || op->how & ~cnr_how(op->op, op->dtype) ||
	    !cnr_addends_fit(c, e, op) || (op->target && (op->at || op->hashes)))
		return -EINVAL;
	if (c->state == CNR_FAILED)
		return c->end.error;
	if (c->state != CNR_CONNECTED)
		return -ENOTCONN;
	if (c->alive.left) {
		cnr_fail_left(c, now);
		cnr_over(c);
		return c->end.error;
	}
	most = cnr_op_blocks(c, op);
	if (!cnr_blocks_fit(most))
		return -EMSGSIZE;
	o = cnr_op_new(c, op, e, most);
	if (!o)
		return -EAGAIN;
	cnr_number_ops(c, now);
	if (c->waits)
		cnr_greeting_wanted(c, now);
	else
		cnr_fill(c, now);
	cnr_go_on(c, now);
	return 0;
}

/*
 * Do a slice of long work. Some work takes long with many members. Drivers that must not take long
 * set cnr_config.slice. Such work then begins where it is needed, and goes on here, some members at
 * a time. Without slices it is all done at once, where it is needed.
 */
bool cnr_work(struct cnr_comm *c, u64 now)
{
	u32 i;

	if (!c->work)
		return false;
	c->work = false;
	for (i = 0; i < CNR_COLLECTIVES && !c->work; i++)
		c->work = c->collectives[i]->work(c, now);
	c->work = c->work || cnr_done_work(c, now);
	if (c->work)
		cnr_fill(c, now);	/* blocks may have waited for it */
	cnr_go_on(c, now);
	return c->work;
}

void cnr_close(struct cnr_comm *c, u64 now, bool abort)
{
	if (c->state == CNR_CLOSED)
		return;
	if ((c->state != CNR_CONNECTED && c->state != CNR_LINGERING) || c->cfg.members == 1) {
		cnr_fail_ops(c, -ECONNABORTED);
		c->state = CNR_CLOSED;
		c->deadline = CNR_NEVER;
		return;
	}
	if (c->una != c->posted) {
		cnr_fail_ops(c, -ECONNABORTED);
		abort = true;
	}
	if (abort)
		cnr_drop_all(c);
	cnr_linger(c, now, abort);
}

u64 cnr_deadline(const struct cnr_comm *c)
{
	return c->deadline;
}

#define CNR_LINE	64	/* bytes of the cache */

void cnr_prefetch(const struct cnr_comm *c)
{
	const u8 *at = (const u8 *)c;

	for (; at <= (const u8 *)&c->cfg; at += CNR_LINE)
		__builtin_prefetch(at, 1);
	__builtin_prefetch(&c->stats, 1);
	__builtin_prefetch(&c->stats.counter[CNR_C_bytes_in], 1);
	__builtin_prefetch(&c->stats.drop[CANARY_DROP_NONE], 1);
}

void cnr_prefetch_block(const struct cnr_comm *c, const struct canary_hdr *h)
{
	/* Without @h: the next block in the queue, if none is in it for a second time */
	u32 block = h ? be32_to_cpu(h->block) : c->next - (c->tree.tx_head - c->tree.tx_tail);

	__builtin_prefetch(&c->block[block & c->block_mask], 1);
	if (h)
		__builtin_prefetch(&c->block[(block + 1) & c->block_mask], 1);
	__builtin_prefetch(&c->tree.txq[c->tree.tx_tail & c->block_mask], 1);
	__builtin_prefetch(&c->peer[cnr_turn(c, block)]);
	__builtin_prefetch(&c->ops[c->op_release % CNR_OPS], 1);
}

struct cnr_stats *cnr_stats(struct cnr_comm *c)
{
	return &c->stats;
}

void cnr_info(const struct cnr_comm *c, struct cnr_info *info)
{
	info->comm = c->cfg.comm;
	info->epoch = c->epoch;
	info->rank = c->cfg.rank;
	info->members = c->cfg.members;
	info->window = c->window;
	info->elements = c->length / 4;
	info->una = c->una;
	info->next = c->next;
	info->posted = c->posted;
	info->all_done = c->all_done;
	info->ops = c->op_seq - c->op_release;
	info->srtt = c->net.srtt ? c->net.srtt : c->ring.srtt;
	info->rto = c->net.srtt ? c->net.rto : c->ring.rto;
	info->wanted = c->cfg.algorithm;
	info->algorithm = c->algorithm;
	info->number = cnr_algorithm_number(c);
	info->last = c->plan.last_algorithm;
	info->why = c->plan.last_why;
	info->cwnd = c->net.cwnd;
	cnr_op_info(c, info);
}
