// SPDX-License-Identifier: BSD-2-Clause
/* The JSON writer, letter by letter */
#include <stdlib.h>
#include <string.h>

#include "selftests/tap.h"
#include "userspace/common/json.h"

static void all_kinds(struct json *j)
{
	json_object(j, NULL);
	json_string(j, "name", "a\"b\\c\n\x01\x7f\xc3\xa9");
	json_string(j, "none", NULL);
	json_array(j, "list");
	json_u64(j, NULL, UINT64_MAX);
	json_number(j, NULL, "%.3f", 0.5);
	json_number(j, NULL, "%d", -1);
	json_object(j, NULL);
	json_end(j);
	json_array(j, NULL);
	json_end(j);
	json_end(j);
	json_object(j, "inner");
	json_bool(j, "yes", true);
	json_bool(j, "no", false);
	json_end(j);
	json_null(j, "null");
	json_string(j, "odd \"key\"", "");
	json_end(j);
}

static void empty(struct json *j)
{
	json_array(j, NULL);
	json_end(j);
}

static void rows(struct json *j)
{
	json_array(j, NULL);
	json_object(j, NULL);
	json_u64(j, "a", 1);
	json_u64(j, "b", 2);
	json_end(j);
	json_object(j, NULL);
	json_end(j);
	json_end(j);
}

static void two(struct json *j)
{
	empty(j);
	empty(j);
}

static void check(const char *what, enum json_style style, void (*write)(struct json *j),
		  const char *want)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct json j;

	json_begin(&j, out, style);
	write(&j);
	fclose(out);
	if (!tap(!strcmp(text, want), "%s", what))
		printf("# %s\n", text);
	free(text);
}

int main(void)
{
	check("all kinds of values", JSON_LINE, all_kinds,
	      "{\"name\":\"a\\\"b\\\\c\\u000a\\u0001\x7f\xc3\xa9\",\"none\":null,"
	      "\"list\":[18446744073709551615,0.500,-1,{},[]],\"inner\":{\"yes\":true,\"no\":false},"
	      "\"null\":null,\"odd \\\"key\\\"\":\"\"}\n");
	check("the same in lines", JSON_LINES, all_kinds,
	      "{\n  \"name\": \"a\\\"b\\\\c\\u000a\\u0001\x7f\xc3\xa9\",\n  \"none\": null,\n"
	      "  \"list\": [18446744073709551615, 0.500, -1, {}, []],\n"
	      "  \"inner\": {\"yes\": true, \"no\": false},\n"
	      "  \"null\": null,\n  \"odd \\\"key\\\"\": \"\"\n}\n");
	check("nothing", JSON_LINE, empty, "[]\n");
	check("nothing in lines", JSON_LINES, empty, "[]\n");
	check("rows", JSON_LINE, rows, "[{\"a\":1,\"b\":2},{}]\n");
	check("rows, each in its line", JSON_ROWS, rows, "[\n{\"a\":1,\"b\":2},\n{}\n]\n");
	check("rows in lines", JSON_LINES, rows, "[\n  {\"a\": 1, \"b\": 2},\n  {}\n]\n");
	check("one after the other", JSON_LINE, two, "[]\n[]\n");
	return tap_done("user/json");
}
