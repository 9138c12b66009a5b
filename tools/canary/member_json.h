/* SPDX-License-Identifier: BSD-2-Clause */
/* What all commands tell as JSON about a member: names, counters, why a call failed. */
#ifndef CANARY_MEMBER_JSON_H
#define CANARY_MEMBER_JSON_H

#include <canary.h>

#include "userspace/common/json.h"

/* A name as key, with underscores for dashes, valid until the next call */
const char *json_key(const char *name);

/* Counters of a member: "stats":{"name":N, ..., "drops":{"reason":N, ...}} */
void json_stats(struct json *j, struct canary *c);

/* "error":"text","errno":"NAME","ranks":[...] of a call that failed; c may be NULL */
void json_error(struct json *j, struct canary *c, int error);

#endif /* CANARY_MEMBER_JSON_H */
