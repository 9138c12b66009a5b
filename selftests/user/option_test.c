// SPDX-License-Identifier: BSD-2-Clause
/* Tables of command line options: what is taken, stored and refused, and what --help prints */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "selftests/tap.h"
#include "userspace/common/option.h"

struct values {
	bool flag;
	const char *text;
	uint16_t count;
	uint64_t time;
	uint32_t word;
	const char *refused;
	unsigned int others;
};

static const char *const words[] = { "red", "green", NULL };
static const char *const words_help[] = { "as blood", "as grass" };

static const struct option_row rows[] = {
	{ OPTION("flag", 'f', NULL, "a flag"), OPTION_AT(struct values, flag) },
	{ OPTION("text", 0, "FILE", "some text"), OPTION_AT(struct values, text) },
	{ OPTION("count", 'c', "N", "so many, {range} ({default}),\nin two lines"),
	  OPTION_AT(struct values, count), .units = parse_counts, .min = 1, .max = 60000,
	  .standard = 7 },
	{ OPTION("time", 't', "TIME", "{range} ({default})"), OPTION_AT(struct values, time),
	  .units = PARSE_NS, .max = 3600000000000, .standard = 1500000 },
	{ OPTION("word", 'w', "WORD", "one of {words} ({default}):"),
	  OPTION_AT(struct values, word), .words = words, .words_help = words_help,
	  .standard = 1 },
};

static const struct option_row others[] = {
	{ OPTION("other", 0, "X", "of another table; {nothing} is put in there") },
	{ OPTION("hidden", 'h' + 1, NULL, "not of this command") },
};

static int take(void *arg, const struct option_row *row, const char *text)
{
	struct values *v = arg;

	if (option_store(row, v, text) == PARSE_OK)
		return 0;
	v->refused = text;
	return -1;
}

static int take_other(void *arg, const struct option_row *row, const char *text)
{
	struct values *v = arg;

	v->others++;
	return 0;
}

static bool skip(const struct option_row *row)
{
	return !strcmp(row->name, "hidden");
}

static struct values v;

static const struct option_group groups[] = {
	{ OPTION_ROWS(rows), .take = take, .arg = &v },
	{ OPTION_ROWS(others), .title = "Others:", .take = take_other, .arg = &v, .skip = skip },
	{ 0 }
};

/* @line: words with blanks between them */
static enum option_end parse(const char *line)
{
	static char copy[256];
	char *argv[16] = { (char *)"test" }, *save;
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s", line);
	argv[argc] = strtok_r(copy, " ", &save);
	while (argv[argc])
		argv[++argc] = strtok_r(NULL, " ", &save);
	memset(&v, 0, sizeof(v));
	optind = 0;
	return options_parse(groups, argc, argv);
}

static void test_parse(void)
{
	tap(parse("") == OPTIONS_OK && optind == 1 && !v.flag, "nothing");
	tap(parse("--flag --text=a --count 60000 --time 2ms --word green rest") == OPTIONS_OK &&
	    v.flag && !strcmp(v.text, "a") && v.count == 60000 && v.time == 2000000 &&
	    v.word == 1, "long ones, all kinds of values");
	tap(parse("-f -c3 -t 1s -w red") == OPTIONS_OK && v.flag && v.count == 3 &&
	    v.time == 1000000000 && !v.word, "short ones");
	tap(parse("--other 1 -f --other 2") == OPTIONS_OK && v.others == 2 && v.flag,
	    "each table takes its own");
	tap(parse("--count 60001 -f") == OPTIONS_REFUSED && !strcmp(v.refused, "60001") &&
	    !v.count && !v.flag, "a refused value: nothing is stored, nothing behind is taken");
	tap(parse("--word blue") == OPTIONS_REFUSED && parse("--time 5") == OPTIONS_REFUSED &&
	    parse("-c -1") == OPTIONS_REFUSED, "a word, a time, a number that are none");
	tap(parse("-f --help -c x") == OPTIONS_HELP && parse("-h") == OPTIONS_HELP, "help");
	tap(parse("--colour") == OPTIONS_BAD && parse("--text") == OPTIONS_BAD &&
	    parse("-q") == OPTIONS_BAD && parse("--flag=1") == OPTIONS_BAD,
	    "unknown, without its value, with one that it does not have");
	tap(parse("--hidden") == OPTIONS_BAD && parse("-i") == OPTIONS_BAD,
	    "what another command has");
}

static void check(const char *what, const char *said, const char *want)
{
	if (!tap(!strcmp(said, want), "%s", what))
		printf("# got\n%s# expected\n%s", said, want);
}

static void test_help(void)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	options_help(out, groups, 20);
	fclose(out);
	check("help", text,
	      "  -f, --flag        a flag\n"
	      "      --text FILE   some text\n"
	      "  -c, --count N     so many, 1 to 60000 (7),\n"
	      "                    in two lines\n"
	      "  -t, --time TIME   0s to 3600s (1500us)\n"
	      "  -w, --word WORD   one of red, green (green):\n"
	      "                    red       as blood\n"
	      "                    green     as grass\n"
	      "Others:\n"
	      "      --other X     of another table; {nothing} is put in there\n");
	free(text);
	text = NULL;
	out = open_memstream(&text, &len);
	options_synopsis(out, groups, 4, 60);
	fclose(out);
	check("synopsis, in lines", text,
	      " [--flag] [--text FILE] [--count N]\n"
	      "     [--time TIME] [--word WORD] [--other X]\n");
	free(text);
}

static void test_values(void)
{
	struct values s = { .others = 5 };

	option_set(&rows[2], &s, 40000);
	option_set(&rows[4], &s, 1);
	tap(option_value(&rows[2], &s) == 40000 && s.count == 40000 &&
	    option_value(&rows[4], &s) == 1 && s.others == 5 && !s.time,
	    "members of several sizes, and no more than they are");
	option_set(&others[0], &s, ~0ULL);
	tap(!option_value(&others[0], &s) && !s.flag, "a row without a member has no value");
}

int main(void)
{
	/* messages of getopt_long() are expected here */
	if (!freopen("/dev/null", "w", stderr))
		return 1;
	test_parse();
	test_help();
	test_values();
	return tap_done("user/option");
}
