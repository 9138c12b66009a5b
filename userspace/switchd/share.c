// SPDX-License-Identifier: BSD-2-Clause
/*
 * Shares: whose contributions hold the slots in use, by entry of the admission map. They are
 * counted only when somebody asks. The data plane compares what is in one bucket, and counts
 * nothing.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "internal.h"

static int by_id(const void *pa, const void *pb)
{
	const struct share *a = pa, *b = pb;

	return a->entry->value.id < b->entry->value.id ? -1 :
	       a->entry->value.id > b->entry->value.id;
}

static int by_slots(const void *pa, const void *pb)
{
	const struct share *a = pa, *b = pb;

	return a->slots > b->slots ? -1 : a->slots < b->slots;
}

static struct share *find(struct share *shares, size_t n, uint32_t id)
{
	const struct admitted entry = { .value.id = id };
	const struct share key = { .entry = &entry };

	return bsearch(&key, shares, n, sizeof(key), by_id);
}

size_t shares_read(struct switchd *sw, struct share **shares)
{
	const struct csw_descriptor *d;
	size_t i, n = sw->admissions.n;
	uint64_t now = sw_now();
	struct share *share;

	*shares = calloc(n + 1, sizeof(**shares));
	if (!*shares || !n)
		return 0;
	for (i = 0; i < n; i++)
		(*shares)[i].entry = &sw->admissions.entry[i];
	qsort(*shares, n, sizeof(**shares), by_id);
	for (i = 0; i < sw->dp.slots; i++) {
		d = dataplane_slot(&sw->dp, i);
		if (!d->holder || !dataplane_in_use(&sw->dp, d, now))
			continue;
		share = find(*shares, n, d->holder);
		if (share)
			share->slots++;
	}
	qsort(*shares, n, sizeof(**shares), by_slots);
	while (n && !(*shares)[n - 1].slots)
		n--;
	return n;
}

/* Write PREFIX/LEN%PORT. */
void share_text(struct switchd *sw, const struct share *share, char *text, size_t len)
{
	const struct csw_admission_key *key = &share->entry->key;
	const struct port *port = port_by_ifindex(sw, ntohl(key->ifindex));
	char prefix[ADDRESS_TEXT];

	address_prefix_text(&key->addr, key->prefixlen - 32, prefix);
	snprintf(text, len, "%s%%%s", prefix, port ? port->option->name : "?");
}
