// SPDX-License-Identifier: BSD-2-Clause
/*
 * canary comm: shows the members of communicators on this machine. rules.c has the rules about who
 * may be one.
 */
#include <string.h>
#include <unistd.h>

#include "cmds.h"
#include "engines.h"
#include "userspace/common/complain.h"
#include "userspace/common/option.h"

struct asked {
	bool json;
};

static const struct option_row rows[] = {
	{ OPTION("json", 'j', NULL, "as JSON"), OPTION_AT(struct asked, json) },
};

static int usage(FILE *to)
{
	const struct option_group own[] = { { OPTION_ROWS(rows) }, { 0 } };

	fprintf(to,
		"usage: canary comm show [-j]\n"
		"       canary comm rules|allow|revoke ...: who may be a member; see canary comm rules --help\n"
		"\n"
		"Members that run here: the kernel's of this network namespace, user engines of all.\n");
	options_help(to, own, 14);
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
		{ "OPERATION", "operation", -11 }, { "SWITCHES", "switches", -8 },
		{ "TROUBLE", "trouble", -27 },
		{ "PID", "pid", 7 }, { "COMMAND", "command", -1 },
	};
	const char *value;
	size_t i, c, hidden = 0;

	if (!all->n) {
		puts("no member runs here");
		return;
	}
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
	struct asked asked = { 0 };
	const struct option_group own[] = {
		{ OPTION_ROWS(rows), .take = option_take, .arg = &asked }, { 0 }
	};
	struct reports all = { 0 };
	enum option_end end;
	int err;

	if (argc > 1 && (!strcmp(argv[1], "rules") || !strcmp(argv[1], "allow") ||
			 !strcmp(argv[1], "revoke")))
		return cmd_comm_rules(argc - 1, argv + 1);
	argv[0] = (char *)"canary comm";	/* getopt() prints it before its messages */
	end = options_parse(own, argc, argv);
	if (end != OPTIONS_OK)
		return usage(end == OPTIONS_HELP ? stdout : stderr);
	if (optind < argc && strcmp(argv[optind], "show")) {
		complain("canary", "comm: unknown command '%s'", argv[optind]);
		return usage(stderr);
	}
	if (optind + 1 != argc)
		return usage(stderr);
	err = engines_kernel(&all) || engines_user(&all);
	if (!err) {
		if (asked.json)
			show_json(&all);
		else
			show_table(&all);
	}
	reports_free(&all);
	return err ? 1 : 0;
}
