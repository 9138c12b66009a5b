// SPDX-License-Identifier: BSD-2-Clause
/*
 * Groups of ports, to which results are broadcast: see struct csw_want. The data plane writes down
 * which it lacks. Those that it lacked often are made soon, as clones cost more. Counts begin anew
 * with each tick.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/random.h>

#include "internal.h"

#define WANTED_OFTEN	16	/* results between two ticks, from which on a group is made */
#define LOOK_NS		1000000000ULL	/* between two looks at what is wanted */
#define CHANGES_MAX	4	/* groups made or removed at a look: some ms for each */
#define KEPT_NS		60000000000ULL	/* age at which a group may make room */

/*
 * Can results be broadcast from and to the port? Generic XDP cannot copy frames with metadata. A
 * veth may lose frames that are redirected.
 */
static bool can_broadcast(const struct port *port)
{
	return port->ifindex && port->xdp_link >= 0 && port->xdp_native && port->mode == CSW_FAST &&
	       (strcmp(port->kind, "veth") ? !port->features_known ||
		port->features & DRIVER_NDO_XMIT : port->peer == PEER_OK);
}

static void remove_group(struct switchd *sw, struct groups *g, unsigned int i)
{
	int ret = bpf_map_delete_elem(sw->dp.groups_fd, &g->group[i].key);

	if (ret && ret != -ENOENT)
		sw->map_errors++;
	else
		g->group[i] = g->group[--g->n];
}

/* Give a key to each port that can take part, and take it from others. */
static void set_keys(struct switchd *sw)
{
	struct port *port;
	unsigned int i;

	for (i = 0; i < sw->ports; i++) {
		port = &sw->port[i];
		if (!port->ifindex || can_broadcast(port) == !!port->key)
			continue;
		if (port->key)
			port->key = 0;
		else if (getrandom(&port->key, sizeof(port->key), 0) != sizeof(port->key))
			continue;
		port_publish(sw, port);
	}
}

/* Are all ports of the group there, with the keys that made this one? */
static bool has_keys(struct switchd *sw, uint64_t key, const struct csw_want *want)
{
	const struct port *port;
	unsigned int i;

	for (i = 0; i < want->n; i++) {
		port = port_by_ifindex(sw, want->ifindex[i]);
		if (!port || !port->key)
			return false;
		key -= port->key;
	}
	return !key;
}

/*
 * Remove groups that have a port which is not there any more, or changed. No result finds them, as
 * the key of that port has changed. So this may take some looks. Return: how many were removed
 */
static unsigned int remove_broken(struct switchd *sw, struct groups *g)
{
	unsigned int i, n = 0;

	for (i = g->n; i-- > 0 && n < CHANGES_MAX;) {
		if (has_keys(sw, g->group[i].key, &g->group[i].want))
			continue;
		remove_group(sw, g, i);
		n++;
	}
	return n;
}

/*
 * Do all ports of the group have the program that addresses copies? Others get it now. What such a
 * port is just about to send was begun without it, so their groups wait for the next look.
 */
static bool ports_copy(struct switchd *sw, const struct csw_want *want)
{
	struct port *port;
	bool all = true;
	unsigned int i;

	for (i = 0; i < want->n; i++) {
		port = port_by_ifindex(sw, want->ifindex[i]);
		if (port->copies && !port->dirty)
			continue;
		port->copies = true;
		port_publish(sw, port);
		all = false;
	}
	return all;
}

static int make_group(struct switchd *sw, uint64_t key, const struct csw_want *want)
{
	struct bpf_devmap_val value = { .bpf_prog.fd = sw->dp.copy_fd };
	int group, ret = 0;
	uint32_t i;

	group = bpf_map_create(BPF_MAP_TYPE_DEVMAP_HASH, "canary_group", sizeof(i), sizeof(value),
			       CSW_CHILDREN_MAX, NULL);
	if (group < 0)
		return group;
	for (i = 0; !ret && i < want->n; i++) {
		value.ifindex = want->ifindex[i];
		ret = bpf_map_update_elem(group, &i, &value, BPF_ANY);
	}
	if (!ret)
		ret = bpf_map_update_elem(sw->dp.groups_fd, &key, &group, BPF_ANY);
	close(group);
	return ret;
}

/* Is there room for one more group? The oldest one makes room, unless it is quite new itself. */
static bool has_room(struct switchd *sw, struct groups *g)
{
	unsigned int i, oldest = 0;

	for (i = 1; i < g->n; i++)
		if (g->group[i].made_at < g->group[oldest].made_at)
			oldest = i;
	if (g->n == CSW_GROUPS && sw_now() - g->group[oldest].made_at >= KEPT_NS)
		remove_group(sw, g, oldest);
	return g->n < CSW_GROUPS;
}

/* The same key may be read twice, if others went from the map meanwhile. */
static bool is_there(const struct groups *g, uint64_t key)
{
	unsigned int i;

	for (i = 0; i < g->n; i++)
		if (g->group[i].key == key)
			return true;
	return false;
}

static void add_group(struct switchd *sw, uint64_t key, const struct csw_want *want)
{
	struct groups *g = &sw->groups;
	int ret;

	if (is_there(g, key) || !has_room(sw, g))
		return;
	ret = make_group(sw, key, want);
	if (ret) {
		sw->map_errors++;
		if (!g->told)
			sw_warn(sw, "cannot make a group of ports, results are cloned: %s",
				strerror(-ret));
		g->told = true;
		return;
	}
	g->group[g->n].key = key;
	g->group[g->n].want = *want;
	g->group[g->n++].made_at = sw_now();
}

/* Read what the data plane lacked. Return: how many */
static unsigned int read_wanted(struct switchd *sw, uint64_t *keys, struct csw_want *wants)
{
	uint64_t *last = NULL;
	unsigned int n = 0;

	while (n < CSW_WANTED && !bpf_map_get_next_key(sw->dp.wanted_fd, last, &keys[n])) {
		last = &keys[n];
		if (!bpf_map_lookup_elem(sw->dp.wanted_fd, last, &wants[n]) &&
		    wants[n].n <= CSW_CHILDREN_MAX)
			n++;
	}
	return n;
}

/*
 * What has to wait stays, and what was not wanted often, unless counts begin anew. Looks are
 * LOOK_NS apart, as a port needs canary_copy for some time before its first group: see
 * ports_copy().
 */
static void look(struct switchd *sw)
{
	struct csw_want wants[CSW_WANTED];
	uint64_t keys[CSW_WANTED];
	unsigned int n, i, changes;

	set_keys(sw);
	changes = remove_broken(sw, &sw->groups);
	n = read_wanted(sw, keys, wants);
	for (i = 0; i < n; i++) {
		if (wants[i].count < WANTED_OFTEN && !sw->groups.anew)
			continue;
		if (wants[i].count >= WANTED_OFTEN && has_keys(sw, keys[i], &wants[i])) {
			if (changes == CHANGES_MAX || !ports_copy(sw, &wants[i]))
				continue;
			add_group(sw, keys[i], &wants[i]);
			changes++;
		}
		bpf_map_delete_elem(sw->dp.wanted_fd, &keys[i]);
	}
	sw->groups.anew = false;
	sw->groups.look_at = sw_now() + LOOK_NS;
}

void groups_tick(struct switchd *sw)
{
	sw->groups.anew = true;
}

uint64_t groups_settle(struct switchd *sw)
{
	if (sw->groups.look_at <= sw_now())
		look(sw);
	return sw->groups.look_at;
}
