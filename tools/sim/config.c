// SPDX-License-Identifier: BSD-2-Clause
/* A reader of text descriptions, see config.h. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "userspace/common/parse.h"

static const struct parse_unit *units_of(enum config_type type)
{
	switch (type) {
	case CONFIG_RATE:
		return parse_rates;
	case CONFIG_TIME:
		return PARSE_PS;
	case CONFIG_BYTES:
		return parse_bytes;
	case CONFIG_PARTS:
		return parse_shares;
	default:
		return parse_counts;
	}
}

bool config_parse_time(const char *text, uint64_t *ps)
{
	return !parse_quantity(text, PARSE_PS, 0, UINT64_MAX, ps);
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
	char list[CONFIG_TEXT_MAX];
	int word = parse_word(value, k->words);

	if (word < 0)
		return refuse(where, "%s: '%s' is none of: %s", k->name, value,
				parse_words_text(list, sizeof(list), k->words));
	*to = word;
	return true;
}

static bool set_list(struct config_list *l, const char *name, const char *value,
		     const char *where)
{
	if (l->n == CONFIG_LIST_MAX)
		return refuse(where, "%s: more than %d", name, CONFIG_LIST_MAX);
	snprintf(l->text[l->n], CONFIG_TEXT_MAX, "%s", value);
	snprintf(l->where[l->n++], CONFIG_TEXT_MAX, "%s", where);
	return true;
}

static bool set(const struct config_key *k, void *to, const char *value, const char *where)
{
	char min[PARSE_TEXT], max[PARSE_TEXT];
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
	switch (parse_quantity(value, units_of(k->type), k->min, k->max, &number)) {
	case PARSE_OK:
		break;
	case PARSE_JUNK:
		return refuse(where, "%s: '%s' is not %s", k->name, value, example(k->type));
	default:
		return refuse(where, "%s: '%s' is out of range, %s to %s", k->name, value,
				parse_text(min, units_of(k->type), k->min),
				parse_text(max, units_of(k->type), k->max));
	}
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
		return refuse(where, "the line is longer than %d", CONFIG_TEXT_MAX - 1);
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
			return refuse(where, "%s: no value", key);
		return set(keys, to, value, where);
	}
	return refuse(where, "unknown key '%s'", key);
}

bool config_file(const struct config_key *keys, void *to, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[1024], where[CONFIG_TEXT_MAX + 16];
	unsigned int number = 0;
	bool good = true;

	if (!file)
		return refuse(path, "%s", strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		snprintf(where, sizeof(where), "%.255s:%u", path, ++number);
		line[strcspn(line, "\n")] = 0;
		good &= config_line(keys, to, line, where);
	}
	if (ferror(file))
		good = refuse(path, "cannot be read");
	fclose(file);
	return good;
}

static void print_range(const struct config_key *k)
{
	char min[PARSE_TEXT], max[PARSE_TEXT], list[CONFIG_TEXT_MAX];

	switch (k->type) {
	case CONFIG_WORD:
		printf("; %s", parse_words_text(list, sizeof(list), k->words));
		break;
	case CONFIG_TEXT:
		break;
	case CONFIG_LIST:
		printf("; up to %d times", CONFIG_LIST_MAX);
		break;
	default:
		printf("; %s to %s", parse_text(min, units_of(k->type), k->min),
		       parse_text(max, units_of(k->type), k->max));
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
