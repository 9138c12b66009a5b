// SPDX-License-Identifier: BSD-2-Clause
/*
 * Types, operators and methods by their names (core/names.c). The core knows which operators there
 * are on which types, and how long their elements are (cnr_element()).
 */
#include <stdio.h>
#include <string.h>
#include "lib.h"

/* Names that nccl-tests has for some of them, and MPI for those with an index */
static const struct {
	const char *name;
	enum canary_dtype dtype;
} aliases[] = {
	{ "half", CANARY_FLOAT16 },
	{ "float", CANARY_FLOAT32 },
	{ "double", CANARY_FLOAT64 },
	{ "short_int", CANARY_INT16_INDEX },
	{ "2int", CANARY_INT32_INDEX },
	{ "long_int", CANARY_INT64_INDEX },
	{ "float_int", CANARY_FLOAT32_INDEX },
	{ "double_int", CANARY_FLOAT64_INDEX },
};

/* Write all names from that of @first on to @list. Numbers have no gaps. */
static void list_names(const char *(*name_of)(u32 number), u32 first, char *list, size_t size)
{
	size_t len = 0;
	u32 i;

	for (i = first; name_of(i) && len < size; i++)
		len += snprintf(list + len, size - len, "%s%s", i > first ? ", " : "", name_of(i));
}

/* Numbers begin with 1. Return: the number of @name; 0, after lib_error(), if there is none */
static u32 number_of(const char *(*name_of)(u32 number), const char *what, const char *name)
{
	char list[320] = "";
	u32 i;

	for (i = 1; name_of(i); i++)
		if (name && !strcmp(name, name_of(i)))
			return i;
	list_names(name_of, 1, list, sizeof(list));
	lib_error(-EINVAL, "%s: '%s' is none of %s", what, name ? name : "", list);
	return 0;
}

CANARY_EXPORT const char *canary_dtype_name(uint32_t dtype)
{
	return cnr_dtype_name(dtype);
}

CANARY_EXPORT int canary_dtype_parse(const char *name, enum canary_dtype *dtype)
{
	u32 i, number;

	for (i = 0; name && i < ARRAY_SIZE(aliases); i++) {
		if (!strcmp(name, aliases[i].name)) {
			*dtype = aliases[i].dtype;
			return 0;
		}
	}
	number = number_of(cnr_dtype_name, "type", name);
	if (!number)
		return -EINVAL;
	*dtype = number;
	return 0;
}

CANARY_EXPORT size_t canary_dtype_size(uint32_t dtype)
{
	size_t size = 0;
	u32 op;

	/* The core looks at 8 bits of a number. */
	for (op = 1; cnr_dtype_name(dtype) && cnr_operator_name(op) && !size; op++)
		size = cnr_element(op, dtype);
	return size;
}

CANARY_EXPORT const char *canary_operator_name(uint32_t op)
{
	return cnr_operator_name(op);
}

CANARY_EXPORT int canary_operator_parse(const char *name, enum canary_operator *op)
{
	u32 number = number_of(cnr_operator_name, "operator", name);

	if (!number)
		return -EINVAL;
	*op = number;
	return 0;
}

CANARY_EXPORT int canary_supports(uint32_t dtype, uint32_t op)
{
	return cnr_dtype_name(dtype) && cnr_operator_name(op) && cnr_element(op, dtype);
}

/* Return: the CANARY_HOW_* of this name; 0: there is none */
static u32 how_of(const char *name, size_t len)
{
	u32 i;

	for (i = 0; cnr_how_name(i); i++)
		if (strlen(cnr_how_name(i)) == len && !memcmp(cnr_how_name(i), name, len))
			return 1U << i;
	return 0;
}

CANARY_EXPORT int canary_how_parse(const char *names, uint32_t *how)
{
	const char *at = names ? names : "";
	char list[80] = "";
	u32 all = 0, one;
	size_t len;

	for (;; at += len + 1) {
		len = strcspn(at, ",");
		one = how_of(at, len);
		if (!one) {
			list_names(cnr_how_name, 0, list, sizeof(list));
			return lib_error(-EINVAL, "how: '%.*s' is none of %s", (int)len, at, list);
		}
		all |= one;
		if (!at[len])
			break;
	}
	*how = all;
	return 0;
}

CANARY_EXPORT const char *canary_how_name(uint32_t how)
{
	u32 i;

	for (i = 0; cnr_how_name(i); i++)
		if (how == 1U << i)
			return cnr_how_name(i);
	return NULL;
}

CANARY_EXPORT uint32_t canary_how_supported(uint32_t dtype, uint32_t op)
{
	return canary_supports(dtype, op) ? cnr_how(op, dtype) : 0;
}

CANARY_EXPORT const char *canary_method_name(uint32_t method)
{
	return cnr_method_name(method);
}
