// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Names of counters, drop reasons, algorithms and troubles, to show them to people */
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

const char *cnr_algorithm_name(u32 algorithm)
{
	static const char * const name[] = {
		[CANARY_ALG_AUTO] = "auto",
		[CANARY_ALG_TREE] = "tree",
		[CANARY_ALG_RING] = "ring",
		[CANARY_ALG_STATIC] = "static",
	};

	return algorithm < ARRAY_SIZE(name) ? name[algorithm] : "unknown";
}

const char *cnr_why_name(u32 why)
{
	static const char * const name[] = {
		[CANARY_WHY_NONE] = "-",
		[CANARY_WHY_FIXED] = "rank-0-was-told",
		[CANARY_WHY_MEMBERS] = "two-members",
		[CANARY_WHY_SMALL] = "short-vector",
		[CANARY_WHY_UNKNOWN] = "nothing-observed",
		[CANARY_WHY_MERGED] = "switches-add-up",
		[CANARY_WHY_PLAIN] = "no-switch-adds-up",
		[CANARY_WHY_LOSSES] = "blocks-begun-anew",
		[CANARY_WHY_LOOK] = "looking-again",
		[CANARY_WHY_SHAPE] = "no-allreduce",
	};

	return why < ARRAY_SIZE(name) ? name[why] : "unknown";
}

const char *cnr_trouble_name(u32 kind)
{
	static const char * const name[] = {
		[CNR_TROUBLE_NONE] = "-",
		[CNR_TROUBLE_KEY] = "key",
		[CNR_TROUBLE_COMM] = "communicator",
		[CNR_TROUBLE_MEMBERS] = "members",
		[CNR_TROUBLE_RANK] = "rank",
		[CNR_TROUBLE_EPOCH] = "epoch",
		[CNR_TROUBLE_OFFER] = "offer",
		[CNR_TROUBLE_FORGED] = "forged",
		[CNR_TROUBLE_VERSION] = "version",
		[CNR_TROUBLE_UNKNOWN] = "unknown",
		[CNR_TROUBLE_TABLE] = "table",
	};

	return kind < ARRAY_SIZE(name) ? name[kind] : "unknown";
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
