// SPDX-License-Identifier: BSD-2-Clause
/* A simulation: builds its parts, runs it event by event, takes it apart. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim.h"
#include "util.h"

#define LOOK_AT_CLOCK	262144	/* events between two looks at the wall clock */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t wall(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Plan a line "fail SWITCH AT [FOR]". Return: false after an error message */
static bool plan_failure(struct sim *s, const char *text, const char *where)
{
	char name[64], at[64], duration[64] = "";
	uint64_t begin, length;
	int node;

	if (sscanf(text, "%63s %63s %63s", name, at, duration) < 2) {
		fprintf(stderr, "%s: fail: not 'SWITCH AT [FOR]' but '%s'\n", where, text);
		return false;
	}
	node = topo_node(&s->topo, name);
	if (node < 0 || (uint32_t)node >= s->topo.switches) {
		fprintf(stderr, "%s: fail: no switch '%s'\n", where, name);
		return false;
	}
	if (!config_parse_time(at, &begin) ||
	    (*duration && !config_parse_time(duration, &length))) {
		fprintf(stderr, "%s: fail: no times such as 100us in '%s'\n", where, text);
		return false;
	}
	if (!s->ports)
		return true;	/* the network is not built: only check the line */
	engine_at(&s->engine, s->begin + begin, EVENT_FAIL, node, NULL);
	engine_at(&s->engine, s->begin + begin + s->cfg.reroute, EVENT_REROUTE, 0, NULL);
	if (*duration) {
		engine_at(&s->engine, s->begin + begin + length, EVENT_REPAIR, node, NULL);
		engine_at(&s->engine, s->begin + begin + length + s->cfg.reroute, EVENT_REROUTE,
			  0, NULL);
	}
	return true;
}

static bool plan_failures(struct sim *s)
{
	uint32_t i;

	for (i = 0; i < s->cfg.fail.n; i++)
		if (!plan_failure(s, s->cfg.fail.text[i], s->cfg.fail.where[i]))
			return false;
	return true;
}

static const struct net_users users = { .lost = traffic_input, .stopped = host_pump };

/*
 * Build everything that the scenario in @s asks for. Errors are reported before anything is built.
 */
bool sim_build(struct sim *s)
{
	if (!*s->cfg.topology) {
		fputs("scenario: no topology\n", stderr);
		return false;
	}
	if (!topo_read(&s->topo, s->cfg.topology))
		return false;
	if (!scenario_check(&s->cfg, s->topo.hosts) || !plan_failures(s)) {
		topo_free(&s->topo);
		return false;
	}
	engine_init(&s->engine);
	s->users = &users;
	s->engine.now = PS_PER_S;
	s->blocks = (s->cfg.bytes / 4 + s->cfg.elements - 1) / s->cfg.elements;
	if (!s->blocks)
		s->blocks = 1;
	net_build(s);
	route_build(s);
	switch_build(s);
	host_build(s);
	fan_in_build(s);
	traffic_build(s);
	return true;
}

void sim_free(struct sim *s)
{
	traffic_free(s);
	fan_in_free(s);
	host_free(s);
	switch_free(s);
	route_free(s);
	net_free(s);
	engine_free(&s->engine);
	topo_free(&s->topo);
}

static void arrived(struct sim *s, uint32_t link, struct packet *p)
{
	struct link *l = &s->link[link];

	s->hops++;
	s->data_hops += p->length != 0;
	if (l->to < s->topo.switches) {
		switch_input(s, l->to, p, l);
	} else if (p->length) {
		host_input(s, l->to - s->topo.switches, p);
	} else {
		traffic_input(s, p);
		packet_free(s, p);
	}
}

static void sent(struct sim *s, struct link *l)
{
	uint32_t host = l->from - s->topo.switches;

	net_sent(s, l);
	if (l->from < s->topo.switches)
		return;
	host_pump(s, host);
	traffic_fill(s, host);
}

static void handle(struct sim *s, const struct event *e)
{
	switch ((enum event_kind)e->kind) {
	case EVENT_SENT:
		sent(s, e->ptr);
		break;
	case EVENT_ARRIVED:
		arrived(s, e->arg, e->ptr);
		break;
	case EVENT_CLOCK:
		switch_clock(s, e->arg);
		break;
	case EVENT_TIMER:
		host_timer(s, e->arg);
		break;
	case EVENT_DELAYED:
		net_send(s, s->ports[s->topo.switches + e->arg].link[0], e->ptr);
		break;
	case EVENT_FAIL:
		switch_fail(s, e->arg, true);
		break;
	case EVENT_REPAIR:
		switch_fail(s, e->arg, false);
		break;
	case EVENT_TRAFFIC:
		traffic_turn(s, e->arg);
		break;
	case EVENT_REROUTE:
		route_build(s);
		switch_routes(s);
		break;
	}
}

/* How many events ahead in a lane memory is fetched, from the first step to the last */
#define FETCH_FAR	16
#define FETCH_NODE	12		/* if there are many nodes */
#define NODES_CACHED	1000		/* fewer nodes stay in the cache anyway */
#define FETCH_MIDDLE	8
#define FETCH_NEAR	4

/* Does the event concern the core of a host, and not only its port? */
static bool concerns_core(const struct sim *s, const struct event *e, const struct link *l)
{
	return e->kind == EVENT_SENT ? !l->head || l->head == l->tail :
		!host_waits(s, l->to - s->topo.switches);
}

static void fetch_near(const struct sim *s, const struct event *e)
{
	const struct link *l = e->kind == EVENT_SENT ? e->ptr : &s->link[e->arg];
	uint32_t node = e->kind == EVENT_SENT ? l->from : l->to;

	if (node >= s->topo.switches) {
		if (concerns_core(s, e, l))
			host_fetch_block(s, node - s->topo.switches,
					 e->kind == EVENT_SENT ? NULL : e->ptr);
	} else if (e->kind == EVENT_ARRIVED) {
		switch_fetch_data(s, node, e->ptr);
	}
}

static void fetch_middle(const struct sim *s, const struct event *e)
{
	const struct link *l = e->kind == EVENT_SENT ? e->ptr : &s->link[e->arg];
	uint32_t node = e->kind == EVENT_SENT ? l->from : l->to;

	if (e->kind == EVENT_SENT) {
		__builtin_prefetch(l->sending, 1);
		__builtin_prefetch(l->head, 1);
	}
	if (node >= s->topo.switches) {
		if (concerns_core(s, e, l))
			host_fetch(s, node - s->topo.switches);
	} else if (e->kind == EVENT_ARRIVED) {
		switch_fetch(s, node, e->ptr);
	}
}

static void fetch_node(const struct sim *s, const struct event *e)
{
	const struct link *l = e->kind == EVENT_SENT ? e->ptr : &s->link[e->arg];
	uint32_t node = e->kind == EVENT_SENT ? l->from : l->to;

	if (node >= s->topo.switches)
		host_fetch_self(s, node - s->topo.switches);
	else if (e->kind == EVENT_ARRIVED)
		switch_fetch_self(s, node);
}

static void fetch_far(const struct sim *s, const struct event *e)
{
	const char *p = e->ptr;

	/* A packet or a link, which have two or three lines */
	__builtin_prefetch(p, 1);
	__builtin_prefetch(p + LINE, 1);
	if (e->kind != EVENT_ARRIVED)
		return;
	__builtin_prefetch(p + 2 * LINE, 1);
	__builtin_prefetch(&s->link[e->arg]);
}

/*
 * Hardly anything that an event touches is in the cache, so the simulation would mostly wait for
 * memory. The next events are known, as a lane has events of one kind. So fetch what they need.
 */
static void fetch_ahead(const struct sim *s, const struct event *now)
{
	const struct event *e;

	if (now->kind != EVENT_ARRIVED && now->kind != EVENT_SENT)
		return;
	e = engine_ahead(&s->engine, FETCH_FAR);
	if (e && e->kind == now->kind)
		fetch_far(s, e);
	e = s->nodes > NODES_CACHED ? engine_ahead(&s->engine, FETCH_NODE) : NULL;
	if (e && e->kind == now->kind)
		fetch_node(s, e);
	e = engine_ahead(&s->engine, FETCH_MIDDLE);
	if (e && e->kind == now->kind)
		fetch_middle(s, e);
	e = engine_ahead(&s->engine, FETCH_NEAR);
	if (e && e->kind == now->kind)
		fetch_near(s, e);
}

static void show_progress(struct sim *s, uint64_t begin)
{
	uint64_t ms = (wall() - begin) / 1000000 + 1;
	uint32_t done = host_progress(s);
	char bar[31];

	memset(bar, '.', 30);
	memset(bar, '#', done * 30 / 1000);
	bar[30] = 0;
	fprintf(stderr, "\r[%s] %3u.%u%%  %llu us simulated, %llu.%llu M hops/s", bar, done / 10,
		done % 10, (unsigned long long)((s->engine.now - s->begin) / PS_PER_US),
		(unsigned long long)(s->hops / ms / 1000),
		(unsigned long long)(s->hops / ms / 100 % 10));
	if (done)
		fprintf(stderr, ", %llu s left  ",
			(unsigned long long)(ms * (1000 - done) / done / 1000));
}

/*
 * Run until all operations are over. Return: false if one took longer than it may, or no event was
 * left.
 */
bool sim_run(struct sim *s, bool progress)
{
	uint64_t begin, processor, limit, look = LOOK_AT_CLOCK;
	struct event e;
	bool good = true;

	host_start(s);
	traffic_start(s);
	plan_failures(s);
	limit = s->begin + s->cfg.give_up;
	begin = wall();
	processor = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	while (s->running) {
		if (!engine_next(&s->engine, &e) || s->engine.now > limit) {
			good = false;
			s->end = s->engine.now;
			break;
		}
		fetch_ahead(s, &e);
		handle(s, &e);
		if (progress && !--look) {
			look = LOOK_AT_CLOCK;
			show_progress(s, begin);
		}
	}
	if (progress)
		fputc('\n', stderr);
	host_finish(s);
	s->wall = wall() - begin;
	s->processor = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - processor;
	return good && !s->wrong && !s->failed;
}
