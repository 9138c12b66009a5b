// SPDX-License-Identifier: BSD-2-Clause
/*
 * When the queueing disciplines of the ports are read, and who uses them then. There are no
 * notifications of their changes. So each tick looks, but only if somebody needs to know.
 */
#include "internal.h"

/* A port may have another queue now. @qdisc has the disciplines of all ports. */
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
 * Read the disciplines. If that fails, for instance as the list changed meanwhile, nothing changes.
 * @at: earliest time of the next read, so that this takes a tenth of a processor at most, however
 * many devices there are
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

/*
 * Otherwise the ticks read them. Everybody may ask for a report, which must not keep ticks from
 * reading.
 */
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
