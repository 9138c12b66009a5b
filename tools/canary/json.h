/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON as the commands write it. */
#ifndef CANARY_JSON_H
#define CANARY_JSON_H

#include <canary.h>
#include <stdio.h>

/* A string with its quotes */
void json_string(FILE *f, const char *s);

/* A name as key: quotes, underscores for dashes, colon */
void json_key(FILE *f, const char *name);

/* Counters of a member: {"name":N, ..., "drops":{"reason":N, ...}} */
void json_stats(FILE *f, struct canary *c);

/* "error":"text","errno":"NAME","ranks":[...] of a call that failed; c may be NULL */
void json_error(FILE *f, struct canary *c, int error);

#endif /* CANARY_JSON_H */
