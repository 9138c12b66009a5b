// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fan-ins that the switch was told, in the data plane. Only differences are written: what is told
 * before and afterwards holds all the time. What the map refuses when it is to be as before is
 * tried again by the next tick.
 */
#include <errno.h>
#include <string.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>

#include "internal.h"

static struct told *find(struct fan_ins *in, const struct csw_route_key *key)
{
	unsigned int i;

	for (i = 0; i < in->n; i++)
		if (!memcmp(&in->told[i].key, key, sizeof(*key)))
			return &in->told[i];
	return NULL;
}

/* As the map is to have it: a prefix once, the last one that was named counts */
static void collect(struct fan_ins *to, const struct switchd_options *o)
{
	struct told *told, next;
	unsigned int i;

	to->n = 0;
	for (i = 0; i < o->tolds; i++) {
		next.key.prefixlen = o->told[i].prefixlen;
		next.key.addr = o->told[i].leader.s_addr &
				htonl((uint32_t)~(0xffffffffULL >> next.key.prefixlen));
		next.expect = o->told[i].expect;
		told = find(to, &next.key);
		if (!told)
			told = &to->told[to->n++];
		*told = next;
	}
}

static int put(struct switchd *sw, struct fan_ins *has, const struct told *next)
{
	struct told *old = find(has, &next->key);
	int ret;

	if (old && old->expect == next->expect)
		return 0;
	ret = bpf_map_update_elem(sw->dp.told_fd, &next->key, &next->expect, BPF_ANY);
	if (ret) {
		sw->map_errors++;
		return ret;
	}
	if (!old)
		old = &has->told[has->n++];
	*old = *next;
	return 0;
}

static int delete(struct switchd *sw, struct fan_ins *has, struct told *old)
{
	int ret = bpf_map_delete_elem(sw->dp.told_fd, &old->key);

	if (ret && ret != -ENOENT) {
		sw->map_errors++;
		return ret;
	}
	*old = has->told[--has->n];
	return 0;
}

int fan_in_set(struct switchd *sw, const struct switchd_options *o)
{
	struct fan_ins to, *has = &sw->fan_ins;
	struct csw_config *c = sw->dp.config;
	int ret = 0, err;
	unsigned int i;

	collect(&to, o);
	/* packets only look into the map if there is something: say that first */
	c->told = has->n + to.n;
	for (i = has->n; i-- > 0;) {
		if (find(&to, &has->told[i].key))
			continue;
		err = delete(sw, has, &has->told[i]);
		ret = ret ? ret : err;
	}
	for (i = 0; i < to.n; i++) {
		err = put(sw, has, &to.told[i]);
		ret = ret ? ret : err;
	}
	c->told = has->n;
	if (!ret)
		c->fan_in = o->fan_in;
	has->dirty = ret;
	return ret;
}

void fan_in_tick(struct switchd *sw)
{
	if (sw->fan_ins.dirty && fan_in_set(sw, &sw->now))
		sw_error(sw, "map of fan-ins: will try again");
}
