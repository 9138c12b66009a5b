// SPDX-License-Identifier: BSD-2-Clause
/* JSON about a member, see member_json.h. */
#include <stdlib.h>
#include <string.h>

#include "member_json.h"

const char *json_key(const char *name)
{
	static char key[64];
	char *p;

	snprintf(key, sizeof(key), "%s", name);
	for (p = key; *p; p++)
		*p = *p == '-' ? '_' : *p;
	return key;
}

static void json_counters(struct json *j, const struct canary_stat *stats, int n, int drop)
{
	int i;

	for (i = 0; i < n; i++)
		if (stats[i].drop == drop)
			json_u64(j, json_key(stats[i].name), stats[i].value);
}

void json_stats(struct json *j, struct canary *c)
{
	struct canary_stat *stats;
	int n = canary_stats(c, NULL, 0);

	stats = n > 0 ? calloc(n, sizeof(*stats)) : NULL;
	if (!stats || canary_stats(c, stats, n) != n) {
		json_null(j, "stats");
		free(stats);
		return;
	}
	json_object(j, "stats");
	json_counters(j, stats, n, 0);
	json_object(j, "drops");
	json_counters(j, stats, n, 1);
	json_end(j);
	json_end(j);
	free(stats);
}

void json_error(struct json *j, struct canary *c, int error)
{
	unsigned int i, n, max = 1024;
	uint16_t ranks[1024];

	json_string(j, "error", canary_errmsg());
	json_string(j, "errno", strerrorname_np(-error) ?: "");
	json_array(j, "ranks");
	n = c ? canary_missing(c, ranks, max) : 0;
	for (i = 0; i < n && i < max; i++)
		json_u64(j, NULL, ranks[i]);
	json_end(j);
}
