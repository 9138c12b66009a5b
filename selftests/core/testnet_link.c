// SPDX-License-Identifier: BSD-2-Clause
/*
 * One hop: how long a packet takes over a link, and which faults hit it. Without a rate a link
 * takes any number of packets at once. With a rate they queue, and a full queue drops.
 */
#include <stdlib.h>

#include "testnet_inside.h"

#define TNET_OVERHEAD	(14 + 20 + 8)	/* Ethernet, IP, UDP */

static u32 tnet_place(int place)
{
	return place >= 0 ? (u32)place : TNET_MEMBERS_MAX + (u32)(-1 - place);
}

/*
 * Is there a burst of losses? It begins by chance, and ends by time, not after a number of packets.
 */
static bool tnet_burst(struct tnet *s, struct tnet_link *l)
{
	const struct tnet_faults *f = &s->cfg.faults;

	if (tnet_chance(s, f->burst))
		l->bad_until = s->now + tnet_random(s) % (2 * f->burst_ns);
	return s->now < l->bad_until;
}

/* Return: when a packet of @len bytes is at the other end; CNR_NEVER if the queue is full */
static u64 tnet_transmit(struct tnet *s, struct tnet_link *l, u32 len, u8 *load)
{
	u64 frame, wait;
	u32 queued;

	*load = 0;
	if (!s->cfg.rate)
		return s->now + TNET_HOP_NS + tnet_random(s) % 1000;
	frame = (len + TNET_OVERHEAD) * 8 * CNR_SEC / s->cfg.rate;
	wait = l->free_at > s->now ? l->free_at - s->now : 0;
	queued = wait * s->cfg.rate / (8 * CNR_SEC * 1514);
	if (s->cfg.queue && queued >= s->cfg.queue) {
		s->traffic.overflows++;
		return CNR_NEVER;
	}
	if (s->cfg.queue)
		*load = queued * 255 / s->cfg.queue;
	l->free_at = s->now + wait + frame;
	return l->free_at + TNET_HOP_NS;
}

void tnet_send(struct tnet *s, struct tnet_event e, const void *hdr, const void *payload,
	       u32 payload_len, int from)
{
	const struct tnet_faults *f = &s->cfg.faults;
	struct tnet_link *l = &s->link[tnet_place(from)][tnet_place(e.to)];
	int copies = tnet_chance(s, f->repeat) ? 2 : 1;
	struct canary_hdr *h;
	u8 load;

	s->payload = payload;
	if (f->filter && f->filter(f->filter_arg, from, e.to, hdr))
		return;
	e.kind = TNET_PACKET;
	e.len = sizeof(struct canary_hdr) + payload_len;
	while (copies--) {
		s->traffic.packets++;
		e.at = tnet_transmit(s, l, e.len, &load);
		if (e.at == CNR_NEVER)
			continue;
		if (tnet_burst(s, l) || tnet_chance(s, f->drop)) {
			s->traffic.lost++;
			continue;
		}
		if (tnet_chance(s, f->delay))
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
		 * Bits are only set, never cleared, and the highest one is not used. Otherwise
		 * errors on several hops could cancel, as the checksum is linear (PROTOCOL.md,
		 * "Keys, tags, sums").
		 */
		if (tnet_chance(s, f->corrupt))
			e.data[tnet_random(s) % e.len] |= 1 << tnet_random(s) % 7;
		tnet_push(s, e);
	}
}
