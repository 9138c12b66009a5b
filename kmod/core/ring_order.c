// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, ring: who is whose neighbour. The members are sorted by address, so all know the order
 * without a message. Hosts at one leaf usually have neighbouring addresses.
 */
#include "ring.h"

/* Does @a come before @b? They are compared by address and port. If these are equal, by rank. */
static bool cnr_ring_less(const struct cnr_comm *c, u16 a, u16 b)
{
	const struct canary_peer *x = a ? &c->peer[a] : &c->join.root;
	const struct canary_peer *y = b ? &c->peer[b] : &c->join.root;
	int order = canary_peer_compare(x, y);

	return order ? order < 0 : a < b;
}

static void cnr_ring_sift(struct cnr_comm *c, u32 i, u32 n)
{
	u16 *at = c->ring.at;
	u16 rank = at[i];
	u32 k;

	while ((k = 2 * i + 1) < n) {
		if (k + 1 < n && cnr_ring_less(c, at[k], at[k + 1]))
			k++;
		if (!cnr_ring_less(c, rank, at[k]))
			break;
		at[i] = at[k];
		i = k;
	}
	at[i] = rank;
}

/* Do up to @steps steps of a heap sort. Return: true if it is done */
static bool cnr_ring_sort(struct cnr_comm *c, u32 steps)
{
	struct cnr_ring *r = &c->ring;
	u32 i, n = c->cfg.members;
	u16 last;

	for (; steps && r->steps < n / 2; r->steps++, steps--)
		cnr_ring_sift(c, n / 2 - 1 - r->steps, n);
	for (; steps && r->steps < n / 2 + n - 1; r->steps++, steps--) {
		i = n / 2 + n - 1 - r->steps;
		last = r->at[0];
		r->at[0] = r->at[i];
		r->at[i] = last;
		cnr_ring_sift(c, 0, i);
	}
	return r->steps == n / 2 + n - 1;
}

static void cnr_ring_sorted(struct cnr_comm *c)
{
	struct cnr_ring *r = &c->ring;
	u32 i, n = c->cfg.members;

	for (i = 0; i < n; i++)
		r->place[r->at[i]] = i;
	r->own = r->place[c->cfg.rank];
	r->next = r->at[(r->own + 1) % n];
	r->prev = r->at[(r->own + n - 1) % n];
	r->rto = c->net.rto;
	r->known = true;
}

/* The order of the ring is needed. Begin to find it, if that has not begun. */
void cnr_ring_begin(struct cnr_comm *c)
{
	struct cnr_ring *r = &c->ring;
	u32 i;

	if (r->wanted)
		return;
	r->wanted = true;
	for (i = 0; i < c->cfg.members; i++)
		r->at[i] = i;
	c->work = true;
	if (!c->slice)
		cnr_ring_order_work(c);
}

/* Do a slice of the sorting. Return: false if the order is not needed, or known */
bool cnr_ring_order_work(struct cnr_comm *c)
{
	if (!c->ring.wanted || c->ring.known)
		return false;
	if (cnr_ring_sort(c, c->slice ? c->slice : 2 * c->cfg.members))
		cnr_ring_sorted(c);
	return true;
}
