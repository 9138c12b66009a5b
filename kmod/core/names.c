// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Names of counters and drop reasons, for whoever shows them to people. */
#include "core.h"

const char *cnr_drop_name(enum canary_drop drop)
{
	static const char * const name[] = {
#define X(id, text, help) [CANARY_DROP_##id] = text,
		CANARY_DROP_REASONS(X)
#undef X
	};

	return (u32)drop < ARRAY_SIZE(name) ? name[drop] : "unknown";
}

const char *cnr_counter_name(enum cnr_counter counter)
{
	static const char * const name[] = {
#define X(id, text, help) [CNR_C_##id] = text,
		CNR_COUNTERS(X)
#undef X
	};

	return (u32)counter < ARRAY_SIZE(name) ? name[counter] : "unknown";
}
