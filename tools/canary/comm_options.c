// SPDX-License-Identifier: BSD-2-Clause
/* Options that all commands have that join a communicator. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm_options.h"
#include "userspace/common/parse.h"

#define TIMEOUT_DEFAULT_MS	30000
#define TIMEOUT_MAX_MS		3600000UL
#define VECTOR_MAX_BYTES	(256U << 20)	/* what CANARY_MAX_VECTOR takes */

void comm_options_init(struct comm_options *o)
{
	memset(o, 0, sizeof(*o));
	canary_params_init(&o->params);
	o->timeout_ms = TIMEOUT_DEFAULT_MS;
}

static int bad(const char *text)
{
	fprintf(stderr, "canary: %s\n", text);
	return -1;
}

static int take_timeout(struct comm_options *o, const char *value)
{
	uint64_t ms;

	if (parse_quantity(value, PARSE_MS, 0, TIMEOUT_MAX_MS, &ms))
		return bad("timeout: has to be 0ms to 3600s, with ms or s");
	o->timeout_ms = ms;
	return 0;
}

/* What the parameter may be is more than what the kernel takes. */
static bool is_wrong_length(const struct comm_options *o, const char *name, int err)
{
	return !strcmp(name, "max-vector") &&
	       (err == -ERANGE || (!err && (o->params.max_vector > VECTOR_MAX_BYTES ||
					    o->params.max_vector % 4)));
}

int comm_option(struct comm_options *o, int opt, const char *name, const char *value)
{
	int err;

	switch (opt) {
	case COMM_OPT_MEMBERS_FILE:
		o->members_file = value;
		return 0;
	case COMM_OPT_TIMEOUT:
		return take_timeout(o, value);
	}
	err = canary_params_set(&o->params, name, value);
	if (is_wrong_length(o, name, err)) {
		fprintf(stderr, "canary: max-vector: %s is not a multiple of 4 from 4 to %u (256M)\n",
			value, VECTOR_MAX_BYTES);
		return -1;
	}
	if (err)
		return bad(canary_errmsg());
	o->have_comm |= !strcmp(name, "comm");
	o->have_rank |= !strcmp(name, "rank");
	o->have_members |= !strcmp(name, "members");
	return 0;
}

int comm_options_end(struct comm_options *o)
{
	if (!o->have_comm || !o->have_rank)
		return bad(o->have_rank ? "--comm is needed: the number of the communicator" :
			   o->have_comm ? "--rank is needed: the own one" :
			   "--comm and --rank are needed");
	if (o->members_file) {
		if (canary_params_members(&o->params, o->members_file))
			return bad(canary_errmsg());
		return 0;
	}
	if (!o->have_members)
		return bad("--members and --root, or --members-file, are needed");
	if (!o->params.root.sin_addr.s_addr && o->params.members > 1)
		return bad("--root is needed: the address of rank 0");
	if (o->params.rank >= o->params.members) {
		fprintf(stderr, "canary: rank: %u is out of range, 0 to %u\n", o->params.rank,
			o->params.members - 1);
		return -1;
	}
	return 0;
}

struct canary *comm_join(const struct comm_options *o, struct canary **failed, int *err)
{
	struct canary *c;

	*failed = NULL;
	*err = canary_open(&o->params, &c);
	if (*err)
		return NULL;
	*err = canary_connect(c, o->timeout_ms);
	if (!*err)
		return c;
	*failed = c;
	return NULL;
}
