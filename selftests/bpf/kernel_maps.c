// SPDX-License-Identifier: BSD-2-Clause
/* What the daemon would write into the maps of the programs */
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "world.h"
#include "kernel.h"

static int fill_admissions(struct canary_switch *s, const int *ifindexes)
{
	struct csw_admission_key key;
	struct csw_admission a;
	int i, ret = 0;

	for (i = 0; world_admissions(&key, &a, i); i++) {
		key.ifindex = htobe32(ifindexes[key.ifindex]);
		ret |= bpf_map_update_elem(bpf_map__fd(s->maps.admissions), &key, &a, 0);
	}
	return ret;
}

static int fill_vlans(struct canary_switch *s, const int *ifindexes)
{
	struct csw_vlan_key key = { .ifindex = ifindexes[VLAN_PORT], .type = htobe16(VLAN_TAG >> 16),
				    .vlan = htobe16(VLAN_TAG & 0xfff) };
	uint32_t one = 1;

	return bpf_map_update_elem(bpf_map__fd(s->maps.vlans), &key, &one, 0);
}

static int put_device(struct canary_switch *s, int fd, uint32_t key, int device, bool copies)
{
	struct bpf_devmap_val value = { .ifindex = device };

	if (copies)
		value.bpf_prog.fd = bpf_program__fd(s->progs.canary_copy);
	return bpf_map_update_elem(fd, &key, &value, 0);
}

int kernel_use_groups(struct canary_switch *s, const int *ifindexes)
{
	int fd = bpf_map__fd(s->maps.ports), i, ret = 0;
	struct csw_port port;

	for (i = 1; i <= PORTS; i++) {
		ret |= bpf_map_lookup_elem(fd, &ifindexes[i], &port);
		port.key = WORLD_KEY(i);
		ret |= bpf_map_update_elem(fd, &ifindexes[i], &port, 0);
		ret |= put_device(s, bpf_map__fd(s->maps.devmap), ifindexes[i], ifindexes[i], true);
	}
	return ret;
}

int kernel_make_group(struct canary_switch *s, const int *ifindexes, uint64_t key)
{
	int group = bpf_map_create(BPF_MAP_TYPE_DEVMAP_HASH, "group", sizeof(uint32_t),
				   sizeof(struct bpf_devmap_val), CSW_CHILDREN_MAX, NULL);
	uint32_t n = 0, i, k;
	int ret = group < 0;

	for (i = 1; !ret && i <= PORTS; i++)
		for (k = 0; k < WORLD_KEY_COUNT(key, i); k++)
			ret |= put_device(s, group, n++, ifindexes[i], true);
	if (!ret)
		ret = bpf_map_update_elem(bpf_map__fd(s->maps.groups), &key, &group, 0);
	close(group);
	return ret;
}

int kernel_fill_maps(struct canary_switch *s, const int *ifindexes, bool shaped)
{
	struct csw_neigh_key neigh_key;
	struct csw_route_key route_key;
	struct csw_neigh neigh;
	struct csw_route route;
	struct csw_port port;
	int fd = bpf_map__fd(s->maps.devmap), i, hop, ret = 0;

	for (i = 1; i <= PORTS; i++) {
		world_port(i, &port, shaped);
		ret |= bpf_map_update_elem(bpf_map__fd(s->maps.ports), &ifindexes[i], &port, 0);
		ret |= put_device(s, fd, ifindexes[i], ifindexes[i], false);
	}
	for (i = 0; world_routes(&route_key, &route, i); i++) {
		for (hop = 0; hop < route.nexthops; hop++)
			route.nexthop[hop].ifindex = ifindexes[route.nexthop[hop].ifindex];
		ret |= bpf_map_update_elem(bpf_map__fd(s->maps.routes), &route_key, &route, 0);
	}
	for (i = 0; world_neighbours(&neigh_key, &neigh, i); i++) {
		neigh_key.ifindex = ifindexes[neigh_key.ifindex];
		ret |= bpf_map_update_elem(bpf_map__fd(s->maps.neighbours), &neigh_key, &neigh, 0);
	}
	return ret | fill_vlans(s, ifindexes) | fill_admissions(s, ifindexes);
}
