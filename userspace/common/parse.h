/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values as people write them: numbers, durations, rates, sizes, shares, ranges, words. All
 * programs take the same:
 *
 *	10  1.5  1e3  0x1f	a number; neither a sign nor a blank, and nothing behind its unit
 *	250us  1.5ms  4KiB  20%	with a unit, in capitals or not, where there are any
 *
 * Everything is computed in integers, so that no value depends on the machine. What is behind the
 * smallest unit of a measure (a time, a rate, a share) is rounded. Counts (numbers, bytes) have to
 * be whole.
 *
 * Nothing is said here: what to tell people about a value that is refused is its owner's business.
 */
#ifndef CANARY_COMMON_PARSE_H
#define CANARY_COMMON_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * struct parse_unit - what may stand behind a number
 * Tables of them begin with the smallest, which values are counted in, and end with a NULL name.
 * @name:	"" if it may be left out: then numbers are counts
 * @factor:	how large it is; only proportions within a table matter
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

#define PARSE_PS	(parse_times)		/* times in picoseconds, */
#define PARSE_NS	(parse_times + 1)	/* ... in nanoseconds, and so on */
#define PARSE_US	(parse_times + 2)
#define PARSE_MS	(parse_times + 3)

enum parse_result {
	PARSE_OK,
	PARSE_JUNK,	/* no number with such a unit, or a count that is not whole */
	PARSE_SMALL,	/* less than @min, or not nothing but rounded to it */
	PARSE_LARGE,	/* more than @max, or than any variable holds */
};

/*
 * parse_quantity() - @text in smallest units of @units, from @min to @max
 * @value: only written if that is what it is
 */
enum parse_result parse_quantity(const char *text, const struct parse_unit *units, uint64_t min,
				 uint64_t max, uint64_t *value);

/* A number without unit. Return: is it one from @min to @max? */
bool parse_number(const char *text, uint32_t min, uint32_t max, uint32_t *value);

/* "FIRST" or "FIRST-LAST". Return: is it a range of 32 bit numbers? */
bool parse_range(const char *text, uint32_t *first, uint32_t *last);

/* Which of @words, which end with NULL, is @text? -1: none */
int parse_word(const char *text, const char *const words[]);

/*
 * @value as parse_quantity() takes it, in the largest unit that it is a multiple of, in @text of
 * at least PARSE_TEXT characters. Return: @text
 */
#define PARSE_TEXT	32
const char *parse_text(char *text, const struct parse_unit *units, uint64_t value);

/* All of @words with ", " between them. Return: @text */
const char *parse_words_text(char *text, size_t len, const char *const words[]);

#endif /* CANARY_COMMON_PARSE_H */
