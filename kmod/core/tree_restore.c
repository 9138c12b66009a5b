// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, tree: restorations. If one switch bypassed several sources of a finished block, the
 * leader answers them through that switch. It sends the switch a list of them, with the cookies
 * that the switch gave them, and one result instead of one for each source. Both may get lost, and
 * the switch may refuse them. The members then ask, and get their result directly.
 *
 * A block's results go out in two passes over its sources. The first pass (CNR_L_COOKIES) is for
 * sources that share a switch. The second one (tree_slots.c) is for all others.
 */
#include "message.h"
#include "tree.h"

#define CNR_RESTORE_SCAN	256	/* how many sources are searched for others of a switch */
#define CNR_RESTORE_LONELY	16	/* the search ends after so many sources without any */
#define CNR_RESTORE_PAUSE	16	/* blocks not restored after a failure, at least */
#define CNR_RESTORE_PAUSE_MAX	4096	/* the same, at most */

/*
 * The results of @l go out. Some are sent to each source by itself:
 * - those of a kept tree, since a switch uses a list of sources once;
 * - those that are longer than contributions, since a switch makes no such copies for restorations;
 * - those of lists. Each list has a length of its own, which is in its cookie. A restoration names
 *   one length.
 */
void cnr_restore_begin(struct cnr_comm *c, const struct cnr_operation *o, struct cnr_lead *l)
{
	struct cnr_part p;

	if (!(l->flags & CNR_L_COOKIES))
		return;
	cnr_part(c, o, l->block, &p);
	if (l->more || cnr_lead_lists(l) || p.result > p.length)
		l->flags &= ~CNR_L_COOKIES;
}

/* Return: where it is noted that @block was restored */
static u32 *cnr_restored(struct cnr_comm *c, u32 block)
{
	return &c->restore.block[cnr_led_number(c, block) % CNR_RESTORED];
}

/*
 * Find the address of the switch that calls itself @id. If right aggregates came under that number,
 * their source is the address. Otherwise it is a guess: a switch's number is its IPv4 address,
 * unless somebody chose another number. A restoration that goes to a wrong address costs each child
 * a REQUEST.
 */
static bool cnr_switch_find(const struct cnr_comm *c, __be32 id, struct canary_peer *at)
{
	const struct cnr_merger *m;
	u32 i;

	at->addr = canary_addr_of_ip4(id);
	at->port = cpu_to_be16(CANARY_PORT_BASE);
	at->zero = 0;
	for (i = 0; i < ARRAY_SIZE(c->trust.merger); i++) {
		m = &c->trust.merger[i];
		if (!m->at.port || m->switch_id != id)
			continue;
		*at = m->at;
		break;
	}
	return id && canary_peer_ok(at);
}

/*
 * Collect the sources from @head on that have the same switch, as many as fit a packet. Return: how
 * many
 */
static u32 cnr_restore_group(const struct cnr_comm *c, const struct cnr_lead *l, u32 head,
			     u16 *group)
{
	u32 room = min_t(u32, CANARY_RESTORED_MAX,
			 c->length / sizeof(struct canary_restored));
	const struct cnr_source *s = &l->source[head];
	u32 i, n = 0;

	for (i = 0; head + i < l->sources && i < CNR_RESTORE_SCAN && n < room; i++)
		if (s[i].cookie && s[i].switch_id == s->switch_id && !s[i].repeat)
			group[n++] = i;
	return n;
}

static bool cnr_source_before(const struct cnr_source *s, const struct canary_restored *r)
{
	int order = canary_addr_compare(&s->addr, &r->addr);

	return order < 0 || (!order && be16_to_cpu(s->port) < be16_to_cpu(r->port));
}

/*
 * Make the list, sorted by address and port. So the switch sees easily that nobody is in it twice.
 */
static void cnr_restore_list(const struct cnr_source *head, const u16 *group, u32 n,
			     struct canary_restored *list)
{
	const struct cnr_source *s;
	u32 i, k;

	for (i = 0; i < n; i++) {
		s = &head[group[i]];
		for (k = i; k && cnr_source_before(s, &list[k - 1]); k--)
			list[k] = list[k - 1];
		list[k].addr = s->addr;
		list[k].port = s->port;
		list[k].zero = 0;
		list[k].cookie = s->cookie;
	}
}

static void cnr_restoration_build(struct cnr_comm *c, struct cnr_lead *l, u32 head,
				  const u16 *group, u32 n, const struct canary_peer *at,
				  struct cnr_out *out)
{
	struct cnr_source *s = &l->source[head];
	u32 i;

	cnr_header(c, out, CANARY_RESTORATION, l->block);
	out->hdr.attempt = l->attempt;
	out->hdr.opsig = cpu_to_be32(l->opsig);
	cnr_set_length(&out->hdr, l->length);
	out->hdr.restoration.list = cpu_to_be16(l->lists++);
	out->hdr.restoration.entries = cpu_to_be16(n);
	cnr_restore_list(s, group, n, (struct canary_restored *)c->scratch);
	out->payload = c->scratch;
	out->len = n * sizeof(struct canary_restored);
	out->addr = at->addr;
	out->port = at->port;
	for (i = 0; i < n; i++)
		s[group[i]].repeat = 1;
	l->restoration_due = head + 1;
	*cnr_restored(c, l->block) = l->block + 1;
	c->restore.pause -= (c->restore.pause + 7) / 8;
	cnr_count(c, CNR_C_restorations_out);
}

/*
 * Make the result that follows a restoration. It also serves the children of the switch's own
 * descriptor.
 */
static bool cnr_restored_result(struct cnr_comm *c, struct cnr_lead *l, struct cnr_out *out)
{
	__be32 id = l->source[l->restoration_due - 1].switch_id;
	struct canary_peer at;
	u32 i;

	l->restoration_due = 0;
	if (!cnr_switch_find(c, id, &at) || !cnr_result_build(c, l->block, l->attempt, out))
		return false;
	out->hdr.result.sum = cpu_to_be32(l->sum);
	out->hdr.result.load = l->load;
	out->hdr.result.list = cpu_to_be16(l->lists - 1);
	out->addr = at.addr;
	out->port = at.port;
	for (i = 0; i < l->sources; i++)
		if (l->source[i].port == at.port &&
		    canary_addr_equal(&l->source[i].addr, &at.addr))
			l->source[i].repeat = 1;
	cnr_count(c, CNR_C_results_out);
	return true;
}

/*
 * Make the next restoration, or the result that belongs to it. Return: false if there are no more
 */
bool cnr_restore_build(struct cnr_comm *c, struct cnr_lead *l, struct cnr_out *out)
{
	u16 group[CANARY_RESTORED_MAX];
	u32 head, n, lonely = 0;
	struct canary_peer at;

	if (l->restoration_due)
		return cnr_restored_result(c, l, out);
	if (!l->cursor && c->restore.skip) {
		c->restore.skip--;
		l->cursor = l->sources;
	}
	while (l->cursor < l->sources && lonely < CNR_RESTORE_LONELY) {
		head = l->cursor++;
		if (!l->source[head].cookie || l->source[head].repeat)
			continue;
		n = cnr_restore_group(c, l, head, group);
		if (n < 2 || !cnr_switch_find(c, l->source[head].switch_id, &at)) {
			lonely++;
			continue;
		}
		cnr_restoration_build(c, l, head, group, n, &at, out);
		return true;
	}
	l->flags &= ~CNR_L_COOKIES;
	l->cursor = 0;
	return false;
}

/*
 * A member asks for @block, which is finished. If that block was restored, restorations do not
 * always arrive. So answer directly for a while, longer each time.
 */
void cnr_restore_failed(struct cnr_comm *c, u32 block)
{
	u32 *restored = cnr_restored(c, block);

	if (*restored != block + 1)
		return;
	*restored = 0;
	c->restore.pause = min_t(u32, 2 * c->restore.pause + CNR_RESTORE_PAUSE,
				 CNR_RESTORE_PAUSE_MAX);
	c->restore.skip = c->restore.pause;
}
