// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Names of counters, drop reasons, algorithms, operations and troubles, to show them to people */
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

const char *cnr_operator_name(u32 op)
{
	static const char * const name[] = {
		[CANARY_OP_SUM] = "sum",
		[CANARY_OP_PROD] = "prod",
		[CANARY_OP_MIN] = "min",
		[CANARY_OP_MAX] = "max",
		[CANARY_OP_AND] = "and",
		[CANARY_OP_OR] = "or",
		[CANARY_OP_XOR] = "xor",
		[CANARY_OP_LAND] = "land",
		[CANARY_OP_LOR] = "lor",
		[CANARY_OP_LXOR] = "lxor",
		[CANARY_OP_AVG] = "avg",
		[CANARY_OP_MINLOC] = "minloc",
		[CANARY_OP_MAXLOC] = "maxloc",
	};

	return op < ARRAY_SIZE(name) ? name[op] : NULL;
}

const char *cnr_dtype_name(u32 dtype)
{
	static const char * const name[] = {
		[CANARY_INT32] = "int32",
		[CANARY_UINT32] = "uint32",
		[CANARY_INT8] = "int8",
		[CANARY_UINT8] = "uint8",
		[CANARY_INT16] = "int16",
		[CANARY_UINT16] = "uint16",
		[CANARY_INT64] = "int64",
		[CANARY_UINT64] = "uint64",
		[CANARY_FLOAT16] = "float16",
		[CANARY_BFLOAT16] = "bfloat16",
		[CANARY_FLOAT32] = "float32",
		[CANARY_FLOAT64] = "float64",
		[CANARY_INT16_INDEX] = "int16_index",
		[CANARY_INT32_INDEX] = "int32_index",
		[CANARY_INT64_INDEX] = "int64_index",
		[CANARY_FLOAT32_INDEX] = "float32_index",
		[CANARY_FLOAT64_INDEX] = "float64_index",
		[CANARY_COMPLEX64] = "complex64",
		[CANARY_COMPLEX128] = "complex128",
	};

	return dtype < ARRAY_SIZE(name) ? name[dtype] : NULL;
}

const char *cnr_how_name(u32 bit)
{
	static const char * const name[] = { "exact", "elementwise", "narrow", "saturate" };

	return bit < ARRAY_SIZE(name) ? name[bit] : NULL;
}

const char *cnr_method_name(u32 method)
{
	static const char * const name[] = {
		[CANARY_METHOD_ELEMENTS] = "elements",
		[CANARY_METHOD_EXACT] = "exact",
		[CANARY_METHOD_EACH] = "each",
		[CANARY_METHOD_GROUPS] = "groups",
		[CANARY_METHOD_RANKS] = "ranks",
	};

	return method < ARRAY_SIZE(name) ? name[method] : NULL;
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
