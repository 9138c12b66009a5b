// SPDX-License-Identifier: BSD-2-Clause
/* Settings of Canary under MPI: the table, and how their values are read. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmpi.h"
#include "userspace/common/parse.h"

#define SETTING(field, kind, value, min, max, decides, help) \
	{ #field, help, offsetof(struct cmpi_settings, field), CMPI_##kind, value, min, max, decides }
#define FLAG(field, value, decides, help) \
	SETTING(field, FLAG, value, 0, 1, decides, help)
#define TEXT(field, value, decides, help) \
	SETTING(field, TEXT, value, 0, 0, decides, help)

const struct cmpi_setting cmpi_setting_table[CMPI_SETTINGS] = {
	FLAG(enable, "0", false, "1: sum up through Canary what it can"),
	SETTING(table, NUMBER, "0", 0, 2, false,
		"1: at the end, rank 0 prints which calls went through Canary; 2: all ranks do"),
	SETTING(min_bytes, BYTES, "0", 0, UINT32_MAX, true,
		"vectors that are shorter go to the functions without Canary; 0: measured"),
	SETTING(max_bytes, BYTES, "1G", 0, UINT32_MAX, true, "so do longer ones than this"),
	SETTING(min_members, NUMBER, "3", 0, UINT32_MAX, true,
		"so do communicators with fewer processes"),
	FLAG(one_host, "0", true, "1: also communicators whose processes are all on one host"),
	FLAG(node_leaders, "1", true,
	     "1: of ranks on one host, one contributes for all; 0: each is a member"),
	FLAG(barrier, "0", true, "1: also barriers"),
	FLAG(reduce, "1", true, "1: also reduce, as an allreduce whose result only the root takes"),
	FLAG(early, "0", true,
	     "1: form that of MPI_COMM_WORLD at once; 0: at the first call that is worth it"),
	SETTING(trial, MS, "10000", 0, 3600000, false,
		"ms that a communicator may take to show that it works"),
	SETTING(dead_after, MS, "3600000", 100, 3600000, false,
		"ms of silence until a process is dead; the launcher notices one that ends"),
	SETTING(spin, US, "20", 0, UINT32_MAX, false, "us to poll for a result before sleeping"),
	SETTING(mtu, BYTES, "1500", 576, 9000, false,
		"largest IP packet, in bytes; that of the interface limits it"),
	TEXT(comm, "1-99", true,
	     "numbers of communicators that this user may use at switches, FIRST-LAST"),
	TEXT(engine, "auto", false, "what runs the protocol at this host: auto, kernel, user"),
	TEXT(key_file, "", false, "file with a key of all processes; without it, rank 0 draws one"),
	TEXT(interfaces, "", false,
	     "interfaces or prefixes, separated by commas; the first one with an address counts"),
	TEXT(floats, "", true,
	     "how floating-point numbers are added up: exact, elementwise, narrow, or several"),
	TEXT(algorithm, "auto", true,
	     "what runs operations: auto, tree, tree:RUN, ring, static:TREES"),
};

static unsigned int *number_of(struct cmpi_settings *s, const struct cmpi_setting *row)
{
	return (unsigned int *)((char *)s + row->offset);
}

static const char **text_of(struct cmpi_settings *s, const struct cmpi_setting *row)
{
	return (const char **)((char *)s + row->offset);
}

const char *cmpi_setting_name(const struct cmpi_setting *row, const char *prefix,
			      char text[CMPI_SETTING_NAME])
{
	size_t i;

	snprintf(text, CMPI_SETTING_NAME, "%s%s", prefix ? prefix : "CANARY_", row->name);
	for (i = 0; !prefix && text[i]; i++)
		text[i] = toupper((unsigned char)text[i]);
	return text;
}

bool cmpi_setting_given(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

const char *cmpi_setting_value(const struct cmpi_setting *row)
{
	char name[CMPI_SETTING_NAME];

	cmpi_setting_name(row, NULL, name);
	return cmpi_setting_given(name) ? getenv(name) : row->value;
}

/* Of a call of cmpi_settings_take(): where its first complaint goes */
struct complaint {
	const char	*prefix;
	char		*why;
	size_t		len;
	bool		any;
};

static __attribute__((format(printf, 3, 4))) void
complain(struct complaint *c, const struct cmpi_setting *row, const char *format, ...)
{
	char name[CMPI_SETTING_NAME], what[128];
	va_list args;

	if (c->any)
		return;
	c->any = true;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	parse_clean(what);
	snprintf(c->why, c->len, "%s: %s", cmpi_setting_name(row, c->prefix, name), what);
}

static bool take_number(const struct cmpi_setting *row, const char *text, unsigned int *number)
{
	static const struct parse_unit *const units[] = {
		[CMPI_NUMBER] = parse_counts, [CMPI_BYTES] = parse_bytes, [CMPI_MS] = parse_ms,
		[CMPI_US] = parse_us,
	};
	uint64_t value;
	bool flag;

	if (row->kind == CMPI_FLAG) {
		if (!parse_flag(text, &flag))
			return false;
		*number = flag;
		return true;
	}
	if (!parse_quantity(text, units[row->kind], row->min, row->max, &value)) {
		*number = value;
		return true;
	}
	/* A flag of which there is more, as `table` */
	if (row->max > 2 || !parse_flag(text, &flag))
		return false;
	*number = flag;
	return true;
}

static void refuse_number(struct complaint *c, const struct cmpi_setting *row, const char *text)
{
	static const char *const what[] = {
		[CMPI_NUMBER] = "a number", [CMPI_BYTES] = "a number of bytes, as 8192 or 8K,",
		[CMPI_MS] = "a time in ms, as 100 or 5s,", [CMPI_US] = "a time in us, as 20 or 1ms,",
	};

	char shown[PARSE_SHOWN];

	parse_shown(shown, text);
	if (row->kind == CMPI_FLAG)
		complain(c, row, "'%s' is none of %s", shown, PARSE_FLAG_WORDS);
	else
		complain(c, row, "'%s' is not %s from %u to %u", shown, what[row->kind],
			 row->min, row->max);
}

static const struct cmpi_setting *row_of(size_t offset)
{
	const struct cmpi_setting *row = cmpi_setting_table;

	while (row->offset != offset)
		row++;
	return row;
}

#define ROW_OF(field) row_of(offsetof(struct cmpi_settings, field))

/* What libcanary says, without the name that a parameter has there */
static const char *lib_complaint(void)
{
	const char *said = canary_errmsg(), *colon = strstr(said, ": ");

	return colon ? colon + 2 : said;
}

static void check_texts(struct cmpi_settings *s, struct complaint *c)
{
	struct canary_params params;
	char shown[PARSE_SHOWN];

	canary_params_init(&params);
	if (!parse_range(s->comm, &s->comm_first, &s->comm_last))
		complain(c, ROW_OF(comm), "'%s' is no number or range FIRST-LAST, 0 to %u",
			 parse_shown(shown, s->comm), UINT32_MAX);
	if (canary_params_set(&params, "engine", s->engine))
		complain(c, ROW_OF(engine), "%s", lib_complaint());
	if (canary_params_set(&params, "algorithm", s->algorithm))
		complain(c, ROW_OF(algorithm), "%s", lib_complaint());
	if (s->floats[0] && (canary_how_parse(s->floats, &s->how) ||
			     s->how & ~(uint32_t)CANARY_HOW_FLOATS))
		complain(c, ROW_OF(floats), "'%s' is none of exact, elementwise, narrow, or several",
			 parse_shown(shown, s->floats));
}

int cmpi_settings_take(struct cmpi_settings *s, const char *const *texts, const char *prefix,
		       char *why, size_t len)
{
	struct complaint c = { .prefix = prefix, .why = why, .len = len };
	const struct cmpi_setting *row;

	memset(s, 0, sizeof(*s));
	if (len)
		why[0] = '\0';
	for (row = cmpi_setting_table; row < cmpi_setting_table + CMPI_SETTINGS; row++) {
		const char *text = texts ? texts[row - cmpi_setting_table] : cmpi_setting_value(row);

		if (!text || !*text)
			text = row->value;
		if (row->kind == CMPI_TEXT) {
			*text_of(s, row) = text;
		} else if (!take_number(row, text, number_of(s, row))) {
			refuse_number(&c, row, text);
			take_number(row, row->value, number_of(s, row));
			/* Who sets it wants Canary. */
			if (row->offset == offsetof(struct cmpi_settings, enable))
				s->enable = 1;
		}
	}
	check_texts(s, &c);
	return c.any ? -EINVAL : 0;
}
