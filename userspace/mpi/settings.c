// SPDX-License-Identifier: BSD-2-Clause
/* Settings of Canary under MPI: the table, the environment, and what is compared among ranks. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmpi.h"
#include "userspace/common/parse.h"

#define NUMBER(field, value, decides, help) \
	{ #field, help, offsetof(struct cmpi_settings, field), value, NULL, decides }
#define TEXT(field, value, decides, help) \
	{ #field, help, offsetof(struct cmpi_settings, field), 0, value, decides }

const struct cmpi_setting cmpi_setting_table[] = {
	NUMBER(enable, 0, false, "1: sum up through Canary what it can"),
	NUMBER(table, 0, false,
	       "1: at the end, rank 0 prints which calls went through Canary; 2: all ranks do"),
	NUMBER(min_bytes, 0, true,
	       "vectors that are shorter go to the functions without Canary; 0: measured"),
	NUMBER(max_bytes, 1 << 30, true, "so do longer ones than this"),
	NUMBER(min_members, 3, true, "so do communicators with fewer processes"),
	NUMBER(one_host, 0, true, "1: also communicators whose processes are all on one host"),
	NUMBER(node_leaders, 1, true,
	       "1: of ranks on one host, one contributes for all; 0: each is a member"),
	NUMBER(barrier, 0, true, "1: also barriers"),
	NUMBER(reduce, 1, true, "1: also reduce, as an allreduce whose result only the root takes"),
	NUMBER(early, 0, true,
	       "1: form that of MPI_COMM_WORLD at once; 0: at the first call that is worth it"),
	NUMBER(trial, 10000, false, "ms that a communicator may take to show that it works"),
	NUMBER(dead_after, 3600000, false,
	       "ms of silence until a process is dead; the launcher notices one that ends"),
	NUMBER(spin, 20, false, "us to poll for a result before sleeping"),
	NUMBER(mtu, 1500, false, "largest IP packet, in bytes; that of the interface limits it"),
	TEXT(comm, "1-99", true,
	     "numbers of communicators that this user may use at switches, FIRST-LAST"),
	TEXT(engine, "auto", false, "what runs the protocol at this host: auto, kernel, user"),
	TEXT(key_file, "", false, "file with a key of all processes; without it, rank 0 draws one"),
	TEXT(interfaces, "", false,
	     "interfaces or prefixes, separated by commas; the first one with an address counts"),
	TEXT(floats, "", true,
	     "how floating-point numbers are added up: exact, elementwise, narrow, or several"),
	{ .name = NULL },
};

unsigned int *cmpi_setting_number(struct cmpi_settings *s, const struct cmpi_setting *row)
{
	return (unsigned int *)((char *)s + row->offset);
}

char **cmpi_setting_text(struct cmpi_settings *s, const struct cmpi_setting *row)
{
	return (char **)((char *)s + row->offset);
}

#define VARIABLE	64	/* room for a name */

/* The variable of a setting: CANARY_NAME */
static const char *variable(const char *name, char text[VARIABLE])
{
	size_t i;

	snprintf(text, VARIABLE, "CANARY_%s", name);
	for (i = 0; text[i]; i++)
		text[i] = toupper((unsigned char)text[i]);
	return text;
}

int cmpi_settings_init(struct cmpi_settings *s, char *why, size_t len)
{
	const struct cmpi_setting *row;
	char text[VARIABLE];
	int err = 0;

	memset(s, 0, sizeof(*s));
	for (row = cmpi_setting_table; row->name; row++) {
		char *value = getenv(variable(row->name, text));

		if (row->text) {
			*cmpi_setting_text(s, row) = value ? value : (char *)row->text;
			continue;
		}
		*cmpi_setting_number(s, row) = row->number;
		if (!value || parse_number(value, 0, UINT32_MAX, cmpi_setting_number(s, row)))
			continue;
		snprintf(why, len, "%s: '%s' is no number", text, value);
		err = -EINVAL;
	}
	return err;
}

int cmpi_settings_check(struct cmpi_settings *s, char *why, size_t len)
{
	const struct cmpi_setting *row;
	struct canary_params params;

	/* Open MPI has no empty text. */
	for (row = cmpi_setting_table; row->name; row++)
		if (row->text && !*cmpi_setting_text(s, row))
			*cmpi_setting_text(s, row) = "";
	canary_params_init(&params);
	if (!parse_range(s->comm, &s->comm_first, &s->comm_last)) {
		snprintf(why, len, "comm: '%s' is not of the form FIRST-LAST", s->comm);
		return -EINVAL;
	}
	if (canary_params_set(&params, "engine", s->engine) ||
	    (s->floats[0] && canary_how_parse(s->floats, &s->how))) {
		snprintf(why, len, "%s", canary_errmsg());
		return -EINVAL;
	}
	if (s->how & ~(uint32_t)CANARY_HOW_FLOATS) {
		snprintf(why, len, "floats: '%s' is not for floating-point numbers", s->floats);
		return -EINVAL;
	}
	if (s->mtu < 576 || s->mtu > 9000) {
		snprintf(why, len, "mtu: %u is out of range, 576 to 9000", s->mtu);
		return -EINVAL;
	}
	if (s->dead_after < 100 || s->dead_after > 3600000) {
		snprintf(why, len, "dead_after: %u ms is out of range, 100 to 3600000",
			 s->dead_after);
		return -EINVAL;
	}
	return 0;
}

#define FNV_BASIS	0xcbf29ce484222325ULL

/* FNV-1a */
static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
	const unsigned char *at = data;

	while (bytes--)
		h = (h ^ *at++) * 0x100000001b3ULL;
	return h;
}

uint64_t cmpi_hash(const void *data, size_t bytes)
{
	return hash(FNV_BASIS, data, bytes);
}

const char *cmpi_fingerprint(const struct cmpi_settings *s, char text[CMPI_FINGERPRINT])
{
	const char *version = getenv("CANARY_TEST_VERSION");
	struct cmpi_settings *values = (struct cmpi_settings *)s;
	const struct cmpi_setting *row;
	uint64_t h = FNV_BASIS;

	for (row = cmpi_setting_table; row->name; row++) {
		if (!row->decides)
			continue;
		if (row->text)
			h = hash(h, *cmpi_setting_text(values, row),
				 strlen(*cmpi_setting_text(values, row)) + 1);
		else
			h = hash(h, cmpi_setting_number(values, row), sizeof(unsigned int));
	}
	snprintf(text, CMPI_FINGERPRINT, "%.20s %016llx", version ? version : canary_version(),
		 (unsigned long long)h);
	return text;
}
