/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A JSON writer that emits one value at a time. It adds commas, quotes and escapes. Members of an
 * object have a key. Elements of an array have the key NULL.
 *
 *	json_begin(&j, stdout, JSON_LINE);
 *	json_object(&j, NULL);
 *	json_string(&j, "name", name);
 *	json_array(&j, "ports");
 *	json_number(&j, NULL, "%u", port);
 *	json_end(&j);		ends the array
 *	json_end(&j);		ends the object, the outermost value, and the line
 */
#ifndef CANARY_COMMON_JSON_H
#define CANARY_COMMON_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum json_style {
	JSON_LINE,	/* all in one line, without blanks */
	JSON_ROWS,	/* the same, but a line for each value in the outermost one */
	JSON_LINES,	/* like JSON_ROWS, with blanks, for people */
};

#define JSON_DEPTH	16

struct json {
	FILE *out;
	enum json_style style;
	bool begun;		/* the innermost object or array is not empty */
	unsigned int depth;
	char end[JSON_DEPTH];	/* the closing bracket of each level */
};

void json_begin(struct json *j, FILE *out, enum json_style style);

void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end(struct json *j);

/* @s is UTF-8. NULL writes null. */
void json_string(struct json *j, const char *key, const char *s);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
void json_u64(struct json *j, const char *key, uint64_t value);

/* @format has to produce a number. */
__attribute__((format(printf, 3, 4)))
void json_number(struct json *j, const char *key, const char *format, ...);

#endif /* CANARY_COMMON_JSON_H */
