/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The maps and globals of the switch, and the functions by which bpf/lib reads them. The daemon
 * resizes descriptors and queue before loading.
 */
#ifndef CANARY_BPF_MAPS_H
#define CANARY_BPF_MAPS_H

#include "ctx/bpf.h"

struct csw_config config = {};
struct csw_queue_ctl queue_ctl = {};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct csw_descriptor);
} descriptors SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct csw_queue_entry);
} queue SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CSW_RESTORE_SLOTS);
	__type(key, __u32);
	__type(value, struct csw_restoration);
} restorations SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CSW_FAN_INS);
	__type(key, __u32);
	__type(value, struct csw_fan_in);
} fan_ins SEC(".maps");

/* Configured fan-ins: how many members' contributions come by here, by the leader's prefix */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CSW_FAN_IN_CONFIG_MAX);
	__type(key, struct csw_route_key);
	__type(value, __u32);
} fan_in_config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CSW_ADMISSIONS);
	__type(key, struct csw_admission_key);
	__type(value, struct csw_admission);
} admissions SEC(".maps");

/* VLANs of ports, which are ports of the switch themselves */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct csw_vlan_key);
	__type(value, __u32);
} vlans SEC(".maps");

/* Key: enum csw_counter, then CSW_COUNTER_COUNT + enum canary_drop */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CSW_COUNTER_COUNT + CANARY_DROPS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct csw_port);
} ports SEC(".maps");

/* Values are struct bpf_devmap_val. Ports with groups have the program canary_copy. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, 256);
	__uint(key_size, 4);
	__uint(value_size, 8);
} devmap SEC(".maps");

struct csw_group {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, CSW_CHILDREN_MAX);
	__uint(key_size, 4);
	__uint(value_size, 8);
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, CSW_GROUPS);
	__type(key, __u64);
	__array(values, struct csw_group);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CSW_WANTED);
	__type(key, __u64);
	__type(value, struct csw_want);
} wanted SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CSW_SPREADS);
	__type(key, __u32);
	__type(value, struct csw_spread);
} spreads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct csw_route_key);
	__type(value, struct csw_route);
} routes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct csw_neigh_key);
	__type(value, struct csw_neigh);
} neighbours SEC(".maps");

/* One __u32 (0) each time that the clock thread has to wake up */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wake SEC(".maps");

/* Children of the result that this processor is copying */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct csw_copies);
} copies SEC(".maps");

/* All switches of the machine share one such map. The daemon puts it in place of this one. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CSW_BACKLOG_PORTS);
	__type(key, struct csw_backlog_key);
	__type(value, struct csw_backlog);
} canary_backlog SEC(".maps");

struct csw_flowlet flowlets[CSW_FLOWLETS] = {};

/* See csw_restoration_credit(). */
__u32 restore_credit = 0;

static __always_inline __u32 *csw_credit(const void *ctx)
{
	return &restore_credit;
}

static __always_inline const struct csw_config *csw_config(const void *ctx)
{
	return &config;
}

static __always_inline struct csw_queue_ctl *csw_queue_ctl(const void *ctx)
{
	return &queue_ctl;
}

static __always_inline struct csw_descriptor *csw_descriptor_at(const void *ctx, __u32 slot)
{
	return bpf_map_lookup_elem(&descriptors, &slot);
}

static __always_inline struct csw_queue_entry *csw_queue_at(const void *ctx, __u32 index)
{
	return bpf_map_lookup_elem(&queue, &index);
}

static __always_inline struct csw_restoration *csw_restoration_at(const void *ctx, __u32 index)
{
	return bpf_map_lookup_elem(&restorations, &index);
}

static __always_inline struct csw_fan_in *csw_fan_in_at(const void *ctx, __u32 index)
{
	return bpf_map_lookup_elem(&fan_ins, &index);
}

/* Return: the configured fan-in for this leader; 0: none */
static __always_inline __u32 csw_configured_fan_in(const void *ctx,
						   const struct canary_addr *leader)
{
	struct csw_route_key key = { .prefixlen = CANARY_ADDR_BITS, .addr = *leader };
	__u32 *expect = bpf_map_lookup_elem(&fan_in_config, &key);

	return expect ? *expect : 0;
}

/* Return: for which communicators a source may use the switch by that port; NULL: for none */
static __always_inline const struct csw_admission *csw_admission(const void *ctx, __u32 ifindex,
								 const struct canary_addr *addr)
{
	struct csw_admission_key key = {
		.prefixlen = 32 + CANARY_ADDR_BITS,
		.ifindex = csw_be32(ifindex),
		.addr = *addr,
	};

	return bpf_map_lookup_elem(&admissions, &key);
}

/* Is that VLAN of the port a port of the switch itself? */
static __always_inline bool csw_vlan(const void *ctx, __u32 ifindex, __be16 type, __be16 vlan)
{
	struct csw_vlan_key key = { .ifindex = ifindex, .type = type, .vlan = vlan };

	return bpf_map_lookup_elem(&vlans, &key);
}

static __always_inline struct csw_copies *csw_copies(const void *ctx)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&copies, &zero);
}

static __always_inline struct csw_spread *csw_spread_at(const void *ctx, __u32 place)
{
	return bpf_map_lookup_elem(&spreads, &place);
}

/* Return: the group with that key, for csw_broadcast(); NULL if there is none */
static __always_inline void *csw_group(const void *ctx, __u64 key)
{
	return bpf_map_lookup_elem(&groups, &key);
}

/* Write down that @s lacks a group. */
static __always_inline void csw_want(const void *ctx, const struct csw_spread *s)
{
	__u64 key = s->key;
	struct csw_want *w = bpf_map_lookup_elem(&wanted, &key);

	if (w)
		__sync_fetch_and_add(&w->count, 1);
	else
		bpf_map_update_elem(&wanted, &key, &s->group, BPF_NOEXIST);
}

static __always_inline const struct csw_port *csw_port(const void *ctx, __u32 ifindex)
{
	return bpf_map_lookup_elem(&ports, &ifindex);
}

/* See csw_own_mac(). */
__u64 own_macs[CSW_OWN_MACS] = {};

static __always_inline __u64 *csw_own_mac_hint(const void *ctx, __u32 ifindex)
{
	return &own_macs[ifindex % CSW_OWN_MACS];
}

static __always_inline struct csw_route *csw_route(const void *ctx,
						   const struct canary_addr *addr)
{
	struct csw_route_key key = { .prefixlen = CANARY_ADDR_BITS, .addr = *addr };

	return bpf_map_lookup_elem(&routes, &key);
}

static __always_inline const struct csw_neigh *csw_neigh(const void *ctx, __u32 ifindex,
							 const struct canary_addr *addr)
{
	struct csw_neigh_key key = { .ifindex = ifindex, .addr = *addr };

	return bpf_map_lookup_elem(&neighbours, &key);
}

/* Return: what waits at a port; NULL: unknown */
static __always_inline struct csw_backlog *csw_backlog(const void *ctx, __u32 ifindex)
{
	struct csw_backlog_key key = { .netns = config.netns, .ifindex = ifindex };

	return key.netns ? bpf_map_lookup_elem(&canary_backlog, &key) : NULL;
}

static __always_inline struct csw_flowlet *csw_flowlet(const void *ctx, __u32 index)
{
	return &flowlets[index % CSW_FLOWLETS];
}

static __always_inline __u32 csw_random(const void *ctx)
{
	return bpf_get_prandom_u32();
}

static __always_inline void csw_count(const void *ctx, __u32 counter, __u64 n)
{
	__u64 *value = bpf_map_lookup_elem(&counters, &counter);

	if (value)
		*value += n;
}

static __always_inline void csw_drops(const void *ctx, enum canary_drop reason, __u64 n)
{
	csw_count(ctx, CSW_COUNTER_COUNT + reason, n);
}

static __always_inline void csw_drop(const void *ctx, enum canary_drop reason)
{
	csw_drops(ctx, reason, 1);
}

/* Send the frame out of a port, past its queueing discipline. */
static __always_inline int csw_redirect(csw_xdp *ctx, __u32 ifindex)
{
	return bpf_redirect_map(&devmap, ifindex, XDP_DROP);
}

/* Send a copy of the frame to each device of the group. */
static __always_inline int csw_broadcast(csw_xdp *ctx, void *group)
{
	return bpf_redirect_map(group, 0, BPF_F_BROADCAST);
}

static __always_inline void csw_wake(const void *ctx)
{
	__u32 zero = 0;

	bpf_ringbuf_output(&wake, &zero, sizeof(zero), BPF_RB_FORCE_WAKEUP);
}

#endif /* CANARY_BPF_MAPS_H */
