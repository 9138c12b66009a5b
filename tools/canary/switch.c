// SPDX-License-Identifier: BSD-2-Clause
/* canary switch run|set|show: the arguments of the switch daemon and of its client. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "userspace/switchd/switchd.h"
#include "cmds.h"

static void usage(FILE *out)
{
	unsigned int i;

	fprintf(out,
		"usage: canary switch run --ports DEV[:fast|:shaped],... [OPTIONS]\n"
		"       canary switch set [--name NAME|--all] [--choice HOW] [--trees T[+FIRST]]\n"
		"                         [--flowlet TIME] [--spread N] [--timeout TIME] [--fan-in HOW]\n"
		"                         [--admit RULE,...] [--revoke RULE,...]\n"
		"       canary switch show [-j] [--name NAME|--all]\n"
		"\n"
		"  -p, --ports LIST        devices of the switch; may be given more than once\n"
		"  -a, --address A         the switch's own address (first global /32 of lo)\n"
		"  -m, --mode MODE         fast: output by XDP; shaped: through the port's qdisc (fast)\n"
		"  -t, --timeout TIME      from the first contribution to sending on, 10us to 1s;\n"
		"                          MIN..MAX: between these, as the spread of arrivals wants it;\n"
		"                          auto: 1 to 40 packets' time on the ports, 1ms..40ms where\n"
		"                          nobody knows their rate (auto)\n"
		"  -R, --root-patience N   further timeouts that the switch next to a block's leader\n"
		"                          waits for what waited at other switches, 0 to 100 (3)\n"
		"  -l, --lifetime TIME     of soft state, 10ms to 3600s (5s)\n"
		"  -s, --slots N           blocks at a time, a power of two from %d to %d (32768),\n"
		"                          some 4 KB each\n"
		"  -c, --children N        children of a block, 1 to %d (%d)\n"
		"  -f, --fan-in HOW        learn: a block leaves with as many as came for those before;\n"
		"                          off: with all members; LEADER[/LEN]=N,...: with N if one\n"
		"                          of those leads it; may be given more than once (learn)\n"
		"  -x, --choice HOW        which of several next hops (both):\n",
		CSW_SLOTS_MIN, CSW_SLOTS_MAX, CSW_CHILDREN_MAX, CSW_CHILDREN_MAX);
	for (i = 0; switchd_choice_name(i); i++)
		fprintf(out, "                          %-9s %s\n", switchd_choice_name(i),
			switchd_choice_help(i));
	fprintf(out,
		"  -F, --flowlet TIME      pause of a flow after which it may take another, 10us to 10s (5ms)\n"
		"  -d, --spread N          divide block number or path by N before it chooses: 1 to 256 (1);\n"
		"                          as many as the next hops of the choice before, in a fat tree\n"
		"  -T, --trees T[+FIRST]   with --choice static: blocks take turns among T trees, 1 to 256\n"
		"                          (all): the next hops from number FIRST on, 0 to 255 (0)\n"
		"  -q, --queue BYTES       that may wait at the egress of a port (what its qdisc says)\n"
		"  -e, --restore on|off    serve children that were bypassed, if leaders name them (on)\n"
		"  -W, --forward HOW       what is only forwarded: fast, past the kernel's packet filter;\n"
		"                          stack: by the kernel's router (fast)\n"
		"  -A, --admit RULE,...    who may contribute: COMM[-COMM]:PREFIX[/LEN][%%PORT] (any for all\n"
		"                          communicators, or all sources); with a rule, nobody else;\n"
		"                          nobody, everybody: without rules; may be given more than once,\n"
		"                          up to %d rules (everybody)\n"
		"      --revoke RULE,...   set: take rules back; the last one leaves nobody\n"
		"  -C, --clock sleep|poll  how to wait for deadlines (sleep)\n"
		"  -n, --name NAME         run: a name for show and set (the host's name), each only once\n"
		"                          in /run/canary; show, set: that one (those of this network\n"
		"                          namespace; set: if it is only one)\n"
		"      --all               show, set: all in /run/canary, whatever their namespace\n"
		"  -S, --sysctl            set ip_forward and rp_filter as needed; they stay set\n"
		"  -r, --realtime          clock thread under SCHED_FIFO\n"
		"  -v, --verbose           more messages\n"
		"  -j, --json              show: one line of JSON for each switch\n", SWITCHD_ADMIT_MAX);
}

typedef int (*option_fn)(struct switchd_options *o, const char *text, char *err, size_t len);

static const struct option run_options[] = {
	{ "ports", required_argument, NULL, 'p' },
	{ "address", required_argument, NULL, 'a' },
	{ "mode", required_argument, NULL, 'm' },
	{ "timeout", required_argument, NULL, 't' },
	{ "root-patience", required_argument, NULL, 'R' },
	{ "lifetime", required_argument, NULL, 'l' },
	{ "slots", required_argument, NULL, 's' },
	{ "children", required_argument, NULL, 'c' },
	{ "fan-in", required_argument, NULL, 'f' },
	{ "choice", required_argument, NULL, 'x' },
	{ "flowlet", required_argument, NULL, 'F' },
	{ "spread", required_argument, NULL, 'd' },
	{ "trees", required_argument, NULL, 'T' },
	{ "queue", required_argument, NULL, 'q' },
	{ "restore", required_argument, NULL, 'e' },
	{ "forward", required_argument, NULL, 'W' },
	{ "admit", required_argument, NULL, 'A' },
	{ "clock", required_argument, NULL, 'C' },
	{ "name", required_argument, NULL, 'n' },
	{ "sysctl", no_argument, NULL, 'S' },
	{ "realtime", no_argument, NULL, 'r' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 }
};

static option_fn value_option(int c)
{
	switch (c) {
	case 'p':
		return switchd_option_ports;
	case 'a':
		return switchd_option_address;
	case 'm':
		return switchd_option_mode;
	case 't':
		return switchd_option_timeout;
	case 'R':
		return switchd_option_root_patience;
	case 'l':
		return switchd_option_lifetime;
	case 's':
		return switchd_option_slots;
	case 'c':
		return switchd_option_children;
	case 'f':
		return switchd_option_fan_in;
	case 'x':
		return switchd_option_choice;
	case 'F':
		return switchd_option_flowlet;
	case 'd':
		return switchd_option_spread;
	case 'T':
		return switchd_option_trees;
	case 'q':
		return switchd_option_queue;
	case 'e':
		return switchd_option_restore;
	case 'W':
		return switchd_option_forward;
	case 'A':
		return switchd_option_admit;
	case 'C':
		return switchd_option_clock;
	case 'n':
		return switchd_option_name;
	}
	return NULL;
}

static int refuse(const char *err)
{
	fprintf(stderr, "canary switch run: %s\n", err);
	return 2;
}

static int run(int argc, char **argv)
{
	struct switchd_options o;
	char err[256];
	option_fn fn;
	int c;

	switchd_options_init(&o);
	while ((c = getopt_long(argc, argv, "p:a:m:t:R:l:s:c:f:x:F:d:T:q:e:W:A:C:n:Srvh", run_options,
				NULL)) != -1) {
		fn = value_option(c);
		if (fn) {
			if (fn(&o, optarg, err, sizeof(err)))
				return refuse(err);
			continue;
		}
		switch (c) {
		case 'S':
			o.sysctl = true;
			break;
		case 'r':
			o.realtime = true;
			break;
		case 'v':
			o.verbose = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			return 2;
		}
	}
	if (optind < argc) {
		snprintf(err, sizeof(err), "unexpected argument '%s'", argv[optind]);
		return refuse(err);
	}
	if (switchd_options_check(&o, err, sizeof(err)))
		return refuse(err);
	return switchd_run(&o);
}

static int name_and_all(const char *verb)
{
	fprintf(stderr, "canary switch %s: either --name or --all\n", verb);
	return 2;
}

static int show(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "name", required_argument, NULL, 'n' },
		{ "all", no_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	const char *name = NULL;
	bool json = false, all = false;
	int c;

	while ((c = getopt_long(argc, argv, "jn:h", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'n':
			name = optarg;
			break;
		case 'a':
			all = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			return 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "canary switch show: unexpected argument '%s'\n", argv[optind]);
		return 2;
	}
	if (name && all)
		return name_and_all("show");
	return switchd_show(name, all, json);
}

static int set(int argc, char **argv)
{
	static const struct option options[] = {
		{ "choice", required_argument, NULL, 'x' },
		{ "flowlet", required_argument, NULL, 'F' },
		{ "spread", required_argument, NULL, 'd' },
		{ "trees", required_argument, NULL, 'T' },
		{ "timeout", required_argument, NULL, 't' },
		{ "fan-in", required_argument, NULL, 'f' },
		{ "admit", required_argument, NULL, 'A' },
		{ "revoke", required_argument, NULL, 'V' },
		{ "name", required_argument, NULL, 'n' },
		{ "all", no_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	struct switchd_setting todo[argc];
	const char *name = NULL;
	bool all = false;
	int c, at, given = 0;

	while ((c = getopt_long(argc, argv, "x:F:d:T:t:f:A:n:h", options, NULL)) != -1) {
		if (c == '?')
			return 2;
		if (c == 'h') {
			usage(stdout);
			return 0;
		}
		if (c == 'n') {
			name = optarg;
			continue;
		}
		if (c == 'a') {
			all = true;
			continue;
		}
		for (at = 0; options[at].val != c; at++)
			;
		todo[given].name = options[at].name;
		todo[given++].value = optarg;
	}
	if (optind < argc || !given) {
		fprintf(stderr, "canary switch set: %s%s\n", optind < argc ? "unexpected argument " :
			"nothing to set: --choice, --trees, --flowlet, --spread, --timeout, --fan-in, "
			"--admit, --revoke",
			optind < argc ? argv[optind] : "");
		return 2;
	}
	if (name && all)
		return name_and_all("set");
	return switchd_set(name, all, todo, given);
}

int cmd_switch(int argc, char **argv)
{
	static const struct {
		const char *name, *title;	/* what getopt() complains as */
		int (*run)(int argc, char **argv);
	} verbs[] = {
		{ "run", "canary switch run", run },
		{ "set", "canary switch set", set },
		{ "show", "canary switch show", show },
	};
	const char *verb = argc > 1 ? argv[1] : "";
	size_t i;

	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verb, verbs[i].name))
			continue;
		argv[1] = (char *)verbs[i].title;
		return verbs[i].run(argc - 1, argv + 1);
	}
	if (!strcmp(verb, "-h") || !strcmp(verb, "--help") || !strcmp(verb, "help")) {
		usage(stdout);
		return 0;
	}
	if (*verb)
		fprintf(stderr, "canary switch: unknown verb '%s'\n", verb);
	usage(stderr);
	return 2;
}
