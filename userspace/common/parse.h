/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values as people write them: numbers, durations, rates, sizes, shares, ranges, words. All
 * programs take the same:
 *
 *	10  1.5  1e3  0x1f		a number; no sign, no blanks, nothing behind the unit
 *	250us  1.5ms  4KiB  20%		with a unit, in upper or lower case
 *
 * The parser computes in integers, so that results are the same on every machine. Quantities (time,
 * rate, share) are rounded to their smallest unit. Counts (numbers, bytes) have to be whole.
 *
 * The parser prints nothing. The caller tells people why a value is refused.
 */
#ifndef CANARY_COMMON_PARSE_H
#define CANARY_COMMON_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * struct parse_unit - a unit that may follow a number
 *
 * A table begins with the smallest unit, in which results are counted, and ends with a NULL name.
 *
 * @name:	"" if it may be left out: then the quantity is a count
 * @factor:	its size; only proportions within a table matter
 */
struct parse_unit {
	const char *name;
	uint64_t factor;
};

extern const struct parse_unit parse_counts[];	/* no unit */
extern const struct parse_unit parse_times[];	/* ps, ns, us, ms, s */
extern const struct parse_unit parse_bytes[];	/* bytes, K or KiB, M or MiB, G or GiB */
extern const struct parse_unit parse_rates[];	/* bit, kbit, mbit, gbit, tbit */
extern const struct parse_unit parse_shares[];	/* ppm, % */
extern const struct parse_unit parse_us[];	/* us, which may be left out, ms, s */
extern const struct parse_unit parse_ms[];	/* ms, which may be left out, s */

#define PARSE_PS	(parse_times)		/* times in picoseconds */
#define PARSE_NS	(parse_times + 1)	/* times in nanoseconds, and so on */
#define PARSE_US	(parse_times + 2)
#define PARSE_MS	(parse_times + 3)

enum parse_result {
	PARSE_OK,
	PARSE_JUNK,	/* no number with one of these units, or a count that is not whole */
	PARSE_SMALL,	/* less than @min, or larger than 0 but rounded to 0 */
	PARSE_LARGE,	/* more than @max, or more than 64 bits hold */
};

/*
 * parse_quantity() - parse @text; the result is in the smallest of @units, from @min to @max
 * @value:	only written if the result is PARSE_OK
 */
enum parse_result parse_quantity(const char *text, const struct parse_unit *units, uint64_t min,
				 uint64_t max, uint64_t *value);

/* Parse a number without a unit. Return: is it one from @min to @max? */
bool parse_number(const char *text, uint32_t min, uint32_t max, uint32_t *value);

/*
 * A value as messages show it: what is not printable ASCII is '?', and a long one is cut.
 * Return: @text
 */
#define PARSE_SHOWN	64
const char *parse_shown(char text[PARSE_SHOWN], const char *value);

/* The same for a sentence of others, in place, without the cut */
void parse_clean(char *text);

/* Parse a word that says on or off. Return: is it one? */
#define PARSE_FLAG_WORDS "1, 0, yes, no, true, false, on, off"
bool parse_flag(const char *text, bool *value);

/* Parse "FIRST" or "FIRST-LAST". Return: is it a range of 32-bit numbers? */
bool parse_range(const char *text, uint32_t *first, uint32_t *last);

/* Return: index of @text in @words, which ends with NULL; -1 if it is not there */
int parse_word(const char *text, const char *const words[]);

/*
 * Write @value as parse_quantity() reads it, in the largest unit that divides it. @text has room
 * for PARSE_TEXT characters. Return: @text
 */
#define PARSE_TEXT	32
const char *parse_text(char *text, const struct parse_unit *units, uint64_t value);

/* Write all of @words, separated by ", ". Return: @text */
const char *parse_words_text(char *text, size_t len, const char *const words[]);

#endif /* CANARY_COMMON_PARSE_H */
