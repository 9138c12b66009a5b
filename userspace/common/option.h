/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of a command line in tables: a row has all there is to say of one. From the rows come
 * what getopt_long() needs, --help, what is stored and where.
 *
 *	static const struct option_row rows[] = {
 *		{ OPTION("iters", 'n', "N", "operations that are timed, {range} ({default})"),
 *		  OPTION_AT(struct perf, iters), .units = parse_counts, .min = 1, .max = 1000000,
 *		  .standard = 20 },
 *		{ OPTION("json", 'j', NULL, "as JSON"), OPTION_AT(struct perf, json) },
 *	};
 *	const struct option_group groups[] = {
 *		{ OPTION_ROWS(rows), .take = take, .arg = &perf },
 *		{ 0 }
 *	};
 */
#ifndef CANARY_COMMON_OPTION_H
#define CANARY_COMMON_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "userspace/common/parse.h"

/*
 * struct option_row - one option
 * @name:	without dashes
 * @letter:	its short form, 0: none
 * @argument:	what help calls its value; NULL: it has none
 * @help:	a line or more. {range}, {default} and {words} are put in
 * @offset, @size: of the member that has its value, in the structure of the row's owner. @size 0:
 *		it is not simply stored. Integers and bool; with neither @units nor @words an option
 *		with a value stores the pointer to it
 * @units:	the value is a quantity, from @min to @max
 * @words:	the value is one of these, and stored as its number; ends with NULL
 * @words_help:	of each
 * @standard:	what holds if it is not given
 */
struct option_row {
	const char *name;
	char letter;
	const char *argument;
	const char *help;
	size_t offset, size;
	const struct parse_unit *units;
	uint64_t min, max;
	const char *const *words;
	const char *const *words_help;
	uint64_t standard;
};

/* The first four, without which no row is */
#define OPTION(name_, letter_, argument_, help_) \
	.name = (name_), .letter = (letter_), .argument = (argument_), .help = (help_)

#define OPTION_AT(type, member)					\
	.offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

/*
 * struct option_group - some rows of a command, and who takes them
 * Rows may be the first members of larger ones; groups end with one without rows.
 * @title:	a line of help before them, or NULL
 * @stride:	from row to row
 * @skip:	rows that this command does not have; NULL: it has all
 * @take:	@text is NULL if the option has no value. Return: 0, or -1 after having complained
 */
struct option_group {
	const char *title;
	const struct option_row *row;
	size_t n, stride;
	bool (*skip)(const struct option_row *row);
	int (*take)(void *arg, const struct option_row *row, const char *text);
	void *arg;
};

#define OPTION_ROWS(rows)	.row = (rows), .n = sizeof(rows) / sizeof((rows)[0]), \
				.stride = sizeof((rows)[0])

enum option_end {
	OPTIONS_OK,	/* all taken, optind is behind them */
	OPTIONS_HELP,	/* -h or --help */
	OPTIONS_BAD,	/* getopt_long() has complained */
	OPTIONS_REFUSED,	/* @take has */
};

/* argv[0] is what getopt_long() complains as. */
enum option_end options_parse(const struct option_group *groups, int argc, char **argv);

/* One line or more for each option; texts begin at @column. */
void options_help(FILE *out, const struct option_group *groups, int column);

/*
 * " [--name ARGUMENT]" of all, in lines of at most 100 columns: the first begins at column @at,
 * others at @indent
 */
void options_synopsis(FILE *out, const struct option_group *groups, int indent, int at);

/* Store a flag, quantity, word or text in its member of @to. Nothing is stored if it is refused. */
enum parse_result option_store(const struct option_row *row, void *to, const char *text);

/* The same as an option_group's take, for rows of flags and texts, which cannot be refused */
int option_take(void *to, const struct option_row *row, const char *text);

/* What is stored in a member that is an integer */
uint64_t option_value(const struct option_row *row, const void *to);
void option_set(const struct option_row *row, void *to, uint64_t value);

/* "10us to 10s" */
const char *option_range(const struct option_row *row, char text[2 * PARSE_TEXT]);

#endif /* CANARY_COMMON_OPTION_H */
