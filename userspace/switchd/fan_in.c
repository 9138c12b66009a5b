// SPDX-License-Identifier: BSD-2-Clause
/*
 * Configured fan-ins in the data plane. Only differences are written, so what does not change
 * applies all the time. If old values cannot be restored after an error, the next tick tries again.
 */
#include <errno.h>
#include <string.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>

#include "internal.h"

static struct configured_fan_in *find(struct configured_fan_ins *in, const struct csw_route_key *key)
{
	unsigned int i;

	for (i = 0; i < in->n; i++)
		if (!memcmp(&in->entry[i].key, key, sizeof(*key)))
			return &in->entry[i];
	return NULL;
}

/* Collect the entries for the map. If a prefix occurs twice, the last one counts. */
static void collect(struct configured_fan_ins *to, const struct switchd_options *o)
{
	struct configured_fan_in *entry, next;
	unsigned int i;

	to->n = 0;
	for (i = 0; i < o->fan_in_count; i++) {
		next.key.prefixlen = o->fan_ins[i].prefixlen;
		next.key.addr = o->fan_ins[i].leader;
		canary_addr_cut(&next.key.addr, next.key.prefixlen);
		next.expect = o->fan_ins[i].expect;
		entry = find(to, &next.key);
		if (!entry)
			entry = &to->entry[to->n++];
		*entry = next;
	}
}

static int put(struct switchd *sw, struct configured_fan_ins *has, const struct configured_fan_in *next)
{
	struct configured_fan_in *old = find(has, &next->key);
	int ret;

	if (old && old->expect == next->expect)
		return 0;
	ret = bpf_map_update_elem(sw->dp.fan_in_config_fd, &next->key, &next->expect, BPF_ANY);
	if (ret) {
		sw->map_errors++;
		return ret;
	}
	if (!old)
		old = &has->entry[has->n++];
	*old = *next;
	return 0;
}

static int delete(struct switchd *sw, struct configured_fan_ins *has, struct configured_fan_in *old)
{
	int ret = bpf_map_delete_elem(sw->dp.fan_in_config_fd, &old->key);

	if (ret && ret != -ENOENT) {
		sw->map_errors++;
		return ret;
	}
	*old = has->entry[--has->n];
	return 0;
}

int fan_in_set(struct switchd *sw, const struct switchd_options *o)
{
	struct configured_fan_ins to, *has = &sw->configured;
	struct csw_config *c = sw->dp.config;
	int ret = 0, err;
	unsigned int i;

	collect(&to, o);
	/* Packets look into the map only if it has entries, so set this before the first one. */
	c->fan_ins_configured = has->n + to.n;
	for (i = has->n; i-- > 0;) {
		if (find(&to, &has->entry[i].key))
			continue;
		err = delete(sw, has, &has->entry[i]);
		ret = ret ? ret : err;
	}
	for (i = 0; i < to.n; i++) {
		err = put(sw, has, &to.entry[i]);
		ret = ret ? ret : err;
	}
	c->fan_ins_configured = has->n;
	if (!ret)
		c->fan_in = o->fan_in;
	has->dirty = ret;
	return ret;
}

void fan_in_tick(struct switchd *sw)
{
	if (sw->configured.dirty && fan_in_set(sw, &sw->now))
		sw_error(sw, "map of fan-ins: will try again");
}
