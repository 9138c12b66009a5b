// SPDX-License-Identifier: BSD-2-Clause
/* The state of the switch: a table for people, and one line of JSON for programs */
#include <arpa/inet.h>
#include <unistd.h>

#include "internal.h"
#include "setting.h"

struct usage {
	uint32_t used;		/* slots whose soft state has not expired */
	uint32_t collecting;	/* of these, slots that wait for their deadline */
	uint32_t queue;		/* entries of the queue, including completed blocks */
};

static struct usage usage(struct switchd *sw)
{
	const struct dataplane *dp = &sw->dp;
	uint64_t now = sw_now();
	const struct csw_descriptor *d;
	struct usage u = { 0 };
	const struct csw_queue *q;
	uint32_t i, head;

	for (i = 0; i < dp->slots; i++) {
		d = dataplane_slot(dp, i);
		if (!dataplane_in_use(dp, d, now))
			continue;
		u.used++;
		u.collecting += d->state == CSW_COLLECTING;
	}
	for (i = 0; i < dp->queues; i++) {
		q = &dp->queue_ctl->queue[i];
		/* The head first: it never passes a tail that is read later. */
		head = __atomic_load_n(&q->head, __ATOMIC_ACQUIRE);
		u.queue += __atomic_load_n(&q->tail, __ATOMIC_RELAXED) - head;
	}
	return u;
}

static const char *xdp_name(const struct port *port)
{
	return port->xdp_link < 0 ? "none" : port->xdp_native ? "native" : "generic";
}

static const char *peer_name(enum port_peer peer)
{
	static const char * const name[] = {
		[PEER_NONE] = "unchecked",
		[PEER_OK] = "ok",
		[PEER_DEAF] = "deaf",
		[PEER_UNKNOWN] = "unknown",
	};

	return name[peer];
}

static const char *tags_name(enum port_tags tags)
{
	return tags == TAGS_SEEN ? "seen" : tags == TAGS_HIDDEN ? "hidden" : "unknown";
}

static const char *link_name(const struct port *port)
{
	if (!port->ifindex)
		return "gone";
	if (!(port->flags & IFF_UP))
		return "down";
	return port->flags & IFF_CARRIER ? "up" : "no-carrier";
}

#define DROPS_LEN	16

/* What the disciplines of a port have dropped */
static const char *drops_text(const struct csw_backlog *b, char text[DROPS_LEN])
{
	if (b->drops == CSW_DROPS_UNKNOWN)
		return "?";
	snprintf(text, DROPS_LEN, "%u", b->drops);
	return text;
}

static void text_port(struct switchd *sw, const struct port *port, FILE *out)
{
	char rate[32] = "", dropped[DROPS_LEN];
	struct csw_backlog b;

	if (port->rate)
		snprintf(rate, sizeof(rate), "%g Mbit/s ", 8 * port->rate / 1e6);
	fprintf(out, "  %-15s %-10s %-7s %-8s mtu %-5u %s%s%s%s\n", port->option->name,
		link_name(port), mode_words[port->mode], xdp_name(port), port->mtu, rate,
		port->peer == PEER_DEAF ? "peer drops redirected frames " : "",
		port->tags == TAGS_HIDDEN ? "tags of VLANs may be hidden " : "",
		port->ifindex && device_captive(port) ? "has a master: nothing is merged" : "");
	if (port->queue && backlog_read(sw, port, &b))
		fprintf(out, "  %15s waiting %u of %u bytes, at most %u; dropped %s, refused %llu; "
			"chosen %llu, diverted %llu; missed %u\n", "", b.bytes, port->queue,
			b.peak, drops_text(&b, dropped), (unsigned long long)b.refusals,
			(unsigned long long)b.chosen, (unsigned long long)b.diverted,
			port->word.missed);
}

void switch_report_text(struct switchd *sw, FILE *out)
{
	const struct clock *clock = &sw->clock;
	struct usage u = usage(sw);
	struct counters c;
	unsigned int i;

	fprintf(out, "%s:", sw->name);
	settings_text(sw, out, SHOWN_HEAD);
	fprintf(out, " pid %d netns %llu\n", getpid(), (unsigned long long)switchd_netns());
	if (sw->dp.config->timeout_max)
		fprintf(out, "  timeout adapts between %gus and %gus%s\n",
			sw->dp.config->timeout_min / 1e3, sw->dp.config->timeout_max / 1e3,
			sw->now.timeout_auto ? ", by the rates of the ports" : "");
	fprintf(out, "  memory %.1f MiB\n", dataplane_memory(&sw->dp) / 1048576.0);
	fputc(' ', out);
	settings_text(sw, out, SHOWN_SLOTS);
	fprintf(out, " used %u collecting %u queue %u routes %zu neighbours %u\n", u.used,
		u.collecting, u.queue, sw->routes.n, sw->neighbours.in_map);
	if (sw->routes.cut)
		fprintf(out, "  %u next hops are not used: of a route only the first %d are\n",
			sw->routes.cut, CSW_NEXTHOPS_MAX);
	if (sw->routes.weighted)
		fprintf(out, "  %u routes have weights, which do not count: next hops get the same share\n",
			sw->routes.weighted);
	if (sw->losses || sw->map_errors)
		fprintf(out, "  notifications lost %llu times, all read again %llu times; %llu changes of maps failed at first\n",
			(unsigned long long)sw->losses, (unsigned long long)sw->resyncs,
			(unsigned long long)sw->map_errors);
	fputc(' ', out);
	settings_text(sw, out, SHOWN_CHOICE);
	fprintf(out, "%s\n ", sw->backlog.netns ? "" : "; what waits at ports is not seen");
	settings_text(sw, out, SHOWN_FAN_IN);
	fputc('\n', out);
	settings_text(sw, out, SHOWN_ADMISSION);
	fputc(' ', out);
	settings_text(sw, out, SHOWN_CLOCK);
	fprintf(out, " %s wakeups %llu frames %llu errors %llu\n",
		clock_works(sw) ? "works" : "stands still, packets are only forwarded",
		(unsigned long long)clock_count(&clock->wakeups),
		(unsigned long long)clock_count(&clock->frames),
		(unsigned long long)clock_count(&clock->errors));
	fprintf(out, "ports\n");
	qdiscs_show(sw);
	for (i = 0; i < sw->ports; i++)
		text_port(sw, &sw->port[i], out);
	if (counters_read(sw, &c)) {
		fprintf(out, "counters cannot be read\n");
		return;
	}
	if (c.counter[CSW_BYPASS_CHILDREN])
		fprintf(out, "too many sources: %llu contributions met a block with %u children, as many as it can have (--children, at most %d)\n",
			(unsigned long long)c.counter[CSW_BYPASS_CHILDREN], sw->opt->children,
			CSW_CHILDREN_MAX);
	fprintf(out, "counters\n");
	for (i = 0; i < CSW_COUNTER_COUNT; i++)
		if (c.counter[i])
			fprintf(out, "  %-18s %14llu  %s\n", counter_name(i),
				(unsigned long long)c.counter[i], counter_help(i));
	fprintf(out, "drops\n");
	for (i = 1; i < c.drops; i++)
		if (c.drop[i])
			fprintf(out, "  %-18s %14llu  %s\n", drop_name(i),
				(unsigned long long)c.drop[i], drop_help(i));
}

static void json_backlog(struct switchd *sw, struct json *j, const struct port *port)
{
	struct csw_backlog b;

	if (!port->queue || !backlog_read(sw, port, &b)) {
		json_null(j, "egress");
		return;
	}
	json_object(j, "egress");
	json_u64(j, "room", port->queue);
	json_u64(j, "waiting", b.bytes);
	json_u64(j, "peak", b.peak);
	if (b.drops == CSW_DROPS_UNKNOWN)
		json_null(j, "drops");
	else
		json_u64(j, "drops", b.drops);
	json_u64(j, "refused", b.refusals);
	json_u64(j, "chosen", b.chosen);
	json_u64(j, "diverted", b.diverted);
	json_u64(j, "back", sw_now() < b.back_until ? b.back : 0);
	json_u64(j, "missed", port->word.missed);
	json_end(j);
}

static void json_port(struct switchd *sw, struct json *j, const struct port *port)
{
	const uint8_t *m = port->mac;
	char mac[18];

	snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4],
		 m[5]);
	json_object(j, NULL);
	json_string(j, "name", port->option->name);
	json_u64(j, "ifindex", port->ifindex);
	json_string(j, "link", link_name(port));
	json_string(j, "mode", mode_words[port->mode]);
	json_string(j, "xdp", xdp_name(port));
	json_u64(j, "mtu", port->mtu);
	json_string(j, "mac", mac);
	json_string(j, "peer", peer_name(port->peer));
	json_u64(j, "rate", 8ULL * port->rate);
	json_string(j, "tags", tags_name(port->tags));
	if (port->features_known)
		json_bool(j, "redirects", port->features & DRIVER_NDO_XMIT);
	else
		json_null(j, "redirects");
	json_bool(j, "captive", device_captive(port));
	json_backlog(sw, j, port);
	json_end(j);
}

static void json_state(struct switchd *sw, struct json *j)
{
	struct usage u = usage(sw);

	json_string(j, "name", sw->name);
	json_u64(j, "pid", getpid());
	json_u64(j, "netns", switchd_netns());
	json_number(j, "uptime_s", "%.3f", (sw_now() - sw->started) / 1e9);
	json_u64(j, "memory", dataplane_memory(&sw->dp));
	json_u64(j, "slots_used", u.used);
	json_u64(j, "slots_collecting", u.collecting);
	json_u64(j, "queue_depth", u.queue);
	json_u64(j, "routes", sw->routes.n);
	json_u64(j, "route_dumps", sw->routes.syncs);
	json_u64(j, "neighbours", sw->neighbours.in_map);
	json_u64(j, "next_hops_cut", sw->routes.cut);
	json_u64(j, "routes_weighted", sw->routes.weighted);
	json_u64(j, "losses", sw->losses);
	json_u64(j, "resyncs", sw->resyncs);
	json_u64(j, "map_errors", sw->map_errors);
	json_bool(j, "backlog_seen", sw->backlog.netns);
	json_u64(j, "groups", sw->groups.n);
	settings_json(sw, j);
}

static void json_counters(struct switchd *sw, struct json *j)
{
	struct counters c;
	unsigned int i;
	bool known = !counters_read(sw, &c);

	json_object(j, "counters");
	for (i = 0; known && i < CSW_COUNTER_COUNT; i++)
		json_u64(j, counter_name(i), c.counter[i]);
	json_end(j);
	json_object(j, "drops");
	for (i = 1; known && i < c.drops; i++)
		json_u64(j, drop_name(i), c.drop[i]);
	json_end(j);
}

void switch_report_json(struct switchd *sw, FILE *out)
{
	struct json j;
	unsigned int i;

	json_begin(&j, out, JSON_LINE);
	json_object(&j, NULL);
	json_state(sw, &j);
	json_array(&j, "ports");
	qdiscs_show(sw);
	for (i = 0; i < sw->ports; i++)
		json_port(sw, &j, &sw->port[i]);
	json_end(&j);
	json_counters(sw, &j);
	json_end(&j);
}
