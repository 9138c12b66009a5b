/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A reader of text descriptions: lines "key value"; # begins a comment. Topologies and scenarios
 * use it. Errors are reported with file, line and reason before anything runs.
 */
#ifndef SIM_CONFIG_H
#define SIM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/common/complain.h"

enum config_type {
	CONFIG_NUMBER,		/* uint32_t */
	CONFIG_RATE,		/* uint64_t, bits a second: 100gbit, 10mbit */
	CONFIG_TIME,		/* uint64_t, picoseconds: 300ns, 1us, 2ms */
	CONFIG_BYTES,		/* uint64_t: 4MiB, 64KiB, 1500 */
	CONFIG_PARTS,		/* uint32_t, parts in a million: 1%, 0.01%, 20ppm */
	CONFIG_WORD,		/* uint32_t, index into @words */
	CONFIG_TEXT,		/* char[CONFIG_TEXT_MAX] */
	CONFIG_LIST,		/* struct config_list: may occur several times */
};

#define CONFIG_TEXT_MAX	256
#define CONFIG_LIST_MAX	64

struct config_list {
	uint32_t n;
	char text[CONFIG_LIST_MAX][CONFIG_TEXT_MAX];
	char where[CONFIG_LIST_MAX][CONFIG_TEXT_MAX];
};

/*
 * struct config_key - one key
 * @offset:	of its member in the structure to fill
 * @min, @max:	range of numbers
 * @words:	of CONFIG_WORD: valid words; ends with NULL
 */
struct config_key {
	const char *name;
	enum config_type type;
	size_t offset;
	uint64_t min;
	uint64_t max;
	const char *const *words;
	const char *help;
};

/* Report an error in a description, as complain() does. Return: false */
#define refuse(where, ...)	(complain(where, __VA_ARGS__), false)

/* Parse one "key value". @where precedes error messages. Return: false after an error message */
bool config_line(const struct config_key *keys, void *to, const char *line, const char *where);

/* Parse all lines of a file, and report every error. Return: false if there was one */
bool config_file(const struct config_key *keys, void *to, const char *path);

bool config_parse_time(const char *text, uint64_t *ps);

void config_help(const struct config_key *keys);

#endif /* SIM_CONFIG_H */
