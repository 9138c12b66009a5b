// SPDX-License-Identifier: BSD-2-Clause
/* What processes tell each other before anything else: version, settings, address */
#include <string.h>

#include "cmpi.h"
#include "userspace/common/own_address.h"

void cmpi_greeting_fill(struct cmpi_greeting *g, const struct cmpi_settings *s)
{
	unsigned int mtu;

	memset(g, 0, sizeof(*g));
	cmpi_fingerprint(s, g->fingerprint);
	own_address(s->interfaces, true, &g->addr, &mtu);
}

bool cmpi_greeting_alike(const struct cmpi_greeting *a, const struct cmpi_greeting *b)
{
	return !memcmp(a->fingerprint, b->fingerprint, sizeof(a->fingerprint));
}

bool cmpi_greeting_one_host(const struct cmpi_greeting *a, const struct cmpi_greeting *b)
{
	static const struct canary_addr none;

	return !memcmp(&a->addr, &b->addr, sizeof(none)) && memcmp(&a->addr, &none, sizeof(none));
}
