/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of command line options. A row says everything about one option. What getopt_long() needs,
 * the text of --help, and where a value is stored are all derived from the rows.
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
 * @name:		without dashes
 * @letter:		short form; 0: none
 * @argument:		what --help calls its value; NULL: it has none
 * @help:		one or more lines; {range}, {default} and {words} are replaced
 * @offset, @size:	of the member that gets the value, in a structure of the row's owner. @size
 *			0: the owner stores the value itself. Members are integers or bool. An
 *			option that has a value but neither @units nor @words stores the pointer to
 *			its text
 * @units:		the value is a quantity from @min to @max
 * @words:		the value is one of these words, and its index is stored; ends with NULL
 * @words_help:		help for each word
 * @standard:		the value if the option is not given
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

/* The four members that every row needs */
#define OPTION(name_, letter_, argument_, help_) \
	.name = (name_), .letter = (letter_), .argument = (argument_), .help = (help_)

#define OPTION_AT(type, member)					\
	.offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

/*
 * struct option_group - some rows of a command, and who takes their values
 *
 * A row may be the first member of a larger structure. The list of groups ends with one without
 * rows.
 *
 * @title:	a line that --help prints before them, or NULL
 * @stride:	bytes from row to row
 * @skip:	says which rows this command does not have; NULL: it has all
 * @take:	@text is NULL if the option has no value. Return: 0, or -1 after an error message
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
	OPTIONS_OK,	/* all options are taken; optind is behind them */
	OPTIONS_HELP,	/* -h or --help was given */
	OPTIONS_BAD,	/* getopt_long() refused an option and printed why */
	OPTIONS_REFUSED,	/* @take refused a value and printed why */
};

/* getopt_long() prints argv[0] before its messages. */
enum option_end options_parse(const struct option_group *groups, int argc, char **argv);

/* Print one or more lines for each option. The texts begin at @column. */
void options_help(FILE *out, const struct option_group *groups, int column);

/*
 * Print " [--name ARGUMENT]" for every option, in lines of at most 100 columns. The first line
 * begins at column @at, further ones at @indent.
 */
void options_synopsis(FILE *out, const struct option_group *groups, int indent, int at);

/* Store a flag, quantity, word or text in its member of @to. A refused value is not stored. */
enum parse_result option_store(const struct option_row *row, void *to, const char *text);

/* option_store() as the @take of a group. Its rows are flags and texts, which are never refused. */
int option_take(void *to, const struct option_row *row, const char *text);

/* The value of a member that is an integer */
uint64_t option_value(const struct option_row *row, const void *to);
void option_set(const struct option_row *row, void *to, uint64_t value);

/* The range as text, such as "10us to 10s" */
const char *option_range(const struct option_row *row, char text[2 * PARSE_TEXT]);

#endif /* CANARY_COMMON_OPTION_H */
