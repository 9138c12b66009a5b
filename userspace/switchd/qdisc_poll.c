// SPDX-License-Identifier: BSD-2-Clause
/*
 * When the queueing disciplines of the ports are read, and who then follows them: nothing tells of
 * their changes, so each tick looks, and only if somebody needs to know.
 */
#include "internal.h"

/* Somebody may have given a port another queue: @qdisc has those of all ports */
static void follow_limits(struct switchd *sw, const struct qdisc *qdisc)
{
	struct port *port;
	unsigned int i;

	for (i = 0; i < sw->ports; i++) {
		port = &sw->port[i];
		if (port->ifindex && backlog_limit_by(port, &qdisc[i]) != port->queue)
			port_publish(sw, port);
	}
}

/*
 * What cannot be read, as a list that changed meanwhile, leaves everything as it was. @at: when it
 * may be done again, so that it takes a tenth of a processor at most, however many devices there are.
 */
static void look(struct switchd *sw, bool limits, bool rates, uint64_t *at)
{
	struct qdisc qdisc[SWITCHD_PORTS_MAX];
	uint64_t start = sw_now();

	if (!qdiscs_read(sw, qdisc)) {
		if (limits)
			follow_limits(sw, qdisc);
		if (rates)
			timeout_rates(sw, qdisc);
		backlog_ask(sw, qdisc, start);
	}
	*at = sw_now() + 9 * (sw_now() - start);
}

void qdiscs_rates(struct switchd *sw)
{
	look(sw, false, true, &sw->qdiscs_show_at);
}

/* Otherwise the ticks know them. Anybody may ask, which must not keep the ticks from looking. */
void qdiscs_show(struct switchd *sw)
{
	bool rates = !sw->now.timeout_auto;

	if ((rates || backlog_stale(sw)) && sw->qdiscs_show_at <= sw_now())
		look(sw, false, rates, &sw->qdiscs_show_at);
}

void qdiscs_tick(struct switchd *sw)
{
	bool limits = !sw->opt->queue && sw->backlog.netns;

	if ((limits || sw->now.timeout_auto) && sw->qdiscs_at <= sw_now())
		look(sw, limits, sw->now.timeout_auto, &sw->qdiscs_at);
}
