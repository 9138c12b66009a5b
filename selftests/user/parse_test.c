// SPDX-License-Identifier: BSD-2-Clause
/* Parsing of values: what is taken, what is refused, and why */
#include <inttypes.h>
#include <string.h>

#include "selftests/tap.h"
#include "userspace/common/parse.h"

#define MS	1000000ULL
#define S	(1000 * MS)

static const struct {
	const char *text;
	const struct parse_unit *units;
	uint64_t min, max;
	enum parse_result result;
	uint64_t value;
} quantities[] = {
	/* numbers */
	{ "0", parse_counts, 0, 9, PARSE_OK, 0 },
	{ "10", parse_counts, 0, 10, PARSE_OK, 10 },
	{ "11", parse_counts, 0, 10, PARSE_LARGE, 0 },
	{ "3", parse_counts, 4, 10, PARSE_SMALL, 0 },
	{ "010", parse_counts, 0, 99, PARSE_OK, 10 },
	{ "0x1F", parse_counts, 0, 99, PARSE_OK, 31 },
	{ "0x", parse_counts, 0, 99, PARSE_JUNK, 0 },
	{ "0xg", parse_counts, 0, 99, PARSE_JUNK, 0 },
	{ "0x1.8", parse_counts, 0, 99, PARSE_JUNK, 0 },
	{ "1e3", parse_counts, 0, 5000, PARSE_OK, 1000 },
	{ "1.5e3", parse_counts, 0, 5000, PARSE_OK, 1500 },
	{ "1500e-2", parse_counts, 0, 5000, PARSE_OK, 15 },
	{ "1e", parse_counts, 0, 5000, PARSE_JUNK, 0 },
	{ "1e+", parse_counts, 0, 5000, PARSE_JUNK, 0 },
	{ "2.0", parse_counts, 0, 9, PARSE_OK, 2 },
	{ "18446744073709551615", parse_counts, 0, UINT64_MAX, PARSE_OK, UINT64_MAX },
	{ "0xffffffffffffffff", parse_counts, 0, UINT64_MAX, PARSE_OK, UINT64_MAX },
	/* a fraction where only whole numbers are valid */
	{ "1.5", parse_counts, 0, 9, PARSE_JUNK, 0 },
	{ "0.3", parse_bytes, 0, 9, PARSE_JUNK, 0 },
	{ "1e-1", parse_counts, 0, 9, PARSE_JUNK, 0 },
	{ "0.4KiB", parse_bytes, 0, 9999, PARSE_JUNK, 0 },
	{ "1.5KiB", parse_bytes, 0, 9999, PARSE_OK, 1536 },
	/* overflow */
	{ "18446744073709551616", parse_counts, 0, UINT64_MAX, PARSE_LARGE, 0 },
	{ "99999999999999999999999999999999999999999", parse_counts, 0, UINT64_MAX, PARSE_LARGE, 0 },
	{ "0x10000000000000000", parse_counts, 0, UINT64_MAX, PARSE_LARGE, 0 },
	{ "1e20", parse_counts, 0, UINT64_MAX, PARSE_LARGE, 0 },
	{ "1e999999999999999999999", parse_counts, 0, UINT64_MAX, PARSE_LARGE, 0 },
	{ "0e999999999999999999999", parse_counts, 0, UINT64_MAX, PARSE_OK, 0 },
	{ "18014398509481984K", parse_bytes, 0, UINT64_MAX, PARSE_LARGE, 0 },
	{ "18014398509481983K", parse_bytes, 0, UINT64_MAX, PARSE_OK, UINT64_MAX - 1023 },
	{ "99999999999s", PARSE_PS, 0, UINT64_MAX, PARSE_LARGE, 0 },
	/* sign, blanks, junk, nothing */
	{ "", parse_counts, 0, 9, PARSE_JUNK, 0 },
	{ "-1", parse_counts, 0, 9, PARSE_JUNK, 0 },
	{ "+1", parse_counts, 0, 9, PARSE_JUNK, 0 },
	{ " 1", parse_counts, 0, 9, PARSE_JUNK, 0 },
	{ "1 ", parse_counts, 0, 9, PARSE_JUNK, 0 },
	{ "1x", parse_counts, 0, 9, PARSE_JUNK, 0 },
	{ "x", parse_counts, 0, 9, PARSE_JUNK, 0 },
	{ ".5", parse_counts, 0, 9, PARSE_JUNK, 0 },
	{ "1.2.3", parse_counts, 0, 9, PARSE_JUNK, 0 },
	{ "nan", parse_counts, 0, 9, PARSE_JUNK, 0 },
	{ "inf", parse_counts, 0, 9, PARSE_JUNK, 0 },
	{ "1\t", parse_counts, 0, 9, PARSE_JUNK, 0 },
	/* times */
	{ "1ms", PARSE_NS, 0, S, PARSE_OK, MS },
	{ "1.5ms", PARSE_NS, 0, S, PARSE_OK, 3 * MS / 2 },
	{ "1MS", PARSE_NS, 0, S, PARSE_OK, MS },
	{ "1e+06us", PARSE_NS, 0, S, PARSE_OK, S },
	{ "1s", PARSE_MS, 0, 1000, PARSE_OK, 1000 },
	{ "250us", PARSE_US, 0, 1000, PARSE_OK, 250 },
	{ "1s", PARSE_PS, 0, UINT64_MAX, PARSE_OK, 1000 * S },
	{ "0s", PARSE_NS, 0, S, PARSE_OK, 0 },
	{ "0x10ms", PARSE_NS, 0, S, PARSE_OK, 16 * MS },
	{ "1", PARSE_NS, 0, S, PARSE_JUNK, 0 },
	{ "0", PARSE_NS, 0, S, PARSE_JUNK, 0 },
	{ "ms", PARSE_NS, 0, S, PARSE_JUNK, 0 },
	{ "1h", PARSE_NS, 0, S, PARSE_JUNK, 0 },
	{ "1 ms", PARSE_NS, 0, S, PARSE_JUNK, 0 },
	{ "1msx", PARSE_NS, 0, S, PARSE_JUNK, 0 },
	{ "1us", PARSE_MS, 0, 1000, PARSE_JUNK, 0 },
	{ "-1ms", PARSE_NS, 0, S, PARSE_JUNK, 0 },
	{ "2s", PARSE_NS, 0, S, PARSE_LARGE, 0 },
	{ "9us", PARSE_NS, 10000, S, PARSE_SMALL, 0 },
	/* rounded, but not to 0 */
	{ "33.333333333333336us", PARSE_NS, 0, S, PARSE_OK, 33333 },
	{ "1.4ns", PARSE_NS, 0, S, PARSE_OK, 1 },
	{ "1.5ns", PARSE_NS, 0, S, PARSE_OK, 2 },
	{ "0.4ns", PARSE_NS, 0, S, PARSE_SMALL, 0 },
	{ "1e-60s", PARSE_NS, 0, S, PARSE_SMALL, 0 },
	{ "0.000000000000000000000000000000000000000000001s", PARSE_NS, 0, S, PARSE_SMALL, 0 },
	{ "0.1000000000000000055511151231257827s", PARSE_NS, 0, S, PARSE_OK, S / 10 },
	{ "1.0000000000000000000000000000000001s", PARSE_NS, 0, S, PARSE_OK, S },
	/* sizes, rates, shares */
	{ "4K", parse_bytes, 0, UINT64_MAX, PARSE_OK, 4096 },
	{ "4kib", parse_bytes, 0, UINT64_MAX, PARSE_OK, 4096 },
	{ "3B", parse_bytes, 0, UINT64_MAX, PARSE_OK, 3 },
	{ "1G", parse_bytes, 0, UINT64_MAX, PARSE_OK, 1 << 30 },
	{ "1T", parse_bytes, 0, UINT64_MAX, PARSE_JUNK, 0 },
	{ "1KB", parse_bytes, 0, UINT64_MAX, PARSE_JUNK, 0 },
	{ "2.5Gbit", parse_rates, 0, UINT64_MAX, PARSE_OK, 2500000000 },
	{ "10", parse_rates, 0, UINT64_MAX, PARSE_JUNK, 0 },
	{ "100%", parse_shares, 0, 1000000, PARSE_OK, 1000000 },
	{ "33.33333%", parse_shares, 0, 1000000, PARSE_OK, 333333 },
	{ "20ppm", parse_shares, 0, 1000000, PARSE_OK, 20 },
	{ "0.00001%", parse_shares, 0, 1000000, PARSE_SMALL, 0 },
	{ "101%", parse_shares, 0, 1000000, PARSE_LARGE, 0 },
	{ "50", parse_shares, 0, 1000000, PARSE_JUNK, 0 },
};

static void test_quantities(void)
{
	static const char *const names[] = { "taken", "junk", "too small", "too large" };
	enum parse_result result;
	uint64_t value;
	size_t i;

	for (i = 0; i < sizeof(quantities) / sizeof(*quantities); i++) {
		value = 4711;
		result = parse_quantity(quantities[i].text, quantities[i].units, quantities[i].min,
					quantities[i].max, &value);
		tap(result == quantities[i].result &&
		    value == (result ? 4711 : quantities[i].value),
		    "'%s'%s%s: %s, %" PRIu64, quantities[i].text, *quantities[i].units->name ? " in " : "",
		    quantities[i].units->name, names[result], value);
	}
}

static void test_numbers(void)
{
	uint32_t n = 7;

	tap(parse_number("4294967295", 0, UINT32_MAX, &n) && n == UINT32_MAX, "32 bits");
	n = 7;
	tap(!parse_number("4294967296", 0, UINT32_MAX, &n) && n == 7, "33 bits are too many");
	tap(!parse_number("3", 4, 5, &n) && !parse_number("6", 4, 5, &n) && n == 7, "out of range");
}

static const struct {
	const char *text;
	bool good;
	uint32_t first, last;
} ranges[] = {
	{ "5", true, 5, 5 },
	{ "5-9", true, 5, 9 },
	{ "0-4294967295", true, 0, UINT32_MAX },
	{ "0x10-0x1f", true, 16, 31 },
	{ "010", true, 10, 10 },
	{ "5-5", true, 5, 5 },
	{ "9-5", false, 0, 0 },
	{ "5-", false, 0, 0 },
	{ "-5", false, 0, 0 },
	{ "-", false, 0, 0 },
	{ "", false, 0, 0 },
	{ "1-2-3", false, 0, 0 },
	{ "1 - 2", false, 0, 0 },
	{ "+1", false, 0, 0 },
	{ "4294967296", false, 0, 0 },
	{ "1-4294967296", false, 0, 0 },
	{ "00000000000000000000000000000000000000001-2", false, 0, 0 },
	{ "any", false, 0, 0 },
};

static void test_ranges(void)
{
	uint32_t first, last;
	bool good;
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		first = 0;
		last = 0;
		good = parse_range(ranges[i].text, &first, &last);
		tap(good == ranges[i].good && first == ranges[i].first && last == ranges[i].last,
		    "range '%s': %s", ranges[i].text, good ? "taken" : "refused");
	}
}

static void test_words(void)
{
	static const char *const words[] = { "on", "off", "auto", NULL };
	char text[16], small[6];

	tap(parse_word("off", words) == 1 && parse_word("auto", words) == 2 &&
	    parse_word("of", words) < 0 && parse_word("offf", words) < 0 &&
	    parse_word("Off", words) < 0 && parse_word("", words) < 0, "words, as they are written");
	tap(!strcmp(parse_words_text(text, sizeof(text), words), "on, off, auto"), "a list of them");
	parse_words_text(small, sizeof(small), words);
	tap(!strcmp(small, "on, o"), "and no more than there is room for");
}

/* parse_text() writes what parse_quantity() reads as the same. */
static void test_text(void)
{
	static const struct {
		const struct parse_unit *units;
		uint64_t value;
		const char *text;
	} texts[] = {
		{ PARSE_NS, 10000, "10us" }, { PARSE_NS, 3600 * S, "3600s" },
		{ PARSE_NS, 1500000, "1500us" }, { PARSE_NS, 0, "0s" },
		{ PARSE_MS, 1, "1ms" }, { parse_bytes, 4096, "4KiB" }, { parse_bytes, 0, "0" },
		{ parse_bytes, 1500, "1500B" }, { parse_shares, 1000000, "100%" },
		{ parse_counts, UINT64_MAX, "18446744073709551615" },
	};
	char text[PARSE_TEXT];
	uint64_t value;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		parse_text(text, texts[i].units, texts[i].value);
		tap(!strcmp(text, texts[i].text) &&
		    !parse_quantity(text, texts[i].units, 0, UINT64_MAX, &value) &&
		    value == texts[i].value, "%s is written and read", text);
	}
}

static void test_flags(void)
{
	static const char *const words[] = { "1", "0", "yes", "No", "TRUE", "false", "on", "off" };
	bool good = true, value;
	int i;

	for (i = 0; i < 8; i++) {
		value = i % 2;
		good &= parse_flag(words[i], &value) && value == !(i % 2);
	}
	tap(good, "words for on and off");
	value = true;
	tap(!parse_flag("", &value) && !parse_flag("2", &value) && !parse_flag("yes ", &value) && value,
	    "other words are none");
}

static void test_shown(void)
{
	char text[PARSE_SHOWN], value[200];

	tap(!strcmp(parse_shown(text, "a\x1b[1m\xff b\n"), "a?[1m? b?"), "what is no text is not shown");
	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	parse_shown(text, value);
	tap(strlen(text) == PARSE_SHOWN - 1 && !strcmp(text + PARSE_SHOWN - 4, "..."),
	    "a long value is cut");
	value[PARSE_SHOWN - 1] = '\0';
	tap(!strcmp(parse_shown(text, value), value), "the longest one that is not");
}

int main(void)
{
	test_flags();
	test_shown();
	test_quantities();
	test_numbers();
	test_ranges();
	test_words();
	test_text();
	return tap_done("user/parse");
}
