// SPDX-License-Identifier: BSD-2-Clause
/*
 * The state of the switch, as a table for people and as one line of JSON for programs.
 * Strings in it are names of ports and switches, which have no characters to escape but
 * those that json_string() knows.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

struct usage {
	uint32_t used;		/* slots with soft state that has not expired */
	uint32_t collecting;	/* of these: waiting for their deadline */
	uint32_t queue;		/* entries, completed blocks included */
	uint32_t fan_ins;	/* flows of which it is known */
};

static struct usage usage(struct switchd *sw)
{
	const struct dataplane *dp = &sw->dp;
	uint64_t now = sw_now();
	const struct csw_descriptor *d;
	struct usage u = { 0 };
	uint32_t i;

	for (i = 0; i < dp->slots; i++) {
		d = dataplane_slot(dp, i);
		if (!dataplane_in_use(dp, d, now))
			continue;
		u.used++;
		u.collecting += d->state == CSW_COLLECTING;
	}
	for (i = 0; i < CSW_FANINS; i++)
		u.fan_ins += !!dp->fan_ins[i].expect;
	u.queue = __atomic_load_n(&dp->queue_ctl->tail, __ATOMIC_RELAXED) -
		  __atomic_load_n(&dp->queue_ctl->head, __ATOMIC_RELAXED);
	return u;
}

static const char *mode_name(enum csw_mode mode)
{
	return mode == CSW_SHAPED ? "shaped" : "fast";
}

static const char *clock_name(enum switchd_clock clock)
{
	return clock == SWITCHD_CLOCK_POLL ? "poll" : "sleep";
}

static const char *fan_in_name(enum csw_fan_in_mode mode)
{
	return mode == CSW_FAN_IN_LEARN ? "learn" : "off";
}

static const char *forward_name(enum csw_forward_by by)
{
	return by == CSW_FORWARD_STACK ? "stack" : "fast";
}

#define SHARES_SHOWN	16	/* to people; programs get SHARES_LISTED */
#define SHARES_LISTED	1024

static void text_shares(struct switchd *sw, FILE *out)
{
	struct share *shares;
	size_t n, i;
	char text[64];

	n = shares_read(sw, &shares);
	for (i = 0; i < n && i < SHARES_SHOWN; i++) {
		share_text(sw, &shares[i], text, sizeof(text));
		fprintf(out, "  %15s %s holds %u slots\n", "", text, shares[i].slots);
	}
	if (n > SHARES_SHOWN)
		fprintf(out, "  %15s %zu others hold fewer\n", "", n - SHARES_SHOWN);
	free(shares);
}

static void text_admission(struct switchd *sw, FILE *out)
{
	const struct switchd_admission *a = &sw->admission;
	char text[64];
	unsigned int i;

	if (!a->on) {
		fprintf(out, "  admission off: everybody may contribute\n");
		return;
	}
	fprintf(out, "  admission on: %u rules of at most %d, %zu entries of at most %d%s\n", a->rules,
		SWITCHD_ADMIT_MAX, sw->admissions.n, CSW_ADMISSIONS, a->rules ? "" : ": nobody");
	for (i = 0; i < a->rules; i++) {
		switchd_admit_text(&a->rule[i], text, sizeof(text));
		fprintf(out, "  %15s %s\n", "", text);
	}
	text_shares(sw, out);
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

static uint64_t atomic_read(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

#define DROPS_LEN	16

/* What the disciplines of a port dropped, as a number or, if that is not known, as @unknown */
static const char *drops_text(const struct csw_backlog *b, const char *unknown,
			      char text[DROPS_LEN])
{
	if (b->drops == CSW_DROPS_UNKNOWN)
		return unknown;
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
		link_name(port), mode_name(port->mode), xdp_name(port), port->mtu, rate,
		port->peer == PEER_DEAF ? "peer drops redirected frames " : "",
		port->tags == TAGS_HIDDEN ? "tags of VLANs may be hidden " : "",
		port->ifindex && device_captive(port) ? "has a master: nothing is merged" : "");
	if (port->queue && backlog_read(sw, port, &b))
		fprintf(out, "  %15s waiting %u of %u bytes, at most %u; dropped %s, refused %llu; "
			"chosen %llu, diverted %llu\n", "", b.bytes, port->queue, b.peak,
			drops_text(&b, "?", dropped),
			(unsigned long long)b.refusals, (unsigned long long)b.chosen,
			(unsigned long long)b.diverted);
}

void switch_report_text(struct switchd *sw, FILE *out)
{
	const struct clock *clock = &sw->clock;
	struct usage u = usage(sw);
	char addr[INET_ADDRSTRLEN];
	struct counters c;
	unsigned int i;

	inet_ntop(AF_INET, &sw->address, addr, sizeof(addr));
	fprintf(out, "%s: address %s mode %s timeout %gus lifetime %gs pid %d netns %llu\n", sw->name,
		addr, mode_name(sw->opt->mode), dataplane_timeout(&sw->dp) / 1e3,
		sw->opt->lifetime_ns / 1e9, getpid(), (unsigned long long)switchd_netns());
	if (sw->dp.config->timeout_max)
		fprintf(out, "  timeout adapts between %gus and %gus%s\n",
			sw->dp.config->timeout_min / 1e3, sw->dp.config->timeout_max / 1e3,
			sw->now.timeout_auto ? ", by the rates of the ports" : "");
	fprintf(out, "  memory %.1f MiB\n", dataplane_memory(&sw->dp) / 1048576.0);
	fprintf(out, "  slots %u used %u collecting %u queue %u routes %zu neighbours %u\n",
		sw->dp.slots, u.used, u.collecting, u.queue, sw->routes.n, sw->neighbours.in_map);
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
	fprintf(out, "  choice %s flowlet %gus spread %u trees %u+%u%s\n",
		switchd_choice_name(sw->dp.config->choice), sw->dp.config->flowlet_ns / 1e3,
		sw->dp.config->spread, sw->dp.config->trees, sw->dp.config->first_tree,
		sw->backlog.netns ? "" : "; what waits at ports is not seen");
	fprintf(out, "  fan-in %s known %u of at most %u told %u restorations %s forward %s\n",
		fan_in_name(sw->dp.config->fan_in), u.fan_ins, CSW_FANINS, sw->dp.config->told,
		sw->opt->restore ? "on" : "off", forward_name(sw->opt->forward));
	text_admission(sw, out);
	fprintf(out, "  clock %s %s wakeups %llu frames %llu errors %llu\n",
		clock_name(sw->opt->clock),
		clock_works(sw) ? "works" : "stands still, packets are only forwarded", (unsigned long long)atomic_read(&clock->wakeups),
		(unsigned long long)atomic_read(&clock->frames),
		(unsigned long long)atomic_read(&clock->errors));
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

static void json_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		if ((unsigned char)*s < ' ')
			fprintf(out, "\\u%04x", *s);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else
			fputc(*s, out);
	}
	fputc('"', out);
}

static void json_backlog(struct switchd *sw, const struct port *port, FILE *out)
{
	char drops[DROPS_LEN];
	struct csw_backlog b;

	if (!port->queue || !backlog_read(sw, port, &b)) {
		fprintf(out, ",\"egress\":null}");
		return;
	}
	fprintf(out, ",\"egress\":{\"room\":%u,\"waiting\":%u,\"peak\":%u,\"drops\":%s,\"refused\":%llu",
		port->queue, b.bytes, b.peak, drops_text(&b, "null", drops),
		(unsigned long long)b.refusals);
	fprintf(out, ",\"chosen\":%llu,\"diverted\":%llu,\"back\":%u}}",
		(unsigned long long)b.chosen, (unsigned long long)b.diverted,
		sw_now() < b.back_until ? b.back : 0);
}

static void json_port(struct switchd *sw, const struct port *port, FILE *out)
{
	const uint8_t *m = port->mac;

	fprintf(out, "{\"name\":");
	json_string(out, port->option->name);
	fprintf(out, ",\"ifindex\":%u,\"link\":\"%s\",\"mode\":\"%s\",\"xdp\":\"%s\"",
		port->ifindex, link_name(port), mode_name(port->mode), xdp_name(port));
	fprintf(out, ",\"mtu\":%u,\"mac\":\"%02x:%02x:%02x:%02x:%02x:%02x\",\"peer\":\"%s\"",
		port->mtu, m[0], m[1], m[2], m[3], m[4], m[5], peer_name(port->peer));
	fprintf(out, ",\"rate\":%llu,\"tags\":\"%s\",\"redirects\":%s,\"captive\":%s",
		8ULL * port->rate, tags_name(port->tags),
		!port->features_known ? "null" :
		port->features & DRIVER_NDO_XMIT ? "true" : "false",
		device_captive(port) ? "true" : "false");
	json_backlog(sw, port, out);
}

static void json_shares(struct switchd *sw, FILE *out)
{
	struct share *shares;
	size_t n, i;
	char text[64];

	n = shares_read(sw, &shares);
	fprintf(out, ",\"shares\":[");
	for (i = 0; i < n && i < SHARES_LISTED; i++) {
		share_text(sw, &shares[i], text, sizeof(text));
		fprintf(out, "%s{\"source\":", i ? "," : "");
		json_string(out, text);
		fprintf(out, ",\"slots\":%u}", shares[i].slots);
	}
	fprintf(out, "]");
	free(shares);
}

static void json_admission(struct switchd *sw, FILE *out)
{
	const struct switchd_admission *a = &sw->admission;
	char text[64];
	unsigned int i;

	fprintf(out, ",\"admission\":{\"on\":%s,\"entries\":%zu,\"rules\":[",
		a->on ? "true" : "false", sw->admissions.n);
	for (i = 0; i < a->rules; i++) {
		switchd_admit_text(&a->rule[i], text, sizeof(text));
		if (i)
			fputc(',', out);
		json_string(out, text);
	}
	fprintf(out, "]");
	json_shares(sw, out);
	fprintf(out, "}");
}

static void json_state(struct switchd *sw, FILE *out)
{
	struct usage u = usage(sw);
	char addr[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &sw->address, addr, sizeof(addr));
	fprintf(out, "{\"name\":");
	json_string(out, sw->name);
	fprintf(out, ",\"pid\":%d,\"netns\":%llu,\"address\":\"%s\",\"mode\":\"%s\"", getpid(),
		(unsigned long long)switchd_netns(), addr, mode_name(sw->opt->mode));
	fprintf(out, ",\"root_patience\":%u", sw->opt->root_patience);
	fprintf(out, ",\"timeout_us\":%.10g,\"lifetime_us\":%.10g,\"uptime_s\":%.3f",
		dataplane_timeout(&sw->dp) / 1e3, sw->opt->lifetime_ns / 1e3,
		(sw_now() - sw->started) / 1e9);
	fprintf(out, ",\"timeout_min_us\":%.10g,\"timeout_max_us\":%.10g,\"memory\":%zu",
		sw->dp.config->timeout_min / 1e3, sw->dp.config->timeout_max / 1e3,
		dataplane_memory(&sw->dp));
	fprintf(out, ",\"timeout_auto\":%s", sw->now.timeout_auto ? "true" : "false");
	fprintf(out, ",\"slots\":%u,\"slots_used\":%u,\"slots_collecting\":%u,\"children\":%u",
		sw->dp.slots, u.used, u.collecting, sw->opt->children);
	fprintf(out, ",\"queue_depth\":%u,\"routes\":%zu,\"route_dumps\":%llu,\"neighbours\":%u",
		u.queue, sw->routes.n, (unsigned long long)sw->routes.syncs,
		sw->neighbours.in_map);
	fprintf(out, ",\"next_hops_cut\":%u,\"routes_weighted\":%u", sw->routes.cut,
		sw->routes.weighted);
	fprintf(out, ",\"losses\":%llu,\"resyncs\":%llu,\"map_errors\":%llu",
		(unsigned long long)sw->losses, (unsigned long long)sw->resyncs,
		(unsigned long long)sw->map_errors);
	fprintf(out, ",\"fan_in\":{\"mode\":\"%s\",\"known\":%u,\"room\":%u,\"told\":%u}",
		fan_in_name(sw->dp.config->fan_in), u.fan_ins, CSW_FANINS, sw->dp.config->told);
	fprintf(out, ",\"trees\":%u,\"first_tree\":%u", sw->dp.config->trees,
		sw->dp.config->first_tree);
	fprintf(out, ",\"choice\":\"%s\",\"flowlet_us\":%.10g,\"spread\":%u,\"backlog_seen\":%s",
		switchd_choice_name(sw->dp.config->choice), sw->dp.config->flowlet_ns / 1e3,
		sw->dp.config->spread, sw->backlog.netns ? "true" : "false");
	json_admission(sw, out);
	fprintf(out, ",\"restore\":%s,\"forward\":\"%s\"", sw->opt->restore ? "true" : "false",
		forward_name(sw->opt->forward));
	fprintf(out, ",\"clock\":{\"mode\":\"%s\",\"wakeups\":%llu,\"frames\":%llu,\"errors\":%llu",
		clock_name(sw->opt->clock),
		(unsigned long long)atomic_read(&sw->clock.wakeups),
		(unsigned long long)atomic_read(&sw->clock.frames),
		(unsigned long long)atomic_read(&sw->clock.errors));
	fprintf(out, ",\"works\":%s,\"last_error\":", clock_works(sw) ? "true" : "false");
	json_string(out, strerror(-__atomic_load_n(&sw->clock.last_error, __ATOMIC_RELAXED)));
	fputc('}', out);
}

void switch_report_json(struct switchd *sw, FILE *out)
{
	struct counters c;
	unsigned int i;

	json_state(sw, out);
	fprintf(out, ",\"ports\":[");
	qdiscs_show(sw);
	for (i = 0; i < sw->ports; i++) {
		if (i)
			fputc(',', out);
		json_port(sw, &sw->port[i], out);
	}
	fprintf(out, "],\"counters\":{");
	if (counters_read(sw, &c))
		c.drops = 0;
	for (i = 0; c.drops && i < CSW_COUNTER_COUNT; i++)
		fprintf(out, "%s\"%s\":%llu", i ? "," : "", counter_name(i),
			(unsigned long long)c.counter[i]);
	fprintf(out, "},\"drops\":{");
	for (i = 1; i < c.drops; i++)
		fprintf(out, "%s\"%s\":%llu", i > 1 ? "," : "", drop_name(i),
			(unsigned long long)c.drop[i]);
	fprintf(out, "}}\n");
}
