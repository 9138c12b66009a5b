// SPDX-License-Identifier: BSD-2-Clause
/* canary comm: the members of communicators on this machine; rules.c has who may be one. */
#include <getopt.h>
#include <string.h>

#include "cmds.h"
#include "engines.h"

static int usage(FILE *to)
{
	fprintf(to,
		"usage: canary comm show [-j]\n"
		"       canary comm rules|allow|revoke ...: who may be a member (--help has more)\n"
		"\n"
		"Members that run here: the kernel's of this network namespace, user engines of all.\n"
		"  -j, --json  as JSON\n");
	return to == stdout ? 0 : 2;
}

static void show_json(const struct reports *all)
{
	struct json j;
	size_t i;

	json_begin(&j, stdout, JSON_ROWS);
	json_array(&j, NULL);
	for (i = 0; i < all->n; i++) {
		json_object(&j, NULL);
		report_json(&j, &all->list[i]);
		json_end(&j);
	}
	json_end(&j);
}

static void show_table(const struct reports *all)
{
	static const struct {
		const char *title, *name;
		int width;
	} columns[] = {
		{ "COMM", "comm", -10 }, { "RANK", "rank", 5 }, { "MEMBERS", "members", 7 },
		{ "STATE", "state", -10 }, { "ENGINE", "engine", -6 }, { "LOCAL", "local", -21 },
		{ "ROOT", "root", -21 }, { "WINDOW", "window", 6 }, { "SRTT(us)", "srtt_us", 8 },
		{ "ALGORITHM", "algorithm", -9 }, { "LAST", "last", -4 }, { "WHY", "why", -17 },
		{ "TROUBLE", "trouble", -27 },
		{ "PID", "pid", 7 }, { "COMMAND", "command", -1 },
	};
	const char *value;
	size_t i, c, hidden = 0;

	if (!all->n)
		return;
	for (c = 0; c < sizeof(columns) / sizeof(columns[0]); c++)
		printf("%*s ", columns[c].width, columns[c].title);
	putchar('\n');
	for (i = 0; i < all->n; i++) {
		for (c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
			value = report_value(&all->list[i], columns[c].name);
			printf("%*s ", columns[c].width, value ?: "-");
		}
		putchar('\n');
		hidden += !!report_value(&all->list[i], "hidden");
	}
	if (hidden)
		printf("of %zu, epoch and block numbers are hidden: other users' (CAP_NET_ADMIN)\n",
		       hidden);
}

int cmd_comm(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json",	no_argument, NULL, 'j' },
		{ "help",	no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct reports all = { 0 };
	int opt, json = 0, err;

	if (argc > 1 && (!strcmp(argv[1], "rules") || !strcmp(argv[1], "allow") ||
			 !strcmp(argv[1], "revoke")))
		return cmd_comm_rules(argc - 1, argv + 1);
	while ((opt = getopt_long(argc, argv, "jh", options, NULL)) != -1) {
		if (opt == 'h')
			return usage(stdout);
		if (opt != 'j')
			return usage(stderr);
		json = 1;
	}
	if (optind + 1 != argc || strcmp(argv[optind], "show"))
		return usage(stderr);
	err = engines_kernel(&all) || engines_user(&all);
	if (!err) {
		if (json)
			show_json(&all);
		else
			show_table(&all);
	}
	reports_free(&all);
	return err ? 1 : 0;
}
