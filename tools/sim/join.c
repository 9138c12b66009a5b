// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rendezvous, by the core's own messages, before the network starts. Messages are handed over at
 * once, as the time that it takes to connect is not simulated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "util.h"

struct letter {
	struct letter *next;
	uint32_t from;		/* node */
	uint32_t to;
	uint32_t length;
	u8 data[] __attribute__((__aligned__(8)));
};

struct post {
	struct letter *head;
	struct letter *tail;
};

static void collect(struct sim *s, struct post *post, uint32_t host, uint64_t now)
{
	struct cnr_out out;
	struct letter *l;

	while (cnr_poll(s->host[host].comm, now, &out)) {
		l = sim_alloc(sizeof(*l) + sizeof(out.hdr) + out.len);
		l->next = NULL;
		l->from = s->topo.switches + host;
		l->to = sim_node(s, &out.addr);
		l->length = sizeof(out.hdr) + out.len;
		memcpy(l->data, &out.hdr, sizeof(out.hdr));
		if (out.len)
			memcpy(l->data + sizeof(out.hdr), out.payload, out.len);
		if (post->head)
			post->tail->next = l;
		else
			post->head = l;
		post->tail = l;
	}
}

static void deliver(struct sim *s, struct post *post, uint64_t now)
{
	struct letter *l = post->head;
	struct cnr_in in = {
		.hdr = (const struct canary_hdr *)l->data,
		.len = l->length,
		.addr = sim_address(s, l->from),
		.port = cpu_to_be16(CANARY_PORT_BASE),
	};
	uint32_t host = l->to - s->topo.switches;

	post->head = l->next;
	cnr_input(s->host[host].comm, now, &in);
	collect(s, post, host, now);
	free(l);
}

static bool connected(const struct sim *s, const struct job *j)
{
	uint32_t i;

	for (i = 0; i < j->members; i++)
		if (cnr_state(s->host[j->host[i]].comm) != CNR_CONNECTED)
			return false;
	return true;
}

void join_all(struct sim *s, struct job *j)
{
	uint64_t now = sim_ns(s), next;
	struct post post = { NULL, NULL };
	struct cnr_comm *c;
	uint32_t i;

	for (i = 0; i < j->members; i++) {
		cnr_connect(s->host[j->host[i]].comm, now);
		collect(s, &post, j->host[i], now);
	}
	for (;;) {
		while (post.head)
			deliver(s, &post, now);
		if (connected(s, j))
			break;
		next = CNR_NEVER;
		for (i = 0; i < j->members; i++)
			next = min_t(u64, next, cnr_deadline(s->host[j->host[i]].comm));
		if (next == CNR_NEVER) {
			fputs("canary-sim: the rendezvous does not end\n", stderr);
			exit(1);
		}
		now = max_t(u64, now, next);
		for (i = 0; i < j->members; i++) {
			c = s->host[j->host[i]].comm;
			if (cnr_deadline(c) <= now) {
				cnr_timer(c, now);
				collect(s, &post, j->host[i], now);
			}
		}
	}
	s->engine.now = now * PS_PER_NS;
}
