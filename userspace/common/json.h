/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON, written value by value. Commas, quotes and escapes are the writer's; members of an object
 * have a key, elements of an array have NULL.
 *
 *	json_begin(&j, stdout, JSON_LINE);
 *	json_object(&j, NULL);
 *	json_string(&j, "name", name);
 *	json_array(&j, "ports");
 *	json_number(&j, NULL, "%u", port);
 *	json_end(&j);			of the array
 *	json_end(&j);			of the object: all is closed, the line ends
 */
#ifndef CANARY_COMMON_JSON_H
#define CANARY_COMMON_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum json_style {
	JSON_LINE,	/* all in one line, without blanks */
	JSON_ROWS,	/* the same, but each value in the outermost has a line of its own */
	JSON_LINES,	/* that with blanks, for people */
};

#define JSON_DEPTH	16

struct json {
	FILE *out;
	enum json_style style;
	bool begun;		/* the innermost has something in it */
	unsigned int depth;
	char end[JSON_DEPTH];	/* what closes each */
};

void json_begin(struct json *j, FILE *out, enum json_style style);

void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end(struct json *j);

/* @s is UTF-8; NULL gives null */
void json_string(struct json *j, const char *key, const char *s);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
void json_u64(struct json *j, const char *key, uint64_t value);

/* What @format gives is a number. */
__attribute__((format(printf, 3, 4)))
void json_number(struct json *j, const char *key, const char *format, ...);

#endif /* CANARY_COMMON_JSON_H */
