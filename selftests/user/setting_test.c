// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each row of the switch's table of settings has everything that follows from it: option, default,
 * `set`, data plane, `show`, JSON, help. (tools/man/check.py compares canary-switch(8) with
 * --help.) A new setting whose value is no number, duration or word needs an example here.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "selftests/tap.h"
#include "userspace/switchd/internal.h"
#include "userspace/switchd/setting.h"

/* Values that differ from the default, where the table does not say which are valid */
static const struct {
	const char *name, *value;
} examples[] = {
	{ "ports", "eth1,eth2:shaped" }, { "address", "10.0.0.1" }, { "timeout", "2ms..4ms" },
	{ "slots", "64" }, { "fan-in", "off" }, { "trees", "3+1" }, { "admit", "1-5:10.0.0.0/8" },
	{ "revoke", "1-5:10.0.0.0/8" }, { "name", "leaf1" }, { "config", "/etc/a" },
	{ "rules", "/etc/b" },
};

static const char *example(const struct setting *s, char text[PARSE_TEXT])
{
	const struct option_row *row = &s->option;
	size_t i;

	if (row->words)
		return row->words[row->standard == 1 ? 0 : 1];
	if (row->units && !s->take)
		return parse_text(text, row->units,
				  row->standard == row->max ? row->min : row->max);
	for (i = 0; i < ARRAY_SIZE(examples); i++)
		if (!strcmp(examples[i].name, row->name))
			return examples[i].value;
	return row->argument ? NULL : "";
}

static int take(void *o, const struct option_row *row, const char *text)
{
	char err[256];

	return setting_take((const struct setting *)row, o, text, err, sizeof(err));
}

/*
 * Parse `canary switch run --NAME VALUE`, or with its letter. Return: does that change an option?
 */
static bool is_option(const struct setting *s, const char *option, const char *value)
{
	const struct option_group groups[] = {
		{ .row = &settings[0].option, .n = settings_count, .stride = sizeof(settings[0]),
		  .take = take },
		{ 0 }
	};
	struct switchd_options *o = calloc(1, sizeof(*o)), *before = calloc(1, sizeof(*o));
	struct option_group with[ARRAY_SIZE(groups)];
	char *argv[] = { (char *)"test", (char *)option, (char *)value, NULL };
	bool good;

	memcpy(with, groups, sizeof(groups));
	with[0].arg = o;
	switchd_options_init(o);
	if (!strcmp(s->option.name, "revoke"))
		take(o, &setting_find("admit", SETTING_SET)->option, value);
	memcpy(before, o, sizeof(*o));
	optind = 0;
	good = options_parse(with, s->option.argument ? 3 : 2, argv) == OPTIONS_OK &&
	       memcmp(before, o, sizeof(*o));
	free(o);
	free(before);
	return good;
}

static void test_option(const struct setting *s, const char *value)
{
	char name[64], letter[3] = { '-', s->option.letter };

	snprintf(name, sizeof(name), "--%s", s->option.name);
	tap(is_option(s, name, value) && (!letter[1] || is_option(s, letter, value)),
	    "%s: option, as '%s'", s->option.name, value);
}

static void test_default(const struct setting *s)
{
	const struct option_row *row = &s->option;
	struct switchd_options *o = calloc(1, sizeof(*o));
	uint64_t words = 0;

	switchd_options_init(o);
	while (row->words && row->words[words])
		words++;
	tap((!row->size || option_value(row, o) == row->standard) &&
	    (!row->words || row->standard < words) &&
	    (!row->units || !row->standard ||
	     (row->standard >= row->min && row->standard <= row->max)),
	    "%s: default, one that could be given", row->name);
	free(o);
}

static void test_set(const struct setting *s, const char *value)
{
	struct switchd_setting given = { s->option.name, value };
	bool live = s->where & SETTING_SET;
	char err[256] = "";
	int ret;

	ret = switchd_settings_check(&given, 1, err, sizeof(err));
	tap(live == !ret, "%s: %s %s", s->option.name, live ? "can be set" : "cannot be set", err);
	tap(!live || s->shown != SHOWN_NOWHERE || s->part == PART_RULES,
	    "%s: what can be set is shown", s->option.name);
}

/* A value that `set` cannot change stays as it is when files are read again. */
static void test_fixed(const struct setting *s, const char *value)
{
	struct switchd_options *o = calloc(1, sizeof(*o)), *from = calloc(1, sizeof(*o));
	char names[256], name[64];
	unsigned int n;

	switchd_options_init(from);
	memcpy(o, from, sizeof(*o));
	if (s->where & SETTING_RUN) {
		take(o, &s->option, value);
		n = settings_keep_fixed(o, from, names, sizeof(names));
		snprintf(name, sizeof(name), " %s", s->option.name);
		if (s->where & SETTING_SET)
			tap(!n && memcmp(o, from, sizeof(*o)), "%s: can change", s->option.name);
		else
			tap(n == 1 && !strcmp(names, name) && !memcmp(o, from, sizeof(*o)),
			    "%s: is fixed, and said to be:%s", s->option.name, names);
	}
	free(o);
	free(from);
}

static void test_config(const struct setting *s, const char *value)
{
	struct switchd_options *o = calloc(1, sizeof(*o));
	struct csw_config c = { 0 };
	uint64_t has = 0;

	if (s->config_size) {
		switchd_options_init(o);
		take(o, &s->option, value);
		settings_configure(o, &c);
		memcpy(&has, (char *)&c + s->config, s->config_size);
		tap(has == option_value(&s->option, o), "%s: the data plane gets %llu",
		    s->option.name, (unsigned long long)has);
	}
	free(o);
}

/* Return: what a switch with all defaults shows about its settings */
static char *shown(bool json)
{
	struct switchd *sw = calloc(1, sizeof(*sw));
	struct csw_config config = { 0 };
	struct csw_queue_ctl queue = { 0 };
	struct json j;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int i;

	switchd_options_init(&sw->now);
	sw->opt = &sw->now;
	sw->dp.config = &config;
	sw->dp.queue_ctl = &queue;
	sw->dp.fan_ins = calloc(CSW_FAN_INS, sizeof(*sw->dp.fan_ins));
	sw->admission.on = true;
	json_begin(&j, out, JSON_LINE);
	if (json) {
		json_object(&j, NULL);
		settings_json(sw, &j);
		json_end(&j);
	} else {
		for (i = SHOWN_HEAD; i <= SHOWN_CLOCK; i++)
			settings_text(sw, out, i);
	}
	fclose(out);
	free((void *)sw->dp.fan_ins);
	free(sw);
	return text;
}

static void test_shown(const struct setting *s, const char *text, const char *json)
{
	const char *name = s->said ? s->said : s->option.name;
	char key[64], word[64], *p;

	if (s->shown == SHOWN_NOWHERE)
		return;
	if (!strcmp(name, "admit"))
		name = "admission";
	snprintf(word, sizeof(word), " %s ", name);
	tap(s->shown == SHOWN_JSON || strstr(text, word), "%s: in show", s->option.name);
	snprintf(key, sizeof(key), "\"%s", strcmp(name, "admission") ? s->option.name : name);
	for (p = key; *p; p++)
		*p = *p == '-' ? '_' : *p;
	tap(strstr(json, key), "%s: in JSON", s->option.name);
}

static void test_names(void)
{
	unsigned int i, k, same = 0;

	for (i = 0; i < settings_count; i++)
		for (k = 0; k < i; k++)
			same += !strcmp(settings[i].option.name, settings[k].option.name) ||
				(settings[i].option.letter &&
				 settings[i].option.letter == settings[k].option.letter);
	tap(!same, "no name and no letter belongs to two of %u", settings_count);
}

static void test_help(void)
{
	const struct option_group groups[] = {
		{ .row = &settings[0].option, .n = settings_count, .stride = sizeof(settings[0]) },
		{ 0 }
	};
	char *help = NULL, name[64];
	size_t len = 0;
	FILE *out = open_memstream(&help, &len);
	unsigned int i, missing = 0;

	options_help(out, groups, 26);
	fclose(out);
	for (i = 0; i < settings_count; i++) {
		snprintf(name, sizeof(name), "--%s ", settings[i].option.name);
		missing += !strstr(help, name) || strlen(settings[i].option.help) < 5;
	}
	tap(!missing && !strchr(help, '{'), "all are in --help, nothing is left to be put in");
	tap(strstr(help, "10us to 10s (5ms)"), "ranges and defaults are put in");
	free(help);
}

int main(void)
{
	char *text = shown(false), *json = shown(true);
	char room[PARSE_TEXT];
	const char *value;
	unsigned int i;

	for (i = 0; i < settings_count; i++) {
		value = example(&settings[i], room);
		if (!tap(value, "%s: there is an example of it", settings[i].option.name))
			continue;
		test_option(&settings[i], value);
		test_default(&settings[i]);
		test_set(&settings[i], value);
		test_fixed(&settings[i], value);
		test_config(&settings[i], value);
		test_shown(&settings[i], text, json);
	}
	test_names();
	test_help();
	free(text);
	free(json);
	return tap_done("user/setting");
}
