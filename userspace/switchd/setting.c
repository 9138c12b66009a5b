// SPDX-License-Identifier: BSD-2-Clause
/* The settings of a switch in one table, see setting.h. */
#include <string.h>

#include "internal.h"
#include "setting.h"

#define NS_PER_US	1000ULL
#define NS_PER_MS	1000000ULL
#define NS_PER_S	1000000000ULL

#define TEXT_OF(macro)	TEXT(macro)
#define TEXT(macro)	#macro

#define AT(member)		OPTION_AT(struct switchd_options, member)
#define CONFIG(member)		.config = offsetof(struct csw_config, member), \
				.config_size = sizeof(((struct csw_config *)0)->member)
#define WHOLE(from, to)		.whole = offsetof(struct switchd_options, from), \
				.whole_size = offsetof(struct switchd_options, to) - \
					      offsetof(struct switchd_options, from) + \
					      sizeof(((struct switchd_options *)0)->to)
#define NUMBER(least, most)	.units = parse_counts, .min = (least), .max = (most)
#define DURATION(least, most)	.units = PARSE_NS, .min = (least), .max = (most)

static const char *const off_on[] = { "off", "on", NULL };
static const char *const choice_help[] = {
#define X(name, text, help) help,
	CSW_CHOICES(X)
#undef X
};

const struct setting settings[] = {
	{
		.option = { OPTION("config", 0, "FILE",
			    "take options from its lines \"NAME VALUE\", at the start and on\n"
			    "SIGHUP; nobody is admitted if it is missing") },
		.where = SETTING_RUN,
		WHOLE(config, config),
		.take = option_config,
	}, {
		.option = { OPTION("ports", 'p', "LIST",
			    "devices of the switch; may be given more than once") },
		.where = SETTING_RUN,
		WHOLE(port, ports),
		.take = option_ports,
	}, {
		.option = { OPTION("address", 'a', "A",
			    "the switch's own address (first global /32 of lo)") },
		.where = SETTING_RUN,
		WHOLE(address, address),
		.take = option_address,
		.shown = SHOWN_HEAD, .text = text_address, .json = json_address,
	}, {
		.option = { OPTION("mode", 'm', "MODE",
			    "fast: output by XDP; shaped: through the port's qdisc ({default})"),
			    AT(mode), .words = mode_words, .standard = CSW_FAST },
		.where = SETTING_RUN,
		.shown = SHOWN_HEAD,
	}, {
		.option = { OPTION("timeout", 't', "TIME",
			    "from the first contribution to sending on, {range};\n"
			    "MIN..MAX: between these, as the skew of arrivals wants it;\n"
			    "auto: 1 to 40 packets' time on the ports, 1ms..40ms where\n"
			    "nobody knows their rate (auto)"),
			    DURATION(SWITCHD_TIMEOUT_MIN, SWITCHD_TIMEOUT_MAX) },
		.where = SETTING_RUN | SETTING_SET,
		.take = option_timeout,
		.shown = SHOWN_HEAD, .text = text_timeout, .json = json_timeout,
	}, {
		.option = { OPTION("root-waits", 'R', "N",
			    "further timeouts that the switch next to a block's leader\n"
			    "waits for what waited at other switches, {range} ({default})"),
			    AT(root_waits), NUMBER(0, 100), .standard = 3 },
		.where = SETTING_RUN,
		CONFIG(root_waits),
		.shown = SHOWN_JSON,
	}, {
		.option = { OPTION("lifetime", 'l', "TIME",
			    "of soft state, {range} ({default})"),
			    AT(lifetime_ns), DURATION(10 * NS_PER_MS, 3600 * NS_PER_S),
			    .standard = 5 * NS_PER_S },
		.where = SETTING_RUN,
		CONFIG(lifetime_ns),
		.shown = SHOWN_HEAD, .text = text_lifetime,
	}, {
		.option = { OPTION("slots", 's', "N",
			    "blocks at a time, a power of two from {range} ({default}),\n"
			    "some 4 KB each"),
			    AT(slots), NUMBER(CSW_SLOTS_MIN, CSW_SLOTS_MAX), .standard = 32768 },
		.where = SETTING_RUN,
		.take = option_slots,
		.shown = SHOWN_SLOTS,
	}, {
		.option = { OPTION("children", 'c', "N",
			    "children of a block, {range} ({default})"),
			    AT(children), NUMBER(1, CSW_CHILDREN_MAX),
			    .standard = CSW_CHILDREN_MAX },
		.where = SETTING_RUN,
		CONFIG(children_max),
		.shown = SHOWN_JSON,
	}, {
		.option = { OPTION("fan-in", 'f', "HOW",
			    "learn: a block leaves with as many as came for those before;\n"
			    "off: with all members; LEADER[/LEN]=N,...: with N if one\n"
			    "of those leads it; may be given more than once (learn)"),
			    AT(fan_in), .standard = CSW_FAN_IN_LEARN },
		.where = SETTING_RUN | SETTING_SET,
		.part = PART_FAN_INS,
		.take = option_fan_in,
		.shown = SHOWN_FAN_IN, .text = text_fan_in, .json = json_fan_in,
	}, {
		.option = { OPTION("choice", 'x', "HOW",
			    "which of several next hops ({default}):"),
			    AT(choice), .words = choice_words, .words_help = choice_help,
			    .standard = CSW_CHOOSE_BOTH },
		.where = SETTING_RUN | SETTING_SET,
		CONFIG(choice),
		.shown = SHOWN_CHOICE,
	}, {
		.option = { OPTION("flowlet", 'F', "TIME",
			    "pause of a flow after which it may take another, {range} ({default})"),
			    AT(flowlet_ns), DURATION(10 * NS_PER_US, 10 * NS_PER_S),
			    .standard = 5 * NS_PER_MS },
		.where = SETTING_RUN | SETTING_SET,
		CONFIG(flowlet_ns),
		.shown = SHOWN_CHOICE,
	}, {
		.option = { OPTION("spread", 'd', "N",
			    "divide block number or path by N before it chooses: {range} ({default});\n"
			    "as many as the next hops of the choice before, in a fat tree"),
			    AT(spread), NUMBER(1, 256), .standard = 1 },
		.where = SETTING_RUN | SETTING_SET,
		CONFIG(spread),
		.shown = SHOWN_CHOICE,
	}, {
		.option = { OPTION("trees", 'T', "T[+FIRST]",
			    "with --choice static: blocks take turns among T trees, {range}\n"
			    "(all): the next hops from number FIRST on, 0 to 255 (0)"),
			    AT(trees), NUMBER(1, SWITCHD_TREES_MAX) },
		.where = SETTING_RUN | SETTING_SET,
		CONFIG(trees),
		.take = option_trees,
		.shown = SHOWN_CHOICE, .text = text_trees, .json = json_trees,
	}, {
		.option = { OPTION("queue", 'q', "BYTES",
			    "that may wait at the egress of a port (what its qdisc says)"),
			    AT(queue), NUMBER(1, UINT32_MAX) },
		.where = SETTING_RUN,
	}, {
		.option = { OPTION("restore", 'e', "on|off",
			    "serve children that were bypassed, if leaders name them ({default})"),
			    AT(restore), .words = off_on, .standard = true },
		.where = SETTING_RUN,
		CONFIG(restore),
		.shown = SHOWN_FAN_IN, .said = "restorations",
	}, {
		.option = { OPTION("forward", 'W', "HOW",
			    "what is only forwarded: fast, past the kernel's packet filter;\n"
			    "stack: by the kernel's router ({default})"),
			    AT(forward), .words = forward_words, .standard = CSW_FORWARD_FAST },
		.where = SETTING_RUN,
		CONFIG(forward),
		.shown = SHOWN_FAN_IN,
	}, {
		.option = { OPTION("admit", 'A', "RULE,...",
			    "who may contribute: COMM[-COMM]:PREFIX[/LEN][%PORT] (any for all\n"
			    "communicators, or all sources); with a rule, nobody else;\n"
			    "nobody, everybody: without rules; may be given more than once,\n"
			    "up to " TEXT_OF(SWITCHD_ADMIT_MAX) " rules (everybody)") },
		.where = SETTING_RUN | SETTING_SET,
		.part = PART_RULES,
		.take = option_admit, .check = option_admit_check,
		.shown = SHOWN_ADMISSION, .text = text_admission, .json = json_admission,
	}, {
		.option = { OPTION("revoke", 0, "RULE,...",
			    "set: take rules back; the last one leaves nobody") },
		.where = SETTING_SET,
		.part = PART_RULES,
		.take = option_revoke, .check = option_revoke_check,
	}, {
		.option = { OPTION("rules", 0, "FILE",
			    "instead of --admit: read rules there, one a line, at the start and\n"
			    "on SIGHUP; nobody is admitted if it is missing") },
		.where = SETTING_RUN,
		WHOLE(rules, rules),
		.take = option_rules,
	}, {
		.option = { OPTION("save", 0, NULL,
			    "set: write all rules to the file of --rules"), AT(save) },
		.where = SETTING_SET,
		.part = PART_RULES,
	}, {
		.option = { OPTION("clock", 'C', "sleep|poll",
			    "how to wait for deadlines ({default})"),
			    AT(clock), .words = clock_words, .standard = SWITCHD_CLOCK_SLEEP },
		.where = SETTING_RUN,
		.shown = SHOWN_CLOCK, .json = json_clock,
	}, {
		.option = { OPTION("name", 'n', "NAME",
			    "run: a name for show and set (the host's name), each only once\n"
			    "in " SWITCHD_RUN_DIR "; show, set: that one (those of this network\n"
			    "namespace; set: if it is only one)") },
		.where = SETTING_RUN,
		WHOLE(name, name),
		.take = option_name,
	}, {
		.option = { OPTION("sysctl", 'S', NULL,
			    "set ip_forward and rp_filter as needed; they stay set"), AT(sysctl) },
		.where = SETTING_RUN,
	}, {
		.option = { OPTION("realtime", 'r', NULL,
			    "clock thread under SCHED_FIFO"), AT(realtime) },
		.where = SETTING_RUN,
	}, {
		.option = { OPTION("verbose", 'v', NULL,
			    "more messages"), AT(verbose) },
		.where = SETTING_RUN,
	},
};

const unsigned int settings_count = ARRAY_SIZE(settings);

const struct setting *setting_find(const char *name, unsigned int where)
{
	unsigned int i;

	for (i = 0; i < settings_count; i++)
		if (settings[i].where & where && !strcmp(settings[i].option.name, name))
			return &settings[i];
	return NULL;
}

void switchd_options_init(struct switchd_options *o)
{
	unsigned int i;

	memset(o, 0, sizeof(*o));
	o->timeout_auto = true;
	for (i = 0; i < settings_count; i++)
		option_set(&settings[i].option, o, settings[i].option.standard);
}

static int refuse_word(const struct option_row *row, const char *text, char *err, size_t len)
{
	char words[128];

	if (row->words[2])
		return switchd_refuse(err, len, "--%s: '%s' is none of %s", row->name, text,
				      parse_words_text(words, sizeof(words), row->words));
	return switchd_refuse(err, len, "--%s: '%s' is neither %s nor %s", row->name, text,
			      row->words[row->standard], row->words[!row->standard]);
}

int setting_take(const struct setting *s, struct switchd_options *o, const char *text, char *err,
		 size_t len)
{
	const struct option_row *row = &s->option;
	uint64_t value;
	char said[64];

	if (s->take)
		return s->take(o, text, err, len);
	if (row->units) {
		snprintf(said, sizeof(said), "--%s", row->name);
		if (setting_quantity(said, text, row->units, row->min, row->max, &value, err, len))
			return -1;
		option_set(row, o, value);
		return 0;
	}
	return option_store(row, o, text) ? refuse_word(row, text, err, len) : 0;
}

/* The members that have the value of a setting that is fixed. */
static void *fixed(const struct setting *s, struct switchd_options *o, size_t *size)
{
	*size = s->where & SETTING_SET ? 0 : s->option.size ? : s->whole_size;
	return (char *)o + (s->option.size ? s->option.offset : s->whole);
}

unsigned int settings_keep_fixed(struct switchd_options *o, const struct switchd_options *from,
				 char *names, size_t len)
{
	unsigned int i, n = 0;
	const void *was;
	size_t size;
	void *is;

	*names = '\0';
	for (i = 0; i < settings_count; i++) {
		is = fixed(&settings[i], o, &size);
		was = fixed(&settings[i], (struct switchd_options *)from, &size);
		if (!memcmp(is, was, size))
			continue;
		memcpy(is, was, size);
		snprintf(names + strlen(names), len - strlen(names), " %s",
			 settings[i].option.name);
		n++;
	}
	return n;
}

void settings_configure(const struct switchd_options *o, struct csw_config *c)
{
	uint64_t value;
	unsigned int i;

	for (i = settings_count; i-- > 0;) {
		value = option_value(&settings[i].option, o);
		memcpy((char *)c + settings[i].config, &value, settings[i].config_size);
	}
}

/* ---- `show` ---- */

static void show_text(struct switchd *sw, FILE *out, const struct setting *s)
{
	const struct option_row *row = &s->option;
	uint64_t value = option_value(row, &sw->now);

	if (s->text) {
		s->text(sw, out);
		return;
	}
	fprintf(out, " %s ", s->said ? s->said : row->name);
	if (row->words)
		fputs(row->words[value], out);
	else if (row->units == parse_counts)
		fprintf(out, "%llu", (unsigned long long)value);
	else
		fprintf(out, "%gus", value / 1e3);
}

void settings_text(struct switchd *sw, FILE *out, enum setting_shown shown)
{
	unsigned int i;

	for (i = 0; i < settings_count; i++)
		if (settings[i].shown == shown)
			show_text(sw, out, &settings[i]);
}

static void show_json(struct switchd *sw, struct json *j, const struct setting *s)
{
	const struct option_row *row = &s->option;
	uint64_t value = option_value(row, &sw->now);
	char key[64], *p;

	if (s->json) {
		s->json(sw, j);
		return;
	}
	snprintf(key, sizeof(key), "%s%s", row->name, row->units == PARSE_NS ? "_us" : "");
	for (p = key; *p; p++)
		*p = *p == '-' ? '_' : *p;
	if (row->words == off_on)
		json_bool(j, key, value);
	else if (row->words)
		json_string(j, key, row->words[value]);
	else if (row->units == parse_counts)
		json_u64(j, key, value);
	else
		json_number(j, key, "%.10g", value / 1e3);
}

void settings_json(struct switchd *sw, struct json *j)
{
	unsigned int i;

	for (i = 0; i < settings_count; i++)
		if (settings[i].shown != SHOWN_NOWHERE)
			show_json(sw, j, &settings[i]);
}
