// SPDX-License-Identifier: BSD-2-Clause
/*
 * The state of the switch, as a table for people and as one line of JSON for programs.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "setting.h"

struct usage {
	uint32_t used;		/* slots with soft state that has not expired */
	uint32_t collecting;	/* of these: waiting for their deadline */
	uint32_t queue;		/* entries, completed blocks included */
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
	u.queue = __atomic_load_n(&dp->queue_ctl->tail, __ATOMIC_RELAXED) -
		  __atomic_load_n(&dp->queue_ctl->head, __ATOMIC_RELAXED);
	return u;
}

static const char *mode_name(enum csw_mode mode)
{
	return mode == CSW_SHAPED ? "shaped" : "fast";
}

static const char *fan_in_name(enum csw_fan_in_mode mode)
{
	return mode == CSW_FAN_IN_LEARN ? "learn" : "off";
}

/* ---- what belongs to a setting ---- */

void text_address(struct switchd *sw, FILE *out)
{
	char text[ADDRESS_TEXT];

	fprintf(out, " address %s", address_text(&sw->address, text));
}

void json_address(struct switchd *sw, struct json *j)
{
	char text[ADDRESS_TEXT];

	json_string(j, "address", address_text(&sw->address, text));
}

void text_timeout(struct switchd *sw, FILE *out)
{
	fprintf(out, " timeout %gus", dataplane_timeout(&sw->dp) / 1e3);
}

void json_timeout(struct switchd *sw, struct json *j)
{
	const struct csw_config *c = sw->dp.config;

	json_number(j, "timeout_us", "%.10g", dataplane_timeout(&sw->dp) / 1e3);
	json_number(j, "timeout_min_us", "%.10g", c->timeout_min / 1e3);
	json_number(j, "timeout_max_us", "%.10g", c->timeout_max / 1e3);
	json_bool(j, "timeout_auto", sw->now.timeout_auto);
}

void text_lifetime(struct switchd *sw, FILE *out)
{
	fprintf(out, " lifetime %gs", sw->now.lifetime_ns / 1e9);
}

void text_trees(struct switchd *sw, FILE *out)
{
	fprintf(out, " trees %u+%u", sw->now.trees, sw->now.first_tree);
}

void json_trees(struct switchd *sw, struct json *j)
{
	json_u64(j, "trees", sw->now.trees);
	json_u64(j, "first_tree", sw->now.first_tree);
}

static uint32_t fan_ins_known(const struct dataplane *dp)
{
	uint32_t i, n = 0;

	for (i = 0; i < CSW_FAN_INS; i++)
		n += !!dp->fan_ins[i].expect;
	return n;
}

/* As the data plane has it, which may be late */
void text_fan_in(struct switchd *sw, FILE *out)
{
	const struct csw_config *c = sw->dp.config;

	fprintf(out, " fan-in %s known %u of at most %u told %u", fan_in_name(c->fan_in),
		fan_ins_known(&sw->dp), CSW_FAN_INS, c->fan_ins_configured);
}

void json_fan_in(struct switchd *sw, struct json *j)
{
	const struct csw_config *c = sw->dp.config;

	json_object(j, "fan_in");
	json_string(j, "mode", fan_in_name(c->fan_in));
	json_u64(j, "known", fan_ins_known(&sw->dp));
	json_u64(j, "room", CSW_FAN_INS);
	json_u64(j, "told", c->fan_ins_configured);
	json_end(j);
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

void text_admission(struct switchd *sw, FILE *out)
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

/* What the disciplines of a port dropped */
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
		link_name(port), mode_name(port->mode), xdp_name(port), port->mtu, rate,
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
		(unsigned long long)atomic_read(&clock->wakeups),
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
	json_string(j, "mode", mode_name(port->mode));
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

static void json_shares(struct switchd *sw, struct json *j)
{
	struct share *shares;
	size_t n, i;
	char text[64];

	n = shares_read(sw, &shares);
	json_array(j, "shares");
	for (i = 0; i < n && i < SHARES_LISTED; i++) {
		share_text(sw, &shares[i], text, sizeof(text));
		json_object(j, NULL);
		json_string(j, "source", text);
		json_u64(j, "slots", shares[i].slots);
		json_end(j);
	}
	json_end(j);
	free(shares);
}

void json_admission(struct switchd *sw, struct json *j)
{
	const struct switchd_admission *a = &sw->admission;
	char text[64];
	unsigned int i;

	json_object(j, "admission");
	json_bool(j, "on", a->on);
	json_u64(j, "entries", sw->admissions.n);
	json_array(j, "rules");
	for (i = 0; i < a->rules; i++) {
		switchd_admit_text(&a->rule[i], text, sizeof(text));
		json_string(j, NULL, text);
	}
	json_end(j);
	json_shares(sw, j);
	json_end(j);
}

void json_clock(struct switchd *sw, struct json *j)
{
	const struct clock *clock = &sw->clock;

	json_object(j, "clock");
	json_string(j, "mode", setting_word("clock", &sw->now));
	json_u64(j, "wakeups", atomic_read(&clock->wakeups));
	json_u64(j, "frames", atomic_read(&clock->frames));
	json_u64(j, "errors", atomic_read(&clock->errors));
	json_bool(j, "works", clock_works(sw));
	json_string(j, "last_error",
		    strerror(-__atomic_load_n(&clock->last_error, __ATOMIC_RELAXED)));
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
