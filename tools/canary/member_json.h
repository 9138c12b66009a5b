/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON about a member that all commands write: names, counters, why a call failed. */
#ifndef CANARY_MEMBER_JSON_H
#define CANARY_MEMBER_JSON_H

#include <canary.h>

#include "userspace/common/json.h"

/* @name as a JSON key, with underscores for dashes. It is valid until the next call. */
const char *json_key(const char *name);

/* Write the counters of a member: "stats":{"name":N, ..., "drops":{"reason":N, ...}} */
void json_stats(struct json *j, struct canary *c);

/* Write why a call failed: "error":"text","errno":"NAME","ranks":[...]. @c may be NULL. */
void json_error(struct json *j, struct canary *c, int error);

#endif /* CANARY_MEMBER_JSON_H */
