// SPDX-License-Identifier: BSD-2-Clause
/* Tables of command line options, see option.h. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"

#define LONG_ONLY	256	/* getopt's number of the first row; no letter is that large */
#define LINE_MAX_COLUMNS	100

static const struct option_row *row_at(const struct option_group *g, size_t i)
{
	return (const void *)((const char *)g->row + i * g->stride);
}

static bool skipped(const struct option_group *g, const struct option_row *row)
{
	return g->skip && g->skip(row);
}

/* Fill in what getopt_long() needs. @letters has room for three characters of each option. */
static void describe(const struct option_group *groups, struct option *longs, char *letters)
{
	const struct option_group *g;
	int number = LONG_ONLY;
	size_t i;

	for (g = groups; g->row; g++) {
		for (i = 0; i < g->n; i++, number++) {
			const struct option_row *row = row_at(g, i);

			if (skipped(g, row))
				continue;
			*longs++ = (struct option) {
				.name = row->name,
				.has_arg = row->argument ? required_argument : no_argument,
				.val = number,
			};
			if (row->letter)
				letters += sprintf(letters, "%c%s", row->letter,
						   row->argument ? ":" : "");
		}
	}
	*longs = (struct option) { .name = "help", .val = 'h' };
	strcpy(letters, "h");
}

/* Find the row of @c, which getopt_long() returned: a letter, or a number from describe(). */
static const struct option_row *find(const struct option_group *groups, int c,
				     const struct option_group **group)
{
	const struct option_group *g;
	int number = LONG_ONLY;
	size_t i;

	for (g = groups; g->row; g++) {
		for (i = 0; i < g->n; i++, number++) {
			const struct option_row *row = row_at(g, i);

			if (skipped(g, row) || (c != number && c != row->letter))
				continue;
			*group = g;
			return row;
		}
	}
	return NULL;
}

enum option_end options_parse(const struct option_group *groups, int argc, char **argv)
{
	const struct option_group *g;
	const struct option_row *row;
	struct option *longs;
	char *letters;
	size_t n = 2;
	enum option_end end = OPTIONS_OK;
	int c;

	for (g = groups; g->row; g++)
		n += g->n;
	longs = calloc(n, sizeof(*longs));
	letters = calloc(n, 3);
	if (!longs || !letters) {
		fprintf(stderr, "%s: out of memory\n", argv[0]);
		end = OPTIONS_REFUSED;
	} else {
		describe(groups, longs, letters);
	}
	while (end == OPTIONS_OK && (c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		row = c == '?' ? NULL : find(groups, c, &g);
		if (c == '?')
			end = OPTIONS_BAD;
		else if (!row)
			end = OPTIONS_HELP;
		else if (g->take(g->arg, row, optarg))
			end = OPTIONS_REFUSED;
	}
	free(longs);
	free(letters);
	return end;
}

const char *option_range(const struct option_row *row, char text[2 * PARSE_TEXT])
{
	char min[PARSE_TEXT], max[PARSE_TEXT];

	snprintf(text, 2 * PARSE_TEXT, "%.27s to %.27s", parse_text(min, row->units, row->min),
		 parse_text(max, row->units, row->max));
	return text;
}

/* Print {NAME} at @help. Return: what follows it, or NULL if it is no placeholder. */
static const char *put_in(FILE *out, const struct option_row *row, const char *help)
{
	char text[256];

	if (!strncmp(help, "{range}", 7)) {
		fputs(option_range(row, text), out);
		return help + 7;
	}
	if (!strncmp(help, "{default}", 9)) {
		fputs(row->words ? row->words[row->standard] :
		      parse_text(text, row->units, row->standard), out);
		return help + 9;
	}
	if (!strncmp(help, "{words}", 7)) {
		fputs(parse_words_text(text, sizeof(text), row->words), out);
		return help + 7;
	}
	return NULL;
}

static void help_row(FILE *out, const struct option_row *row, int column, bool letters)
{
	const char *p = row->help, *behind;
	char head[96];
	int i;

	if (row->letter)
		snprintf(head, sizeof(head), "  -%c, --%s%s%s", row->letter, row->name,
			 row->argument ? " " : "", row->argument ? row->argument : "");
	else
		snprintf(head, sizeof(head), "  %s--%s%s%s", letters ? "    " : "", row->name,
			 row->argument ? " " : "", row->argument ? row->argument : "");
	fprintf(out, "%-*s  ", column - 2, head);
	while (*p) {
		behind = *p == '{' ? put_in(out, row, p) : NULL;
		if (behind) {
			p = behind;
			continue;
		}
		putc(*p, out);
		if (*p++ == '\n')
			fprintf(out, "%*s", column, "");
	}
	putc('\n', out);
	for (i = 0; row->words_help && row->words[i]; i++)
		fprintf(out, "%*s%-9s %s\n", column, "", row->words[i], row->words_help[i]);
}

void options_help(FILE *out, const struct option_group *groups, int column)
{
	const struct option_group *g;
	bool letters = false;
	size_t i;

	for (g = groups; g->row; g++)
		for (i = 0; i < g->n; i++)
			letters |= !!row_at(g, i)->letter;
	for (g = groups; g->row; g++) {
		if (g->title)
			fprintf(out, "%s\n", g->title);
		for (i = 0; i < g->n; i++)
			if (!skipped(g, row_at(g, i)))
				help_row(out, row_at(g, i), column, letters);
	}
}

void options_synopsis(FILE *out, const struct option_group *groups, int indent, int at)
{
	const struct option_group *g;
	int len;
	char text[96];
	size_t i;

	for (g = groups; g->row; g++) {
		for (i = 0; i < g->n; i++) {
			const struct option_row *row = row_at(g, i);

			if (skipped(g, row))
				continue;
			len = snprintf(text, sizeof(text), " [--%s%s%s]", row->name,
				       row->argument ? " " : "",
				       row->argument ? row->argument : "");
			if (at + len > LINE_MAX_COLUMNS) {
				fprintf(out, "\n%*s", indent, "");
				at = indent;
			}
			fputs(text, out);
			at += len;
		}
	}
	putc('\n', out);
}

uint64_t option_value(const struct option_row *row, const void *to)
{
	uint64_t value = 0;

	/* This relies on a little-endian machine, as the whole project does. */
	memcpy(&value, (const char *)to + row->offset, row->size);
	return value;
}

void option_set(const struct option_row *row, void *to, uint64_t value)
{
	memcpy((char *)to + row->offset, &value, row->size);
}

enum parse_result option_store(const struct option_row *row, void *to, const char *text)
{
	enum parse_result result;
	uint64_t value = 1;
	int word;

	if (row->words) {
		word = parse_word(text, row->words);
		if (word < 0)
			return PARSE_JUNK;
		value = word;
	} else if (row->units) {
		result = parse_quantity(text, row->units, row->min, row->max, &value);
		if (result)
			return result;
	} else if (row->argument) {
		memcpy((char *)to + row->offset, &text, sizeof(text));
		return PARSE_OK;
	}
	option_set(row, to, value);
	return PARSE_OK;
}

int option_take(void *to, const struct option_row *row, const char *text)
{
	return option_store(row, to, text) ? -1 : 0;
}
