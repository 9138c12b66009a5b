// SPDX-License-Identifier: BSD-2-Clause
/* What processes tell each other before anything else: version, settings, address */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmpi.h"
#include "userspace/common/own_address.h"
#include "userspace/common/parse.h"

#define FNV_BASIS	0xcbf29ce484222325ULL

/* FNV-1a */
uint64_t cmpi_hash(const void *data, size_t bytes)
{
	const unsigned char *at = data;
	uint64_t h = FNV_BASIS;

	while (bytes--)
		h = (h ^ *at++) * 0x100000001b3ULL;
	return h;
}

static uint64_t hash_setting(const struct cmpi_settings *s, const struct cmpi_setting *row)
{
	const char *value = (const char *)s + row->offset;

	if (row->kind != CMPI_TEXT)
		return cmpi_hash(value, sizeof(unsigned int));
	value = *(const char *const *)value;
	return cmpi_hash(value, strlen(value));
}

void cmpi_fingerprint_fill(struct cmpi_fingerprint *f, const struct cmpi_settings *s,
			   const char *wrong)
{
	const char *version = getenv("CANARY_TEST_VERSION");
	unsigned int i;

	memset(f, 0, sizeof(*f));
	snprintf(f->version, sizeof(f->version), "%s", version ? version : canary_version());
	snprintf(f->wrong, sizeof(f->wrong), "%s", wrong);
	for (i = 0; i < CMPI_SETTINGS; i++)
		if (cmpi_setting_table[i].decides)
			f->setting[i] = hash_setting(s, &cmpi_setting_table[i]);
}

bool cmpi_fingerprint_alike(const struct cmpi_fingerprint *a, const struct cmpi_fingerprint *b)
{
	return !memcmp(a, b, sizeof(*a)) && !a->wrong[0];
}

const char *cmpi_fingerprint_differs(const struct cmpi_fingerprint *mine,
				     const struct cmpi_fingerprint *other, const char *prefix,
				     char text[CMPI_DIFFERS])
{
	char name[CMPI_SETTING_NAME];
	bool any = false;
	unsigned int i;
	size_t at;

	if (other->wrong[0]) {
		snprintf(text, CMPI_DIFFERS, "cannot use Canary: %.*s", (int)sizeof(other->wrong),
			 other->wrong);
		parse_clean(text);
		return text;
	}
	if (memcmp(mine->version, other->version, sizeof(mine->version))) {
		snprintf(text, CMPI_DIFFERS, "has another version of Canary, %.*s",
			 (int)sizeof(other->version), other->version);
		parse_clean(text);
		return text;
	}
	at = snprintf(text, CMPI_DIFFERS, "has another value of");
	for (i = 0; i < CMPI_SETTINGS; i++) {
		if (mine->setting[i] == other->setting[i] || at >= CMPI_DIFFERS)
			continue;
		at += snprintf(text + at, CMPI_DIFFERS - at, "%s %s", any ? "," : "",
			       cmpi_setting_name(&cmpi_setting_table[i], prefix, name));
		any = true;
	}
	return text;
}

void cmpi_greeting_fill(struct cmpi_greeting *g, const struct cmpi_settings *s, const char *wrong)
{
	unsigned int mtu;

	memset(g, 0, sizeof(*g));
	cmpi_fingerprint_fill(&g->fingerprint, s, wrong);
	own_address(s->interfaces, true, &g->addr, &mtu);
}

bool cmpi_greeting_alike(const struct cmpi_greeting *a, const struct cmpi_greeting *b)
{
	return cmpi_fingerprint_alike(&a->fingerprint, &b->fingerprint);
}

bool cmpi_greeting_one_host(const struct cmpi_greeting *a, const struct cmpi_greeting *b)
{
	static const struct canary_addr none;

	return !memcmp(&a->addr, &b->addr, sizeof(none)) && memcmp(&a->addr, &none, sizeof(none));
}
