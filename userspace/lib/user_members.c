// SPDX-License-Identifier: BSD-2-Clause
/*
 * The members of an endpoint, and which of them a packet is for.
 *
 * The rules are those of the module (docs/decisions/endpoints.md). A member that never shared its
 * port gets everything. Otherwise a packet goes to the member with its communicator and epoch. If
 * there is none, it goes to the member that joined that communicator last. One member at a time
 * joins a communicator.
 */
#include "user.h"

static struct user **same_comm(struct user_endpoint *ep, u32 comm)
{
	return &ep->by_comm[comm * 0x9e3779b1U >> (32 - USER_LISTS_BITS)];
}

void user_member_add(struct user_endpoint *ep, struct user *u)
{
	struct user **list = same_comm(ep, u->cfg.comm), **last;

	if (ep->first)
		ep->shared = true;
	for (last = &ep->first; *last; last = &(*last)->next)
		;
	*last = u;
	u->same = *list;
	*list = u;
}

void user_member_remove(struct user_endpoint *ep, struct user *u)
{
	struct user **p;

	for (p = &ep->first; *p != u; p = &(*p)->next)
		;
	*p = u->next;
	for (p = same_comm(ep, u->cfg.comm); *p != u; p = &(*p)->same)
		;
	*p = u->same;
	if (ep->turn == u)
		ep->turn = u->next;
}

static bool joins(const struct user *u)
{
	return u->began && !cnr_session(u->core) && u->state != CNR_FAILED &&
	       u->state != CNR_CLOSED;
}

int user_member_begin(struct user *u)
{
	struct user_endpoint *ep = u->ep;
	const struct user *other;

	for (other = *same_comm(ep, u->cfg.comm); other; other = other->same)
		if (other != u && other->cfg.comm == u->cfg.comm && joins(other))
			return -EADDRINUSE;
	u->began = ++ep->begun;
	return 0;
}

bool user_member_exists(struct user_endpoint *ep, u32 comm, u32 epoch)
{
	const struct user *u;

	for (u = *same_comm(ep, comm); u; u = u->same)
		if (u->cfg.comm == comm && u->known && !u->refused &&
		    cnr_session(u->core) == epoch)
			return true;
	return false;
}

void user_member_know(struct user *u, u64 now)
{
	u32 epoch = cnr_session(u->core);

	if (u->known || !epoch)
		return;
	u->refused = user_member_exists(u->ep, u->cfg.comm, epoch);
	u->known = true;
	if (u->refused)
		cnr_close(u->core, now, true);
}

/* A packet that is for no member is counted at the oldest one. */
static struct user *stray(struct user_endpoint *ep, enum canary_drop why)
{
	if (ep->first)
		cnr_stats(ep->first->core)->drop[why]++;
	return NULL;
}

struct user *user_member_find(struct user_endpoint *ep, const struct canary_hdr *h, u32 len)
{
	struct user *u, *last = NULL;
	u32 comm, epoch;

	if (!ep->shared)
		return ep->first;
	if (len < offsetof(struct canary_hdr, block))
		return stray(ep, CANARY_DROP_SHORT);
	comm = be32_to_cpu(h->comm);
	epoch = be32_to_cpu(h->epoch);
	for (u = *same_comm(ep, comm); u; u = u->same) {
		if (u->cfg.comm != comm)
			continue;
		/*
		 * A WELCOME goes only to a member that joins, since rank 0 may lie about the epoch.
		 */
		if (epoch && cnr_session(u->core) == epoch && !u->refused &&
		    (h->type != CANARY_WELCOME || u->state == CNR_JOINING))
			return u;
		/* A member that was formed from a table has no rendezvous. */
		if (u->began && (!last || u->began > last->began))
			last = u;
	}
	return last ?: stray(ep, CANARY_DROP_COMM);
}
