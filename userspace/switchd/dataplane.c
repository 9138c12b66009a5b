// SPDX-License-Identifier: BSD-2-Clause
/*
 * The data plane. It loads programs and maps, with sizes from the options, fills in the
 * configuration, and maps the memory that the clock and the reports look at. No other file knows
 * the skeleton.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "internal.h"
#include "setting.h"
#include "canary_switch.skel.h"

static bool verbose;

/* Print libbpf's messages only if asked for. Important errors have messages of ours. */
static int print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return verbose ? vfprintf(stderr, fmt, ap) : 0;
}

static void *map_whole(int fd, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/*
 * Read a whole map once, where programs see it. Under some hypervisors the first access to a page
 * takes 16 us. A program that waits for it holds a lock, and others give up. A mapping of ours is
 * another place and does not help.
 */
static void warm(const struct bpf_map *map)
{
	uint32_t i, n = bpf_map__max_entries(map);
	void *copy = malloc(bpf_map__value_size(map));

	for (i = 0; copy && i < n; i++)
		bpf_map_lookup_elem(bpf_map__fd(map), &i, copy);
	free(copy);
}

static void warm_all(const struct dataplane *dp)
{
	warm(dp->skel->maps.descriptors);
	warm(dp->skel->maps.queue);
	warm(dp->skel->maps.restorations);
	warm(dp->skel->maps.fan_ins);
}

static int map_state(struct dataplane *dp)
{
	size_t page = sysconf(_SC_PAGESIZE);

	dp->descriptor_size = (sizeof(struct csw_descriptor) + 7) & ~7UL;
	dp->descriptors_bytes = (dp->slots * dp->descriptor_size + page - 1) & ~(page - 1);
	dp->queue_bytes = (dp->queues * dp->queue_len * sizeof(*dp->queue) + page - 1) & ~(page - 1);
	dp->descriptors = map_whole(bpf_map__fd(dp->skel->maps.descriptors), dp->descriptors_bytes);
	dp->queue = map_whole(bpf_map__fd(dp->skel->maps.queue), dp->queue_bytes);
	dp->fan_ins_bytes = (CSW_FAN_INS * sizeof(*dp->fan_ins) + page - 1) & ~(page - 1);
	dp->fan_ins = map_whole(bpf_map__fd(dp->skel->maps.fan_ins), dp->fan_ins_bytes);
	return dp->descriptors && dp->queue && dp->fan_ins ? 0 : -errno;
}

static int set_sizes(struct dataplane *dp, const struct backlog *backlog)
{
	int ret;

	ret = bpf_map__set_max_entries(dp->skel->maps.descriptors, dp->slots);
	if (!ret)
		ret = bpf_map__set_max_entries(dp->skel->maps.queue,
						dp->queues * dp->queue_len);
	if (!ret && backlog->netns)
		ret = bpf_map__reuse_fd(dp->skel->maps.canary_backlog, backlog->map_fd);
	else if (!ret)
		ret = bpf_map__set_max_entries(dp->skel->maps.canary_backlog, 1);
	return ret;
}

static void take_fds(struct dataplane *dp)
{
	const struct canary_switch *s = dp->skel;

	dp->xdp_fd = bpf_program__fd(s->progs.canary_xdp);
	dp->xdp_long_fd = -1;
	dp->tc_fd = bpf_program__fd(s->progs.canary_tc);
	dp->flush_fd = bpf_program__fd(s->progs.canary_flush);
	dp->copy_fd = bpf_program__fd(s->progs.canary_copy);
	dp->ports_fd = bpf_map__fd(s->maps.ports);
	dp->devmap_fd = bpf_map__fd(s->maps.devmap);
	dp->routes_fd = bpf_map__fd(s->maps.routes);
	dp->neighbours_fd = bpf_map__fd(s->maps.neighbours);
	dp->counters_fd = bpf_map__fd(s->maps.counters);
	dp->admissions_fd = bpf_map__fd(s->maps.admissions);
	dp->fan_in_config_fd = bpf_map__fd(s->maps.fan_in_config);
	dp->vlans_fd = bpf_map__fd(s->maps.vlans);
	dp->groups_fd = bpf_map__fd(s->maps.groups);
	dp->wanted_fd = bpf_map__fd(s->maps.wanted);
	dp->wake_fd = bpf_map__fd(s->maps.wake);
	dp->routes_max = bpf_map__max_entries(s->maps.routes);
	dp->neighbours_max = bpf_map__max_entries(s->maps.neighbours);
	dp->ports_max = bpf_map__max_entries(s->maps.ports);
}

static int draw(void *secret, size_t len)
{
	return getrandom(secret, len, 0) == (ssize_t)len ? 0 : -EIO;
}

/*
 * Draw the number by which canary_tc recognises metadata of canary_xdp. 0 is not used, as canary_tc
 * overwrites metadata with it.
 */
static int draw_meta(struct canary_switch *s)
{
	uint64_t secret = 0;
	int ret;

	ret = draw(&secret, sizeof(secret));
	*(uint64_t *)&s->rodata->meta_secret = secret | 1;
	return ret;
}

/*
 * Report that blocks have more sources than room for children: the first time, and each time the
 * number has doubled.
 */
static void tell_crowded(struct switchd *sw)
{
	uint64_t n = counters_read_one(sw, CSW_BYPASS_CHILDREN);

	if (!n || n < 2 * sw->dp.crowded)
		return;
	sw->dp.crowded = n;
	sw_warn(sw, "%llu contributions were not merged: their block had %u children already (--children, at most %d)",
		(unsigned long long)n, sw->opt->children, CSW_CHILDREN_MAX);
}

/* Write the unused secret first, and then switch to it. So programs never see half of a secret. */
static void change_secret(struct switchd *sw)
{
	struct csw_config *c = sw->dp.config;
	uint32_t next = !c->secret_now;

	if (draw(c->secret[next], sizeof(c->secret[next])))
		sw_warn(sw, "no random numbers: cookies stay good");
	else
		__atomic_store_n(&c->secret_now, next, __ATOMIC_RELEASE);
}

void dataplane_tick(struct switchd *sw)
{
	change_secret(sw);
	tell_crowded(sw);
}

/* Set new bounds. The adapted timeout is kept as far as they allow it. */
static void set_timeout(struct csw_config *c, __u64 *timeout, const struct switchd_options *o)
{
	uint64_t now = __atomic_load_n(timeout, __ATOMIC_RELAXED), next = now;

	if (!c->timeout_max || !o->timeout_max)
		next = 0;	/* it is or was constant: begin with the configured one */
	else if (now && now < o->timeout_min)
		next = o->timeout_min;
	else if (now > o->timeout_max)
		next = o->timeout_max;
	c->timeout_ns = o->timeout_ns;
	c->timeout_min = o->timeout_min;
	c->timeout_max = o->timeout_max;
	if (next != now)
		__atomic_store_n(timeout, next, __ATOMIC_RELAXED);
}

void dataplane_set(struct switchd *sw)
{
	const struct switchd_options *o = &sw->now;
	struct csw_config *c = sw->dp.config;

	c->first_tree = o->first_tree;
	set_timeout(c, &sw->dp.queue_ctl->timeout, o);
	settings_configure(o, c);
}

static void configure(struct switchd *sw)
{
	struct csw_config *c = sw->dp.config;

	c->addr = sw->address;
	c->id = canary_addr_ip4(&c->addr);	/* unique where addresses are unique */
	c->port = htons(CANARY_PORT_BASE);
	c->slot_mask = sw->dp.slots - 1;
	c->queue_mask = sw->dp.queue_len - 1;
	c->queues_mask = sw->dp.queues - 1;
	c->netns = sw->backlog.netns;
	c->admit = sw->opt->admission.on;
	dataplane_set(sw);
}

/* Return: how many deadline queues there are: one for each processor, up to CSW_QUEUES */
static uint32_t queues(void)
{
	int processors = libbpf_num_possible_cpus();
	uint32_t n = 1;

	while (n < CSW_QUEUES && (int)n < processors)
		n *= 2;
	return n;
}

int dataplane_load(struct switchd *sw)
{
	struct dataplane *dp = &sw->dp;
	int ret;

	verbose = sw->opt->verbose;
	libbpf_set_print(print);
	dp->slots = sw->opt->slots;
	dp->queue_len = 2 * dp->slots;
	dp->queues = queues();
	backlog_open(sw);
	dp->skel = canary_switch__open();
	if (!dp->skel) {
		ret = -errno;
		goto fail;
	}
	dp->config = &dp->skel->bss->config;
	dp->queue_ctl = &dp->skel->bss->queue_ctl;
	configure(sw);
	ret = draw(dp->config->secret, sizeof(dp->config->secret));
	if (!ret)
		ret = draw_meta(dp->skel);
	if (!ret)
		ret = draw(&dp->config->seed, sizeof(dp->config->seed));
	if (!ret)
		ret = set_sizes(dp, &sw->backlog);
	if (!ret)
		ret = bpf_program__set_autoload(dp->skel->progs.canary_xdp_long, false);
	if (!ret)
		ret = canary_switch__load(dp->skel);
	if (ret)
		goto fail;
	/* the variables move when the programs are loaded */
	dp->config = &dp->skel->bss->config;
	dp->queue_ctl = &dp->skel->bss->queue_ctl;
	take_fds(dp);
	warm_all(dp);
	ret = map_state(dp);
	if (!ret)
		ret = fan_in_set(sw, &sw->now);
	if (ret)
		goto fail;
	if (sw->ports <= dp->ports_max)
		return 0;
	sw_error(sw, "%u ports, at most %u", sw->ports, dp->ports_max);
	ret = -E2BIG;
	goto unload;
fail:
	sw_error(sw, "cannot load the switch programs: %s%s", strerror(-ret),
		 ret == -ENOMEM ? " (--slots takes less memory)" : verbose ? "" : " (-v tells more)");
unload:
	dataplane_unload(sw);
	return ret;
}

/* Load the program for long packets, with the maps and variables of the others. */
static int load_long(struct dataplane *dp)
{
	struct canary_switch *s = canary_switch__open();
	struct bpf_program *prog;
	struct bpf_map *map;
	int ret = s ? 0 : -errno;

	dp->skel_long = s;
	if (ret)
		return ret;
	bpf_object__for_each_program(prog, s->obj)
		bpf_program__set_autoload(prog, prog == s->progs.canary_xdp_long);
	bpf_object__for_each_map(map, s->obj) {
		ret = bpf_map__reuse_fd(map, bpf_object__find_map_fd_by_name(dp->skel->obj,
									     bpf_map__name(map)));
		if (ret)
			return ret;
	}
	ret = canary_switch__load(s);
	if (!ret)
		dp->xdp_long_fd = bpf_program__fd(s->progs.canary_xdp_long);
	return ret;
}

int dataplane_long(struct switchd *sw)
{
	struct dataplane *dp = &sw->dp;
	int ret;

	if (dp->xdp_long_fd >= 0)
		return dp->xdp_long_fd;
	ret = load_long(dp);
	if (!ret)
		return dp->xdp_long_fd;
	sw_warn(sw, "cannot load the program for packets of several pages: %s", strerror(-ret));
	canary_switch__destroy(dp->skel_long);
	dp->skel_long = NULL;
	return ret;
}

void dataplane_unload(struct switchd *sw)
{
	struct dataplane *dp = &sw->dp;

	if (dp->descriptors)
		munmap((void *)dp->descriptors, dp->descriptors_bytes);
	if (dp->queue)
		munmap((void *)dp->queue, dp->queue_bytes);
	if (dp->fan_ins)
		munmap((void *)dp->fan_ins, dp->fan_ins_bytes);
	dp->descriptors = NULL;
	dp->queue = NULL;
	dp->fan_ins = NULL;
	canary_switch__destroy(dp->skel_long);
	dp->skel_long = NULL;
	canary_switch__destroy(dp->skel);
	dp->skel = NULL;
}
