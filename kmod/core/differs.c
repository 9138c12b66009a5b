// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Layer 4, blocks: ranks that run another operation than we do. No timers. */
#include "blocks.h"
#include "outbox.h"

/* Is it about the same operation as what we knew before, and another member? */
static bool cnr_differs_too(struct cnr_comm *c, u32 block, u16 rank)
{
	const struct cnr_dissent *d = &c->dissent;

	return d->rank != CNR_NONE && d->rank != rank &&
	       cnr_find_op(c, d->block) == cnr_find_op(c, block);
}

/*
 * @rank certainly runs another operation at @block than we do, one with @sig. @agree members are
 * known to run that one. A member that differs from two others is named. Until that is known, a
 * third member is asked what it runs. With two members it cannot be told, nor where no two agree.
 */
void cnr_differs(struct cnr_comm *c, u64 now, u32 block, u16 rank, u32 sig, u32 agree)
{
	u16 both[2] = { c->cfg.rank, rank };
	struct cnr_dissent *d = &c->dissent;
	u16 third = 0;

	if (!sig)
		return;		/* it does not say what it runs */
	if (c->cfg.members == 2) {
		cnr_fail(c, now, CANARY_ABORT_MISMATCH, both, 2, true);
		return;
	}
	if (agree > 1 || (d->rank != CNR_NONE && d->rank != rank && d->sig == sig)) {
		cnr_fail(c, now, CANARY_ABORT_MISMATCH, both, 1, true);
		return;
	}
	if (cnr_differs_too(c, block, rank)) {
		cnr_fail(c, now, CANARY_ABORT_MISMATCH, both, 2, true);
		return;
	}
	d->rank = rank;
	d->block = block;
	d->sig = sig;
	while (third == rank || third == c->cfg.rank)
		third++;
	cnr_control(c, CANARY_PROBE, third, block);
}

/*
 * @rank runs the same operation as we do, but has cut it into other blocks. So we two were told
 * different results of earlier blocks, on which the cut depends (cnr_encoding.more). Nobody knows
 * who lied. Nothing that is right can come of it any more.
 */
void cnr_differs_inside(struct cnr_comm *c, u64 now, u16 rank)
{
	u16 both[2] = { c->cfg.rank, rank };

	cnr_fail(c, now, CANARY_ABORT_MISMATCH, both, 2, true);
}

/* ALIVE came, which says what its sender runs. It may decide who differs. */
void cnr_differs_heard(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	struct cnr_operation *o;
	bool agrees;

	if (c->dissent.rank == CNR_NONE || !h->opsig || be32_to_cpu(h->block) != c->dissent.block ||
	    be16_to_cpu(h->rank) == c->dissent.rank)
		return;
	o = cnr_find_op(c, c->dissent.block);
	if (!o || !o->opsig)
		return;
	agrees = be32_to_cpu(h->opsig) == o->opsig;
	cnr_fail(c, now, CANARY_ABORT_MISMATCH, agrees ? &c->dissent.rank : &c->cfg.rank, 1, true);
}
