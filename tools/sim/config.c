// SPDX-License-Identifier: BSD-2-Clause
/* Descriptions in text, see config.h. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "config.h"

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit rate_units[] = {
	{ "bit", 1 }, { "kbit", 1000 }, { "mbit", 1000000 }, { "gbit", 1000000000 },
	{ "tbit", 1000000000000 }, { NULL, 0 },
};

static const struct unit time_units[] = {
	{ "ps", 1 }, { "ns", 1000 }, { "us", 1000000 }, { "ms", 1000000000 },
	{ "s", 1000000000000 }, { NULL, 0 },
};

static const struct unit byte_units[] = {
	{ "", 1 }, { "B", 1 }, { "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 },
	{ NULL, 0 },
};

static const struct unit part_units[] = {
	{ "ppm", 1 }, { "%", 10000 }, { NULL, 0 },
};

static const struct unit number_units[] = {
	{ "", 1 }, { NULL, 0 },
};

/*
 * A decimal number with a unit, exactly: digits behind the point are multiplied out in integers,
 * so that no rounding depends on the machine.
 */
static bool parse_units(const char *text, const struct unit *units, uint64_t *value)
{
	uint64_t whole = 0, part = 0, scale = 1, factor = 0;
	const char *p = text;

	if (!isdigit((unsigned char)*p))
		return false;
	for (; isdigit((unsigned char)*p); p++) {
		if (whole > 1000000000000ULL)
			return false;
		whole = whole * 10 + (*p - '0');
	}
	if (*p == '.') {
		for (p++; isdigit((unsigned char)*p); p++) {
			if (scale >= 1000000)
				return false;
			part = part * 10 + (*p - '0');
			scale *= 10;
		}
	}
	for (; units->name; units++)
		if (!strcasecmp(p, units->name))
			factor = units->factor;
	if (!factor || whole > UINT64_MAX / 2 / factor || part * factor % scale)
		return false;
	*value = whole * factor + part * factor / scale;
	return true;
}

static const struct unit *units_of(enum config_type type)
{
	switch (type) {
	case CONFIG_RATE:
		return rate_units;
	case CONFIG_TIME:
		return time_units;
	case CONFIG_BYTES:
		return byte_units;
	case CONFIG_PARTS:
		return part_units;
	default:
		return number_units;
	}
}

#define VALUE_TEXT	32

/* As parse_units() takes it, in the largest unit that it is a multiple of */
static const char *value_text(char *text, enum config_type type, uint64_t value)
{
	const struct unit *units = units_of(type), *best = units;

	for (; units->name; units++)
		if (!(value % units->factor))
			best = units;
	if (!value && type == CONFIG_BYTES)
		best = byte_units;
	snprintf(text, VALUE_TEXT, "%" PRIu64 "%s", value / best->factor, best->name);
	return text;
}

bool config_parse_time(const char *text, uint64_t *ps)
{
	return parse_units(text, time_units, ps);
}

static bool complain(const char *where, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", where);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return false;
}

static const char *example(enum config_type type)
{
	switch (type) {
	case CONFIG_RATE:
		return "a rate such as 100gbit";
	case CONFIG_TIME:
		return "a time such as 300ns";
	case CONFIG_BYTES:
		return "a size such as 4MiB";
	case CONFIG_PARTS:
		return "a share such as 1% or 20ppm";
	default:
		return "a number";
	}
}

static bool set_word(const struct config_key *k, uint32_t *to, const char *value,
		     const char *where)
{
	char list[CONFIG_TEXT_MAX] = "";
	uint32_t i;

	for (i = 0; k->words[i]; i++) {
		if (!strcmp(k->words[i], value)) {
			*to = i;
			return true;
		}
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 k->words[i]);
	}
	return complain(where, "%s: '%s' is none of: %s", k->name, value, list);
}

static bool set_list(struct config_list *l, const char *name, const char *value,
		     const char *where)
{
	if (l->n == CONFIG_LIST_MAX)
		return complain(where, "%s: more than %d", name, CONFIG_LIST_MAX);
	snprintf(l->text[l->n], CONFIG_TEXT_MAX, "%s", value);
	snprintf(l->where[l->n++], CONFIG_TEXT_MAX, "%s", where);
	return true;
}

static bool set(const struct config_key *k, void *to, const char *value, const char *where)
{
	char min[VALUE_TEXT], max[VALUE_TEXT];
	void *member = (char *)to + k->offset;
	uint64_t number;

	switch (k->type) {
	case CONFIG_WORD:
		return set_word(k, member, value, where);
	case CONFIG_LIST:
		return set_list(member, k->name, value, where);
	case CONFIG_TEXT:
		snprintf(member, CONFIG_TEXT_MAX, "%s", value);
		return true;
	default:
		break;
	}
	if (!parse_units(value, units_of(k->type), &number))
		return complain(where, "%s: '%s' is not %s", k->name, value, example(k->type));
	if (number < k->min || number > k->max)
		return complain(where, "%s: '%s' is out of range, %s to %s", k->name, value,
				value_text(min, k->type, k->min), value_text(max, k->type, k->max));
	if (k->type == CONFIG_NUMBER || k->type == CONFIG_PARTS)
		*(uint32_t *)member = number;
	else
		*(uint64_t *)member = number;
	return true;
}

bool config_line(const struct config_key *keys, void *to, const char *line, const char *where)
{
	char copy[2 * CONFIG_TEXT_MAX], *key, *value, *end;

	if (strlen(line) >= CONFIG_TEXT_MAX)
		return complain(where, "the line is longer than %d", CONFIG_TEXT_MAX - 1);
	strcpy(copy, line);
	copy[strcspn(copy, "#\n")] = 0;
	key = copy + strspn(copy, " \t");
	if (!*key)
		return true;
	value = key + strcspn(key, " \t=");
	if (*value)
		*value++ = 0;
	value += strspn(value, " \t=");
	for (end = value + strlen(value); end > value && isspace((unsigned char)end[-1]); end--)
		end[-1] = 0;
	for (; keys->name; keys++) {
		if (strcmp(keys->name, key))
			continue;
		if (!*value)
			return complain(where, "%s: no value", key);
		return set(keys, to, value, where);
	}
	return complain(where, "unknown key '%s'", key);
}

bool config_file(const struct config_key *keys, void *to, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[1024], where[CONFIG_TEXT_MAX + 16];
	unsigned int number = 0;
	bool good = true;

	if (!file)
		return complain(path, "%s", strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		snprintf(where, sizeof(where), "%.255s:%u", path, ++number);
		line[strcspn(line, "\n")] = 0;
		good &= config_line(keys, to, line, where);
	}
	if (ferror(file))
		good = complain(path, "cannot be read");
	fclose(file);
	return good;
}

static void print_range(const struct config_key *k)
{
	char min[VALUE_TEXT], max[VALUE_TEXT];
	uint32_t i;

	switch (k->type) {
	case CONFIG_WORD:
		for (i = 0; k->words[i]; i++)
			printf("%s%s", i ? ", " : "; ", k->words[i]);
		break;
	case CONFIG_TEXT:
		break;
	case CONFIG_LIST:
		printf("; up to %d times", CONFIG_LIST_MAX);
		break;
	default:
		printf("; %s to %s", value_text(min, k->type, k->min),
		       value_text(max, k->type, k->max));
	}
}

void config_help(const struct config_key *keys)
{
	for (; keys->name; keys++) {
		printf("  %-18s %s", keys->name, keys->help);
		print_range(keys);
		putchar('\n');
	}
}
