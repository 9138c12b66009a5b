// SPDX-License-Identifier: BSD-2-Clause
/* canary switch run|set|show: the arguments of the switch daemon and of its client. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/switchd/setting.h"
#include "cmds.h"
#include "userspace/common/complain.h"

static bool not_run(const struct option_row *row)
{
	return !(((const struct setting *)row)->where & SETTING_RUN);
}

static bool not_set(const struct option_row *row)
{
	return !(((const struct setting *)row)->where & SETTING_SET);
}

#define ALL_SETTINGS	.row = &settings[0].option, .n = settings_count, \
			.stride = sizeof(settings[0])

/* Options of `set` and `show` that are no settings */
struct ask {
	const char *name;
	bool all, json;
	struct switchd_setting *given;
	unsigned int n;
	struct switchd_options checked;	/* run: what is given, to find mistakes before a --help */
};

static const struct option_row name_row[] = {
	{ OPTION("name", 'n', "NAME", NULL), OPTION_AT(struct ask, name) },
};

static const struct option_row all_row[] = {
	{ OPTION("all", 0, NULL, "show, set: all in " SWITCHD_RUN_DIR ", whatever their namespace"),
	  OPTION_AT(struct ask, all) },
};

static const struct option_row json_row[] = {
	{ OPTION("json", 'j', NULL, "show: one line of JSON for each switch"),
	  OPTION_AT(struct ask, json) },
};

static void usage(FILE *out)
{
	const struct option_group set[] = { { ALL_SETTINGS, .skip = not_set }, { 0 } };
	const struct option_group all[] = {
		{ ALL_SETTINGS }, { OPTION_ROWS(all_row) }, { OPTION_ROWS(json_row) }, { 0 }
	};

	fprintf(out,
		"usage: canary switch run --ports DEV[:fast|:shaped],... [OPTIONS]\n"
		"       canary switch run --config FILE [OPTIONS]\n"
		"       canary switch set [--name NAME|--all]");
	options_synopsis(out, set, 24, 44);
	fprintf(out,
		"       canary switch show [-j] [--name NAME|--all]\n"
		"\n");
	options_help(out, all, 26);
}

static void say(void *none, const char *err)
{
	complain("canary switch run", "%s", err);
}

static int refuse(const char *err)
{
	say(NULL, err);
	return 2;
}

/* Return: -1 to go on, or the exit status if there is nothing more to do */
static int parse(const struct option_group *groups, int argc, char **argv)
{
	enum option_end end = options_parse(groups, argc, argv);

	if (end == OPTIONS_HELP) {
		usage(stdout);
		return 0;
	}
	return end == OPTIONS_OK ? -1 : 2;
}

static int take_given(void *arg, const struct option_row *row, const char *text)
{
	struct ask *ask = arg;

	/* `set` sends a word for an option without a value, too */
	ask->given[ask->n++] = (struct switchd_setting) { row->name, text ? text : "on" };
	return 0;
}

static int take_checked(void *arg, const struct option_row *row, const char *text)
{
	struct ask *ask = arg;
	char err[256];

	take_given(ask, row, text);
	if (setting_take((const struct setting *)row, &ask->checked, ask->given[ask->n - 1].value, err,
			 sizeof(err)))
		return refuse(err);
	return 0;
}

/*
 * Room for all settings that may be given. An argument with N letters may have N - 1 of them.
 * Return: what the caller frees; NULL after a message
 */
static struct switchd_setting *room(int argc, char **argv)
{
	struct switchd_setting *given;
	size_t n = argc;
	int i;

	for (i = 0; i < argc; i++)
		n += strlen(argv[i]);
	given = calloc(n, sizeof(*given));
	if (!given)
		complain_memory(argv[0]);
	return given;
}

static int run_with(struct switchd_setting *setting, int argc, char **argv)
{
	struct ask ask = { .given = setting };
	const struct option_group groups[] = {
		{ ALL_SETTINGS, .skip = not_run, .take = take_checked, .arg = &ask }, { 0 }
	};
	struct switchd_given given = { .setting = setting };
	struct switchd_options o;
	char err[256];
	int status;

	switchd_options_init(&ask.checked);
	status = parse(groups, argc, argv);
	if (status >= 0)
		return status;
	if (optind < argc) {
		snprintf(err, sizeof(err), "unexpected argument '%s'", argv[optind]);
		return refuse(err);
	}
	given.n = ask.n;
	if (switchd_options_read(&o, &given, say, NULL))
		return 2;
	if (switchd_options_check(&o, err, sizeof(err)))
		return refuse(err);
	return switchd_run(&o, &given);
}

static int run(int argc, char **argv)
{
	struct switchd_setting *setting = room(argc, argv);
	int status = setting ? run_with(setting, argc, argv) : 1;

	free(setting);
	return status;
}

static int name_and_all(const char *verb)
{
	fprintf(stderr, "canary switch %s: either --name or --all\n", verb);
	return 2;
}

static int show(int argc, char **argv)
{
	struct ask ask = { 0 };
	const struct option_group groups[] = {
		{ OPTION_ROWS(name_row), .take = option_take, .arg = &ask },
		{ OPTION_ROWS(all_row), .take = option_take, .arg = &ask },
		{ OPTION_ROWS(json_row), .take = option_take, .arg = &ask },
		{ 0 }
	};
	int status = parse(groups, argc, argv);

	if (status >= 0)
		return status;
	if (optind < argc) {
		complain("canary switch show", "unexpected argument '%s'", argv[optind]);
		return 2;
	}
	if (ask.name && ask.all)
		return name_and_all("show");
	return switchd_show(ask.name, ask.all, ask.json);
}

static int nothing_to_set(void)
{
	const char *comma = "";
	unsigned int i;

	fprintf(stderr, "canary switch set: nothing to set: ");
	for (i = 0; i < settings_count; i++) {
		if (!(settings[i].where & SETTING_SET))
			continue;
		fprintf(stderr, "%s--%s", comma, settings[i].option.name);
		comma = ", ";
	}
	fputc('\n', stderr);
	return 2;
}

static int set_with(struct switchd_setting *given, int argc, char **argv)
{
	struct ask ask = { .given = given };
	const struct option_group groups[] = {
		{ ALL_SETTINGS, .skip = not_set, .take = take_given, .arg = &ask },
		{ OPTION_ROWS(name_row), .take = option_take, .arg = &ask },
		{ OPTION_ROWS(all_row), .take = option_take, .arg = &ask },
		{ 0 }
	};
	int status = parse(groups, argc, argv);

	if (status >= 0)
		return status;
	if (optind < argc) {
		complain("canary switch set", "unexpected argument %s", argv[optind]);
		return 2;
	}
	if (!ask.n)
		return nothing_to_set();
	if (ask.name && ask.all)
		return name_and_all("set");
	return switchd_set(ask.name, ask.all, given, ask.n);
}

static int set(int argc, char **argv)
{
	struct switchd_setting *given = room(argc, argv);
	int status = given ? set_with(given, argc, argv) : 1;

	free(given);
	return status;
}

int cmd_switch(int argc, char **argv)
{
	static const struct {
		const char *name, *title;	/* getopt() prints it before its messages */
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
		complain("canary switch", "unknown verb '%s'", verb);
	fputs("usage: canary switch run|set|show [OPTIONS]; canary switch --help lists them\n",
	      stderr);
	return 2;
}
