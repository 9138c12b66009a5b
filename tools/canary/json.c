// SPDX-License-Identifier: BSD-2-Clause
/* JSON as the commands write it. */
#include <stdlib.h>
#include <string.h>

#include "json.h"

void json_string(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if ((unsigned char)*s < ' ')
			fprintf(f, "\\u%04x", *s);
		else
			putc(*s, f);
	}
	putc('"', f);
}

void json_key(FILE *f, const char *name)
{
	putc('"', f);
	for (; *name; name++)
		putc(*name == '-' ? '_' : *name, f);
	fputs("\":", f);
}

static void json_counters(FILE *f, const struct canary_stat *stats, int n, int drop)
{
	const char *comma = "";
	int i;

	for (i = 0; i < n; i++) {
		if (stats[i].drop != drop)
			continue;
		fputs(comma, f);
		json_key(f, stats[i].name);
		fprintf(f, "%llu", (unsigned long long)stats[i].value);
		comma = ",";
	}
}

void json_stats(FILE *f, struct canary *c)
{
	struct canary_stat *stats;
	int n = canary_stats(c, NULL, 0);

	stats = n > 0 ? calloc(n, sizeof(*stats)) : NULL;
	if (!stats || canary_stats(c, stats, n) != n) {
		fputs("null", f);
		free(stats);
		return;
	}
	putc('{', f);
	json_counters(f, stats, n, 0);
	fputs(",\"drops\":{", f);
	json_counters(f, stats, n, 1);
	fputs("}}", f);
	free(stats);
}

void json_error(FILE *f, struct canary *c, int error)
{
	char text[512];
	unsigned int i, n, max = 1024;
	uint16_t ranks[1024];

	snprintf(text, sizeof(text), "%s", canary_errmsg());
	fputs("\"error\":", f);
	json_string(f, text);
	fprintf(f, ",\"errno\":\"%s\",\"ranks\":[", strerrorname_np(-error) ?: "");
	n = c ? canary_missing(c, ranks, max) : 0;
	for (i = 0; i < n && i < max; i++)
		fprintf(f, "%s%u", i ? "," : "", ranks[i]);
	putc(']', f);
}
