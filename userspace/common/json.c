// SPDX-License-Identifier: BSD-2-Clause
/* A JSON writer, see json.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "json.h"

void json_begin(struct json *j, FILE *out, enum json_style style)
{
	*j = (struct json) { .out = out, .style = style };
}

static void quote(FILE *out, const char *s)
{
	putc('"', out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if ((unsigned char)*s < ' ')
			fprintf(out, "\\u%04x", (unsigned char)*s);
		else
			putc(*s, out);
	}
	putc('"', out);
}

/* Write what precedes a value: comma, line break, key. */
static void before(struct json *j, const char *key)
{
	bool blanks = j->style == JSON_LINES;

	if (j->depth && j->begun)
		putc(',', j->out);
	if (j->style != JSON_LINE && j->depth == 1)
		fputs(blanks ? "\n  " : "\n", j->out);
	else if (blanks && j->begun)
		putc(' ', j->out);
	j->begun = true;
	if (!key)
		return;
	quote(j->out, key);
	fputs(blanks ? ": " : ":", j->out);
}

static void open_with(struct json *j, const char *key, char begin, char end)
{
	before(j, key);
	putc(begin, j->out);
	if (j->depth == JSON_DEPTH)
		abort();
	j->end[j->depth++] = end;
	j->begun = false;
}

void json_object(struct json *j, const char *key)
{
	open_with(j, key, '{', '}');
}

void json_array(struct json *j, const char *key)
{
	open_with(j, key, '[', ']');
}

void json_end(struct json *j)
{
	j->depth--;
	if (!j->depth && j->begun && j->style != JSON_LINE)
		putc('\n', j->out);
	putc(j->end[j->depth], j->out);
	if (!j->depth)
		putc('\n', j->out);
	j->begun = j->depth;
}

void json_string(struct json *j, const char *key, const char *s)
{
	if (!s) {
		json_null(j, key);
		return;
	}
	before(j, key);
	quote(j->out, s);
}

void json_bool(struct json *j, const char *key, bool value)
{
	before(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json_null(struct json *j, const char *key)
{
	before(j, key);
	fputs("null", j->out);
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	before(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void json_number(struct json *j, const char *key, const char *format, ...)
{
	va_list args;

	before(j, key);
	va_start(args, format);
	vfprintf(j->out, format, args);
	va_end(args);
}
