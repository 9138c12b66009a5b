// SPDX-License-Identifier: BSD-2-Clause
/*
 * One hop: how long a packet takes over a link, and what a fault plan makes of it. Without a rate
 * a link takes any number of packets at once; with one they queue, and a full queue drops.
 */
#include <stdlib.h>

#include "sim_int.h"

#define SIM_OVERHEAD	(14 + 20 + 8)	/* Ethernet, IP, UDP */

static u32 sim_place(int place)
{
	return place >= 0 ? (u32)place : SIM_MEMBERS_MAX + (u32)(-1 - place);
}

/* Bursts begin by chance, and as time passes, not packets, they are over. */
static bool sim_burst(struct sim *s, struct sim_link *l)
{
	const struct sim_faults *f = &s->cfg.faults;

	if (sim_chance(s, f->burst))
		l->bad_until = s->now + sim_random(s) % (2 * f->burst_ns);
	return s->now < l->bad_until;
}

/* When a packet of @len bytes is at the other end; CNR_NEVER if the queue is full. */
static u64 sim_transmit(struct sim *s, struct sim_link *l, u32 len, u8 *load)
{
	u64 frame, wait;
	u32 queued;

	*load = 0;
	if (!s->cfg.rate)
		return s->now + SIM_HOP_NS + sim_random(s) % 1000;
	frame = (len + SIM_OVERHEAD) * 8 * CNR_SEC / s->cfg.rate;
	wait = l->free_at > s->now ? l->free_at - s->now : 0;
	queued = wait * s->cfg.rate / (8 * CNR_SEC * 1514);
	if (s->cfg.queue && queued >= s->cfg.queue) {
		s->traffic.overflows++;
		return CNR_NEVER;
	}
	if (s->cfg.queue)
		*load = queued * 255 / s->cfg.queue;
	l->free_at = s->now + wait + frame;
	return l->free_at + SIM_HOP_NS;
}

void sim_send(struct sim *s, struct sim_event e, const void *hdr, const void *payload,
	      u32 payload_len, int from)
{
	const struct sim_faults *f = &s->cfg.faults;
	struct sim_link *l = &s->link[sim_place(from)][sim_place(e.to)];
	int copies = sim_chance(s, f->repeat) ? 2 : 1;
	struct canary_hdr *h;
	u8 load;

	s->payload = payload;
	if (f->filter && f->filter(f->filter_arg, from, e.to, hdr))
		return;
	e.kind = SIM_PACKET;
	e.len = sizeof(struct canary_hdr) + payload_len;
	while (copies--) {
		s->traffic.packets++;
		e.at = sim_transmit(s, l, e.len, &load);
		if (e.at == CNR_NEVER)
			continue;
		if (sim_burst(s, l) || sim_chance(s, f->drop)) {
			s->traffic.lost++;
			continue;
		}
		if (sim_chance(s, f->delay))
			e.at += f->delay_ns;
		e.data = malloc(e.len);
		memcpy(e.data, hdr, sizeof(struct canary_hdr));
		if (payload_len)
			memcpy(e.data + sizeof(struct canary_hdr), payload, payload_len);
		h = (void *)e.data;
		if ((h->type == CANARY_CONTRIBUTION || h->type == CANARY_RESULT) &&
		    load > h->contribution.load)
			h->contribution.load = load;
		/*
		 * Bits are set, never cleared, and not the highest: the checksum is linear, so that
		 * errors on several hops could cancel (PROTOCOL.md, "Keys, tags, sums").
		 */
		if (sim_chance(s, f->corrupt))
			e.data[sim_random(s) % e.len] |= 1 << sim_random(s) % 7;
		sim_push(s, e);
	}
}
