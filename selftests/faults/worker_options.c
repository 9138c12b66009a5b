// SPDX-License-Identifier: BSD-2-Clause
/* The command line of a rank in a fault experiment; worker.c explains it. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "worker.h"

struct worker_options opt = {
	.rounds = 1, .operations = 4, .elements = 1000, .inflight = 1, .seed = 1, .log = -1,
};

struct progress *shared;

static void parse_plan(const char *text)
{
	static const char * const names[] = {
		"die", "slow", "longer", "shift", "barrier", "quit", "hold",
	};
	struct plan *p = &opt.plans[opt.nplans++];
	char who[16], what[16];
	unsigned int i;

	if (opt.nplans > PLANS_MAX ||
	    sscanf(text, "%15[^:]:%u:%u:%15[^:]:%u", who, &p->round, &p->op, what, &p->ms) < 4)
		die("--plan: %s", text);
	p->rank = strcmp(who, "all") ? atoi(who) : -1;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(what, names[i])) {
			p->action = i;
			return;
		}
	}
	die("--plan: %s", text);
}

static void map_progress(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || ftruncate(fd, sizeof(*shared)))
		die_errno(path);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		die_errno(path);
	close(fd);
}

static unsigned int number(const char *name, const char *text, unsigned int most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!*text || *end || value > most)
		die("%s: %s", name, text);
	return value;
}

static void set_param(const char *name, const char *value)
{
	if (canary_params_set(&opt.params, name, value))
		die("%s: %s", name, canary_errmsg());
}

void worker_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "rounds",	required_argument, NULL, 'r' },
		{ "operations",	required_argument, NULL, 'n' },
		{ "elements",	required_argument, NULL, 'e' },
		{ "inflight",	required_argument, NULL, 'f' },
		{ "seed",	required_argument, NULL, 's' },
		{ "vary",	no_argument, NULL, 'v' },
		{ "same-id",	no_argument, NULL, 'i' },
		{ "launched",	no_argument, NULL, 'L' },
		{ "plan",	required_argument, NULL, 'p' },
		{ "progress",	required_argument, NULL, 'P' },
		{ "log",	required_argument, NULL, 'l' },
#define PARAM(name) { name, required_argument, NULL, 'c' }
		PARAM("comm"), PARAM("rank"), PARAM("members"), PARAM("root"), PARAM("bind"),
		PARAM("engine"), PARAM("key"), PARAM("window"), PARAM("mtu"), PARAM("dead-after"),
		PARAM("linger"), PARAM("rto-min"), PARAM("max-vector"), PARAM("algorithm"),
		{ NULL, 0, NULL, 0 },
	};
	int c, index;

	canary_params_init(&opt.params);
	while ((c = getopt_long(argc, argv, "", options, &index)) != -1) {
		switch (c) {
		case 'r': opt.rounds = number("--rounds", optarg, 1000000); break;
		case 'n': opt.operations = number("--operations", optarg, 1000000); break;
		case 'e': opt.elements = number("--elements", optarg, 1 << 26); break;
		case 'f': opt.inflight = number("--inflight", optarg, INFLIGHT_MAX); break;
		case 's': opt.seed = strtoull(optarg, NULL, 0); break;
		case 'v': opt.vary = true; break;
		case 'i': opt.same_id = true; break;
		case 'L': opt.launched = true; break;
		case 'p': parse_plan(optarg); break;
		case 'P': map_progress(optarg); break;
		case 'c': set_param(options[index].name, optarg); break;
		case 'l':
			opt.log = open(optarg, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
			if (opt.log < 0)
				die_errno(optarg);
			break;
		default: exit(3);
		}
	}
	if (optind < argc || !opt.inflight)
		die("usage: see the head of worker.c");
	if (!shared)
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}
