/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The members on this machine: those that the kernel has in this network namespace, and those of
 * user engines. A user engine tells about its member on a socket in the file system.
 */
#ifndef CANARY_ENGINES_H
#define CANARY_ENGINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "userspace/common/json.h"

enum field_kind {
	FIELD_NUMBER,
	FIELD_STRING,
	FIELD_COUNTER,
	FIELD_DROP,
};

struct field {
	enum field_kind	kind;
	char		name[32];
	char		value[96];
};

/* Fields of a member, or the counters of the kernel */
struct report {
	struct field	*fields;
	size_t		n;
};

struct reports {
	struct report	*list;
	size_t		n;
};

/* engines_kernel() - add the members of the kernel; none if the module is not loaded */
int engines_kernel(struct reports *all);

/* engines_user() - add the members of user engines */
int engines_user(struct reports *all);

/* engines_kernel_stats() - read the kernel's counters. Return: false if there are none */
bool engines_kernel_stats(struct report *r);

/* report_value() - value of a field that is no counter, or NULL */
const char *report_value(const struct report *r, const char *name);

/* Write fields of a report as JSON: numbers and strings, or counters. */
void report_json(struct json *j, const struct report *r);
void report_json_counters(struct json *j, const struct report *r);

void report_free(struct report *r);
void reports_free(struct reports *all);

#endif /* CANARY_ENGINES_H */
