// SPDX-License-Identifier: BSD-2-Clause
/* Scenarios: their keys, their defaults, and which keys do not go together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "bpf/shared.h"
#include "scenario.h"
#include "tools/canary/reference_float.h"
#include "tools/values/values.h"
#include "userspace/common/parse.h"

#define AT(member)	offsetof(struct scenario, member)
#define SECOND		1000000000000ULL

static const char *const algorithms[] = { "dynamic", "static", "ring", NULL };
static const char *const patterns[] = { "none", "permutation", "derangement", "uniform", NULL };
static const char *const router_ports[] = { "same", "flow", "socket", NULL };
static const char *const flows[] = { "lossless", "drop", NULL };
static const char *const cwnds[] = { "auto", "adaptive", "fixed", NULL };
static const char *const fan_ins[] = { "learn", "off", NULL };
static const char *const placements[] = { "random", "packed", NULL };
static const char *const dealt[] = { "ranks", "random", NULL };

/* These are filled in by scenario_defaults(), from tables of others. */
static const char *types[32], *operators[32], *values[DATA_SETS + VALUES_SETS + 1];

static const char *const choices[] = {
#define X(name, text, help) text,
	CSW_CHOICES(X)
#undef X
	NULL
};

const struct config_key scenario_keys[] = {
	{ "topology", CONFIG_TEXT, AT(topology), 0, 0, NULL,
	  "file that describes the network; needed" },
	{ "seed", CONFIG_NUMBER, AT(seed), 0, ~0U, NULL,
	  "of placement, traffic, data, faults (1)" },
	{ "algorithm", CONFIG_WORD, AT(algorithm), 0, 0, algorithms,
	  "how sums are made (dynamic)" },
	{ "run", CONFIG_NUMBER, AT(run), 1, CANARY_RUN_MAX, NULL,
	  "dynamic: blocks that a member leads in a row (1)" },
	{ "trees", CONFIG_NUMBER, AT(trees), 1, 32, NULL, "static: how many (1)" },
	{ "first_tree", CONFIG_NUMBER, AT(first_tree), 0, 32, NULL,
	  "static: they follow each other from this one on, the first is 1 (0: random ones)" },
	{ "members", CONFIG_NUMBER, AT(members), 0, 65535, NULL,
	  "hosts that take part, in all jobs together (0: all)" },
	{ "jobs", CONFIG_NUMBER, AT(jobs), 1, 256, NULL, "communicators, of equal size (1)" },
	{ "operations", CONFIG_NUMBER, AT(operations), 1, 1000, NULL, "one after the other (1)" },
	{ "bytes", CONFIG_BYTES, AT(bytes), 1, 1ULL << 30, NULL, "of a vector (4MiB)" },
	{ "type", CONFIG_WORD, AT(type), 0, 0, types, "of its elements (int32)" },
	{ "op", CONFIG_WORD, AT(op), 0, 0, operators, "what is done to them (sum)" },
	{ "how", CONFIG_TEXT, AT(how), 0, 0, NULL,
	  "sums of floating-point numbers: exact, elementwise, narrow, or several, separated by "
	  "commas; sums of integers: saturate (the length decides, and integers wrap)" },
	{ "values", CONFIG_WORD, AT(values), 0, 0, values,
	  "of the elements; perf: as canary perf has them; others are sets of floating-point "
	  "numbers (auto: perf; of sums of int32 some that cost little)" },
	{ "dealt", CONFIG_WORD, AT(dealt), 0, 0, dealt,
	  "who has which member's elements: by rank, or at random (ranks)" },
	{ "elements", CONFIG_NUMBER, AT(elements), 8, CANARY_ELEMENTS_MAX, NULL,
	  "of a packet, 4 bytes each, whatever the type (256)" },
	{ "headers", CONFIG_BYTES, AT(headers), 20, 1000, NULL,
	  "that a data packet takes on the wire beside elements (130, as ours)" },
	{ "window", CONFIG_NUMBER, AT(window), 1, CNR_WINDOW_MAX, NULL,
	  "blocks in flight, a power of two (256)" },
	{ "cwnd", CONFIG_WORD, AT(cwnd), 0, 0, cwnds,
	  "how much of the window is used; fixed: all of it (auto: that if nothing is dropped)" },
	{ "host_delay", CONFIG_TIME, AT(host_delay), 0, SECOND, NULL,
	  "from arrival at a host to its answer (500ns)" },
	{ "rto_min", CONFIG_TIME, AT(rto_min), 0, SECOND, NULL,
	  "shortest retransmission timer (0s: the core's)" },
	{ "placement", CONFIG_WORD, AT(placement), 0, 0, placements, "of ranks on hosts (random)" },
	{ "hosts", CONFIG_TEXT, AT(hosts), 0, 0, NULL,
	  "that take part, by rank: 8,2,15 (instead of placement; members says how many)" },
	{ "traffic", CONFIG_WORD, AT(traffic), 0, 0, patterns, "of the other hosts (none)" },
	{ "traffic_message", CONFIG_BYTES, AT(traffic_message), 64, 1ULL << 30, NULL,
	  "that a host sends before it turns to another (16KiB)" },
	{ "traffic_packet", CONFIG_BYTES, AT(traffic_packet), 64, 16384, NULL,
	  "of it, on the wire (1154)" },
	{ "traffic_rate", CONFIG_PARTS, AT(traffic_rate), 1, 1000000, NULL,
	  "of what a host's link carries, that it sends (100%)" },
	{ "traffic_port", CONFIG_WORD, AT(traffic_port), 0, 0, router_ports,
	  "by which it leaves switches: same as by choice, by flow, or by socket: flows "
	  "part once (same)" },
	{ "router_port", CONFIG_WORD, AT(router_port), 0, 0, router_ports,
	  "by which frames leave that the program leaves to the router: control, rings (same)" },
	{ "choice", CONFIG_WORD, AT(choice), 0, 0, choices,
	  "of one among equal-cost next hops (adaptive)" },
	{ "flowlet", CONFIG_TIME, AT(flowlet), 1000, SECOND, NULL,
	  "pause that ends a flowlet (50us)" },
	{ "flow", CONFIG_WORD, AT(flow), 0, 0, flows, "control on links (lossless)" },
	{ "pause", CONFIG_BYTES, AT(pause), 2048, 16 << 20, NULL,
	  "lossless: bytes of one link in a switch from which on it has to wait (32KiB)" },
	{ "burst", CONFIG_BYTES, AT(burst), 0, 1 << 20, NULL,
	  "links are token buckets of this size, as HTB has them (0: wires)" },
	{ "timeout", CONFIG_TIME, AT(timeout), 1000, SECOND, NULL, "of a switch (1us)" },
	{ "timeout_max", CONFIG_TIME, AT(timeout_max), 0, SECOND, NULL,
	  "it adapts to the skew of arrivals, from timeout up to this (0s: it does not)" },
	{ "root_waits", CONFIG_NUMBER, AT(root_waits), 0, 255, NULL,
	  "further timeouts that a root switch waits (3)" },
	{ "fan_in", CONFIG_WORD, AT(fan_in), 0, 0, fan_ins,
	  "how many contributions a switch waits for; off: until the timeout (learn)" },
	{ "slots", CONFIG_NUMBER, AT(slots), 16, 1 << 20, NULL,
	  "for descriptors, of a switch: a power of two (4096)" },
	{ "lifetime", CONFIG_TIME, AT(lifetime), 1000, 100 * SECOND, NULL, "of soft state (1s)" },
	{ "children", CONFIG_NUMBER, AT(children), 1, 64, NULL, "of a descriptor (64)" },
	{ "deployed", CONFIG_PARTS, AT(deployed), 0, 1000000, NULL,
	  "share of the switches that run the program (100%)" },
	{ "noise", CONFIG_PARTS, AT(noise), 0, 1000000, NULL,
	  "share of packets that hosts delay (0%)" },
	{ "noise_delay", CONFIG_TIME, AT(noise_delay), 0, SECOND, NULL, "by so much (1us)" },
	{ "loss", CONFIG_PARTS, AT(loss), 0, 900000, NULL,
	  "share of packets lost on each link (0%)" },
	{ "fail", CONFIG_LIST, AT(fail), 0, 0, NULL,
	  "SWITCH AT [FOR]: its state is gone and it is down, e.g. sspine1 100us 50us" },
	{ "reroute", CONFIG_TIME, AT(reroute), 0, SECOND, NULL,
	  "from a failure until routes avoid it (50us)" },
	{ "give_up", CONFIG_TIME, AT(give_up), 1000, 3600 * SECOND, NULL,
	  "simulated time that an operation may take (10s)" },
	{ .name = NULL },
};

#undef AT

/* Write the names of 1, 2 and so on to @names, which has room for 31 of them. */
static void take_names(const char **names, const char *(*name_of)(u32))
{
	u32 i;

	for (i = 0; i < 31 && name_of(i + 1); i++)
		names[i] = name_of(i + 1);
}

void scenario_defaults(struct scenario *s)
{
	take_names(types, cnr_dtype_name);
	take_names(operators, cnr_operator_name);
	values[DATA_AUTO] = "auto";
	values[DATA_PERF] = "perf";
	memcpy(values + DATA_SETS, values_names, VALUES_SETS * sizeof(*values));
	memset(s, 0, sizeof(*s));
	s->seed = 1;
	s->run = 1;
	s->trees = 1;
	s->jobs = 1;
	s->operations = 1;
	s->bytes = 4 << 20;
	s->type = CANARY_INT32 - 1;
	s->op = CANARY_OP_SUM - 1;
	s->elements = 256;
	s->headers = 130;
	s->window = 256;
	s->host_delay = 500000;
	s->traffic_message = 16 << 10;
	s->traffic_packet = 1154;
	s->traffic_rate = 1000000;
	s->flowlet = 50000000;
	s->pause = 32 << 10;
	s->timeout = 1000000;
	s->root_waits = 3;
	s->slots = 4096;
	s->lifetime = SECOND;
	s->children = 64;
	s->deployed = 1000000;
	s->noise_delay = 1000000;
	s->reroute = 50000000;
	s->give_up = 10 * SECOND;
}

uint32_t scenario_how(const struct scenario *s)
{
	char text[CONFIG_TEXT_MAX], *rest = text, *one;
	uint32_t how = 0;
	u32 bit;

	strcpy(text, s->how);
	while (*s->how && (one = strsep(&rest, ","))) {
		for (bit = 0; cnr_how_name(bit) && strcmp(one, cnr_how_name(bit)); bit++)
			;
		how |= cnr_how_name(bit) ? 1U << bit : ~CANARY_HOW_ALL;
	}
	return how;
}

bool scenario_holds(const struct scenario *s)
{
	return s->values != DATA_AUTO || scenario_dtype(s) != CANARY_INT32 ||
	       scenario_operator(s) != CANARY_OP_SUM;
}

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

uint32_t scenario_hosts(const struct scenario *s, uint32_t hosts, uint32_t *order)
{
	char text[CONFIG_TEXT_MAX], *rest = text, *one;
	uint32_t number, n = 0, i;

	strcpy(text, s->hosts);
	while ((one = strsep(&rest, ","))) {
		if (!parse_number(one, 1, hosts, &number))
			return 0;
		for (i = 0; i < n; i++)
			if (order[i] == number - 1)
				return 0;
		order[n++] = number - 1;
	}
	return n;
}

static bool hosts_check(const struct scenario *s, uint32_t members, uint32_t hosts)
{
	uint32_t *order = calloc(hosts + 1, sizeof(*order)), n;

	n = order ? scenario_hosts(s, hosts, order) : 0;
	free(order);
	if (!n)
		return refuse("scenario", "hosts: not numbers of different hosts: 8,2,15");
	return n == members || refuse("scenario", "hosts: not as many as members");
}

/* Fewer do not hold a number of float64 for exact sums of 65535 members. */
#define FLOAT_ELEMENTS	((576 - CANARY_IP_OVERHEAD) / 4)

static bool values_check(const struct scenario *s)
{
	enum canary_operator op = scenario_operator(s);
	enum canary_dtype dtype = scenario_dtype(s);
	uint32_t size = cnr_element(op, dtype);

	if (!size)
		return refuse("scenario", "op: there is no %s of %s", cnr_operator_name(op),
			      cnr_dtype_name(dtype));
	if (s->bytes % size)
		return refuse("scenario", "bytes: elements have %u", size);
	if (scenario_how(s) & ~CANARY_HOW_ALL)
		return refuse("scenario", "how: '%s' is not one that there is", s->how);
	if (scenario_how(s) & ~cnr_how(op, dtype))
		return refuse("scenario", "how: '%s' is not for %s of %s", s->how,
			      cnr_operator_name(op), cnr_dtype_name(dtype));
	if (!reference_is_float(dtype) && s->values > DATA_PERF)
		return refuse("scenario", "values: %s is no floating-point type",
			      cnr_dtype_name(dtype));
	if (reference_is_float(reference_number(dtype, 0)) && s->elements < FLOAT_ELEMENTS)
		return refuse("scenario", "elements: floating-point numbers need %u", FLOAT_ELEMENTS);
	if (s->dealt != DEALT_RANKS && !scenario_holds(s))
		return refuse("scenario", "dealt: only with values");
	return true;
}

bool scenario_check(const struct scenario *s, uint32_t hosts)
{
	uint32_t members = s->members ? s->members : hosts;

	if (*s->hosts && !hosts_check(s, members, hosts))
		return false;
	if (members > hosts)
		return refuse("scenario", "members: the topology has fewer hosts");
	if (members % s->jobs)
		return refuse("scenario", "jobs: members are not divisible by them");
	if (members / s->jobs < 2)
		return refuse("scenario", "jobs: each needs two members");
	if (!power_of_two(s->window))
		return refuse("scenario", "window: no power of two");
	if (!power_of_two(s->slots))
		return refuse("scenario", "slots: no power of two");
	if (!values_check(s))
		return false;
	if (s->run > 1 && s->algorithm != ALGORITHM_DYNAMIC)
		return refuse("scenario", "run: only with algorithm dynamic");
	if (!power_of_two(s->run))
		return refuse("scenario", "run: no power of two");
	if (s->run > 1 && s->run * (members / s->jobs) > s->window)
		return refuse("scenario", "run: a window has no run of each member");
	if (s->algorithm != ALGORITHM_STATIC && (s->trees > 1 || s->first_tree))
		return refuse("scenario", "trees, first_tree: only with algorithm static");
	if (s->timeout_max && s->timeout_max < s->timeout)
		return refuse("scenario", "timeout_max: less than timeout");
	if (s->traffic != TRAFFIC_NONE && hosts == members)
		return refuse("scenario", "traffic: all hosts are members, nobody is left to send it (members)");
	if (s->traffic != TRAFFIC_NONE && hosts - members == 1)
		return refuse("scenario", "traffic: one host alone has nobody to send to");
	return true;
}
