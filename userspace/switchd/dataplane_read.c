// SPDX-License-Identifier: BSD-2-Clause
/* Reads the mapped data plane. Every part of the daemon may do that. */
#include "internal.h"

size_t dataplane_memory(const struct dataplane *dp)
{
	return dp->descriptors_bytes + dp->queue_bytes + dp->fan_ins_bytes;
}

struct holding dataplane_holding(const struct dataplane *dp, uint64_t since)
{
	const struct csw_descriptor *d;
	struct holding h = { 0 };
	uint32_t i;

	for (i = 0; i < dp->slots; i++) {
		d = dataplane_slot(dp, i);
		h.collecting += d->state == CSW_COLLECTING;
		h.sent += d->state == CSW_SENT &&
			  __atomic_load_n(&d->born, __ATOMIC_RELAXED) >= since;
	}
	return h;
}

uint64_t dataplane_timeout(const struct dataplane *dp)
{
	uint64_t timeout = __atomic_load_n(&dp->queue_ctl->timeout, __ATOMIC_RELAXED);

	return timeout ? timeout : dp->config->timeout_ns;
}
