// SPDX-License-Identifier: BSD-2-Clause
/* Which calls go through canary. All ranks have to come to the same answer. */
#include "cmpi.h"

const char *cmpi_why_name(enum cmpi_why why)
{
	static const char *const name[] = {
#define X(id, name, text) name,
		CMPI_WHYS(X)
#undef X
	};

	return name[why];
}

const char *cmpi_why_text(enum cmpi_why why)
{
	static const char *const text[] = {
#define X(id, name, text) text,
		CMPI_WHYS(X)
#undef X
	};

	return text[why];
}

static size_t min_bytes(const struct cmpi_settings *s, const struct cmpi_comm *c)
{
	if (s->min_bytes)
		return s->min_bytes;
	return c->state == CMPI_NEW ? CMPI_LEAST_BYTES : c->min_bytes;
}

static enum cmpi_why decide_vector(const struct cmpi_settings *s, const struct cmpi_comm *c,
				   const struct cmpi_args *args)
{
	size_t size = canary_dtype_size(args->dtype), least = min_bytes(s, c);

	if (!size)
		return CMPI_TYPE;
	if (!args->op || !canary_supports(args->dtype, args->op))
		return CMPI_OPERATOR;
	/* There are longer vectors than CMPI_NEVER bytes. */
	if (!args->count || args->count < (least + size - 1) / size || least == CMPI_NEVER)
		return CMPI_SHORT;
	if (args->count > s->max_bytes / size || args->count > CANARY_BYTES_MAX / size)
		return CMPI_LONG;
	return CMPI_CANARY;
}

static enum cmpi_why decide_comm(const struct cmpi_settings *s, const struct cmpi_comm *c)
{
	if (c->members < 2 || c->members < s->min_members || c->members > CANARY_MEMBERS_MAX)
		return CMPI_MEMBERS;
	if (c->one_host && !s->one_host)
		return CMPI_ONE_HOST;
	if (!c->peers)
		return CMPI_PEERS;
	return c->state == CMPI_FAILED ? CMPI_REFUSED : CMPI_CANARY;
}

bool cmpi_usable(const struct cmpi_settings *s, const struct cmpi_comm *c)
{
	return decide_comm(s, c) == CMPI_CANARY;
}

enum cmpi_why cmpi_decide(const struct cmpi_settings *s, const struct cmpi_comm *c,
			  const struct cmpi_args *args)
{
	enum cmpi_why why = decide_comm(s, c);

	if (why != CMPI_CANARY)
		return why;
	if (args->call == CMPI_BARRIER)
		return s->barrier ? CMPI_CANARY : CMPI_OFF;
	if (args->call == CMPI_REDUCE && !s->reduce)
		return CMPI_OFF;
	return decide_vector(s, c, args);
}
