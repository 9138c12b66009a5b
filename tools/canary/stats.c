// SPDX-License-Identifier: BSD-2-Clause
/* canary stats: counters of the kernel and of user engines. */
#include <string.h>
#include <unistd.h>

#include "cmds.h"
#include "engines.h"
#include "userspace/common/option.h"

struct asked {
	bool json, zeros;
};

static const struct option_row rows[] = {
	{ OPTION("json", 'j', NULL, "as JSON"), OPTION_AT(struct asked, json) },
	{ OPTION("zeros", 'z', NULL, "counters that are 0, too"), OPTION_AT(struct asked, zeros) },
};

static int usage(FILE *to)
{
	const struct option_group own[] = { { OPTION_ROWS(rows) }, { 0 } };

	fprintf(to,
		"usage: canary stats [-j] [-z]\n"
		"\n"
		"Counters of the kernel in this network namespace and of user engines that run.\n");
	options_help(to, own, 15);
	return to == stdout ? 0 : 2;
}

static void show_text(const struct report *r, bool zeros)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		if (r->fields[i].kind <= FIELD_STRING || (!zeros && !strcmp(r->fields[i].value, "0")))
			continue;
		printf("  %s%-24s %s\n", r->fields[i].kind == FIELD_DROP ? "drop-" : "",
		       r->fields[i].name, r->fields[i].value);
	}
}

static void show_json(const struct report *kernel, const struct reports *user)
{
	struct json j;
	size_t i;

	json_begin(&j, stdout, JSON_LINE);
	json_object(&j, NULL);
	if (kernel) {
		json_object(&j, "kernel");
		report_json_counters(&j, kernel);
		json_end(&j);
	} else {
		json_null(&j, "kernel");
	}
	json_array(&j, "user");
	for (i = 0; i < user->n; i++) {
		json_object(&j, NULL);
		report_json(&j, &user->list[i]);
		json_object(&j, "stats");
		report_json_counters(&j, &user->list[i]);
		json_end(&j);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
}

static void show_table(const struct report *kernel, const struct reports *user, bool zeros)
{
	size_t i;

	if (!kernel && !user->n)
		puts("no member runs here, and the module is not loaded");
	if (kernel) {
		puts("kernel");
		show_text(kernel, zeros);
	}
	for (i = 0; i < user->n; i++) {
		printf("user communicator %s rank %s pid %s\n",
		       report_value(&user->list[i], "comm"), report_value(&user->list[i], "rank"),
		       report_value(&user->list[i], "pid") ?: "?");
		show_text(&user->list[i], zeros);
	}
}

int cmd_stats(int argc, char **argv)
{
	struct asked asked = { 0 };
	const struct option_group own[] = {
		{ OPTION_ROWS(rows), .take = option_take, .arg = &asked }, { 0 }
	};
	struct reports user = { 0 };
	struct report kernel;
	enum option_end end;
	bool have_kernel;
	int err;

	argv[0] = (char *)"canary stats";	/* getopt() prints it before its messages */
	end = options_parse(own, argc, argv);
	if (end != OPTIONS_OK)
		return usage(end == OPTIONS_HELP ? stdout : stderr);
	if (optind < argc)
		return usage(stderr);
	have_kernel = engines_kernel_stats(&kernel);
	err = engines_user(&user);
	if (!err) {
		if (asked.json)
			show_json(have_kernel ? &kernel : NULL, &user);
		else
			show_table(have_kernel ? &kernel : NULL, &user, asked.zeros);
	}
	report_free(&kernel);
	reports_free(&user);
	return err ? 1 : 0;
}
