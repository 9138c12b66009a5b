// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sentences for people: the last error of each thread, lists of ranks, addresses. Also the clock
 * that everything that waits uses.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "lib.h"
#include "userspace/common/address.h"

#define ERRMSG_RANKS	64	/* how many ranks a message lists at most */

static __thread char errmsg[512];

CANARY_EXPORT const char *canary_errmsg(void)
{
	return errmsg;
}

CANARY_EXPORT const char *canary_version(void)
{
	return CANARY_VERSION_STRING;
}

int lib_error(int error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(errmsg, sizeof(errmsg), format, ap);
	va_end(ap);
	return error;
}

const char *lib_address(const struct canary_addr *addr, __be16 port)
{
	static __thread char text[4][ADDRESS_TEXT];
	static __thread unsigned int next;

	return address_port_text(addr, port, text[next++ % ARRAY_SIZE(text)]);
}

const char *lib_peer(const struct canary_peer *peer)
{
	return lib_address(&peer->addr, peer->port);
}

void lib_rank_list(char *text, size_t len, const u16 *ranks, u32 known, u32 n)
{
	size_t at = 0;
	u32 i, last;

	text[0] = 0;
	for (i = 0; i < known && at < len; i = last + 1) {
		for (last = i; last + 1 < known && ranks[last + 1] == ranks[last] + 1; last++)
			;
		at += snprintf(text + at, len - at, i ? ", %u" : "%u", ranks[i]);
		if (last > i && at < len)
			at += snprintf(text + at, len - at, "-%u", ranks[last]);
	}
	if (n > known && at < len)
		snprintf(text + at, len - at, known ? " and %u more" : "%u of them", n - known);
}

/* A trouble that rank 0 reported to this member */
static void trouble_ours(char *text, size_t len, const struct cnr_trouble *t, u16 rank)
{
	switch (t->kind) {
	case CNR_TROUBLE_KEY:
		snprintf(text, len, "rank 0 has another key");
		break;
	case CNR_TROUBLE_COMM:
		snprintf(text, len, "who answers there is rank 0 of communicator %u", t->value);
		break;
	case CNR_TROUBLE_MEMBERS:
		snprintf(text, len, "rank 0 counts %u members", t->value);
		break;
	case CNR_TROUBLE_RANK:
		snprintf(text, len, "another process is in as rank %u", rank);
		break;
	case CNR_TROUBLE_EPOCH:
		snprintf(text, len, "rank 0 was restarted meanwhile");
		break;
	case CNR_TROUBLE_VERSION:
		snprintf(text, len, "who answers there speaks version %u of the protocol, we %d",
			 t->value, CANARY_VERSION);
		break;
	case CNR_TROUBLE_UNKNOWN:
		snprintf(text, len, "rank 0 uses what is not known here (%#x)", t->value);
		break;
	default:
		snprintf(text, len, "what we offer is out of range");
	}
}

static void trouble_theirs(char *text, size_t len, const struct cnr_trouble *t)
{
	const char *who = lib_address(&t->addr, t->port);

	switch (t->kind) {
	case CNR_TROUBLE_KEY:
		snprintf(text, len, "%s wants to join as rank %u with another key", who, t->rank);
		break;
	case CNR_TROUBLE_COMM:
		snprintf(text, len, "%s wants to join communicator %u", who, t->value);
		break;
	case CNR_TROUBLE_MEMBERS:
		snprintf(text, len, "%s (rank %u) counts %u members", who, t->rank, t->value);
		break;
	case CNR_TROUBLE_RANK:
		snprintf(text, len, "%s claims rank %u as well", who, t->rank);
		break;
	case CNR_TROUBLE_EPOCH:
		snprintf(text, len, "%s (rank %u) belongs to an earlier run", who, t->rank);
		break;
	case CNR_TROUBLE_OFFER:
		snprintf(text, len, "%s (rank %u) offers what is out of range", who, t->rank);
		break;
	case CNR_TROUBLE_VERSION:
		snprintf(text, len, "%s speaks version %u of the protocol, we %d", who, t->value,
			 CANARY_VERSION);
		break;
	case CNR_TROUBLE_TABLE:
		snprintf(text, len, "%s (rank %u) has another table, key or parameters", who,
			 t->rank);
		break;
	case CNR_TROUBLE_UNKNOWN:
		snprintf(text, len, "%s (rank %u) uses what is not known here (%#x)", who, t->rank,
			 t->value);
		break;
	default:
		snprintf(text, len, "%u packets from %s fail authentication", t->count, who);
	}
}

/* Write "; " and a list of the troubles that are known, or nothing. */
static void trouble_list(struct canary *c, char *text, size_t len)
{
	struct cnr_trouble list[3];
	u32 i, n = c->ops->troubles(c->engine, list, ARRAY_SIZE(list));
	char one[96];
	size_t at = 0;

	text[0] = 0;
	for (i = 0; i < n && at < len; i++) {
		if (c->params.rank && list[i].port == c->params.root.port &&
		    canary_addr_equal(&list[i].addr, &c->params.root.addr) &&
		    list[i].kind != CNR_TROUBLE_FORGED)
			trouble_ours(one, sizeof(one), &list[i], c->params.rank);
		else
			trouble_theirs(one, sizeof(one), &list[i]);
		at += snprintf(text + at, len - at, "; %s", one);
	}
}

static int compare_ranks(const void *a, const void *b)
{
	return *(const u16 *)a - *(const u16 *)b;
}

int lib_comm_error(struct canary *c, int error)
{
	u16 ranks[ERRMSG_RANKS];
	char list[160], who[180], troubles[300];
	bool one, at_root;
	u32 n, why = 0;

	n = c->ops->missing(c->engine, ranks, ARRAY_SIZE(ranks));
	c->ops->failure(c->engine, &why);
	qsort(ranks, min_t(u32, n, ARRAY_SIZE(ranks)), sizeof(*ranks), compare_ranks);
	lib_rank_list(list, sizeof(list), ranks, min_t(u32, n, ARRAY_SIZE(ranks)), n);
	one = n <= 1;
	snprintf(who, sizeof(who), n ? "rank%s %s" : "%sa rank%s", one ? "" : "s",
		 n ? list : "");
	trouble_list(c, troubles, sizeof(troubles));
	switch (why) {
	case CANARY_ABORT_DEAD:
		return lib_error(error, "%s answer%s nothing and count%s as dead%s", who,
				 one ? "s" : "", one ? "s" : "", troubles);
	case CANARY_ABORT_LEFT:
		return lib_error(error, "%s left the communicator", who);
	case CANARY_ABORT_RESTARTED:
		return lib_error(error, "%s w%s started again, with the same table and epoch: form the communicator anew, with a new epoch",
				 who, one ? "as" : "ere");
	case CANARY_ABORT_MISMATCH:
		return lib_error(error, "%s %s operation: operator, type, length, and how it adds up have to be the same at all ranks",
				 who, one ? "runs another" : "do not run the same");
	case CANARY_ABORT_PATH:
		return lib_error(error, "%s: only small packets arrive from there or back: has the MTU of a path shrunk, or does the veth peer of a switch's port lack GRO (there: ethtool -K DEV gro on)?",
				 who);
	case CANARY_ABORT_REFUSED:
		return lib_error(error, "rank 0 refuses: %s", troubles[0] ? troubles + 2 :
				 "rank is in already, or other parameters");
	}
	at_root = n == 1 && !ranks[0] && c->params.rank;
	if (error == -ETIMEDOUT && n)
		return lib_error(error, "rendezvous is not complete: %s of %u %s missing%s%s%s",
				 who, c->params.members, one ? "is" : "are",
				 at_root ? " at " : "",
				 at_root ? lib_peer(&c->params.root) : "", troubles);
	if (error == -ETIMEDOUT)
		return lib_error(error, "timed out");
	if (error == -EUSERS)
		return lib_error(error, "communicator %u: %u members would be more than net.canary.members_max permits the sockets of this network namespace",
				 c->params.comm, c->params.members);
	if (error == -EADDRINUSE)
		return lib_error(error, "communicator %u: another member at this port is joining it, or is in that session",
				 c->params.comm);
	return lib_error(error, "communicator %u: %s", c->params.comm, strerror(-error));
}

u64 lib_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * CNR_SEC + ts.tv_nsec;
}

u64 lib_until(int timeout_ms)
{
	return timeout_ms < 0 ? CNR_NEVER : lib_now() + timeout_ms * CNR_MSEC;
}

int lib_poll_timeout(u64 until)
{
	u64 now;

	if (until == CNR_NEVER)
		return -1;
	now = lib_now();
	if (now >= until)
		return 0;
	return (int)min_t(u64, (until - now + CNR_MSEC - 1) / CNR_MSEC, INT_MAX);
}

struct timespec lib_timespec(u64 ns)
{
	/* A time that is years ahead is as good as never, and fits every time_t. */
	ns = min_t(u64, ns, (u64)INT_MAX * CNR_SEC);
	return (struct timespec){ .tv_sec = ns / CNR_SEC, .tv_nsec = ns % CNR_SEC };
}
