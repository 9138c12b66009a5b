// SPDX-License-Identifier: GPL-2.0
/*
 * Programs for the benchmark of the switch: a generator that makes each frame of a run a different
 * contribution, and programs to compare with. These are a plain redirect, a router, and the least
 * work that exact adding takes.
 */
#include "ctx/bpf.h"

#define CSW_OFF_DATA	106	/* as in lib/parse.h, which needs all maps of the switch */

/* The headers below use it, but this file does not. */
static __u64 no_mac;

static __always_inline const struct csw_port *csw_port(const void *ctx, __u32 ifindex)
{
	return NULL;
}

static __always_inline __u64 *csw_own_mac_hint(const void *ctx, __u32 ifindex)
{
	return &no_mac;
}

#include "lib/parse.h"
#include "lib/checksum.h"
#include "lib/data.h"
#include "lib/combine.h"

char _license[] SEC("license") = "GPL";

/* [0]: the program under test, if frames do not go to a port */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} under_test SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u32);
} bench_devmap SEC(".maps");

/* The switch's own map, so that both look up in the same one */
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

/* Slots of bench_floor, as far apart as the switch's */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct csw_descriptor);
} floor_slots SEC(".maps");

#define HEADERS	CSW_OFF_DATA

/* Headers of each frame at first. Frames are used again with what was written to them. */
__u64 headers[HEADERS / 8 + 1] = {};
__u32 fan_in = 8;	/* frames a block: contributions, or 1 result; a power of two */
__u32 blocks = 64;	/* in flight; a power of two */
__u32 serial = 0;
__u32 member = 0;	/* the first of them */
__u32 egress = 0;	/* to which bench_redirect sends */
__u32 to_port = 0;	/* other end of the port at which frames arrive; 0: call under_test */

__u64 arrived = 0;	/* frames at bench_count */

/*
 * Frame number n comes from member @member + n % fan_in (a UDP port), for each of @blocks blocks in turn.
 * Rounds differ by attempt, and by epoch when attempts wrap around. So no result is needed to free
 * a slot. With @fan_in 1, frames can be the results of an earlier run's blocks.
 */
SEC("xdp")
int bench_stamp(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	__u64 *to = data;
	struct udphdr *udp = data + 34;
	struct canary_hdr *h = data + 42;
	__u32 n = serial, round;

	if (data + HEADERS > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
#pragma clang loop unroll(full)
	for (int i = 0; i < HEADERS / 8; i++)
		to[i] = headers[i];
	*(__u16 *)(to + HEADERS / 8) = headers[HEADERS / 8];
	serial = n + 1;
	round = n / fan_in / blocks;
	udp->source = bpf_htons(CANARY_PORT_BASE + member + (n & (fan_in - 1)));
	h->block = bpf_htonl(n / fan_in & (blocks - 1));
	h->attempt = round;
	h->epoch = round >> 8;
	if (h->type == CANARY_CONTRIBUTION)
		h->contribution.tag = n;
	if (to_port)
		return bpf_redirect_map(&bench_devmap, to_port, XDP_DROP);
	bpf_tail_call(ctx, &under_test, 0);
	return XDP_ABORTED;
}

/* Parse Ethernet, new addresses, redirect through a devmap. */
SEC("xdp")
int bench_redirect(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	struct ethhdr *eth = data;

	if ((void *)(eth + 1) > (void *)(long)ctx->data_end)
		return XDP_DROP;
	if (eth->h_proto != bpf_htons(0x0800))
		return XDP_PASS;
	__builtin_memset(eth->h_dest, 2, 6);
	return bpf_redirect_map(&bench_devmap, egress, XDP_DROP);
}

/* One's complement sum of a header without options, 0xffff if its checksum is right */
static __always_inline __u32 header_sum(const __u16 *word)
{
	__u32 sum = 0;

#pragma clang loop unroll(full)
	for (int i = 0; i < 10; i++)
		sum += word[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/*
 * What a plain router does beyond bench_redirect (RFC 1812): checksum, time to live, route,
 * neighbour
 */
SEC("xdp")
int bench_route(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	struct ethhdr *eth = data;
	struct iphdr *ip = data + sizeof(*eth);
	struct csw_route_key to = { .prefixlen = CANARY_ADDR_BITS };
	struct csw_neigh_key at = {};
	struct csw_route *route;
	struct csw_neigh *neigh;
	__u32 check;

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
		return XDP_DROP;
	if (eth->h_proto != bpf_htons(0x0800) || ip->version != 4 || ip->ihl != 5 ||
	    ip->ttl <= 1 || header_sum((__u16 *)ip) != 0xffff)
		return XDP_PASS;
	to.addr = canary_addr_of_ip4(ip->daddr);
	route = bpf_map_lookup_elem(&routes, &to);
	if (!route || route->kind != CSW_ROUTE_UNICAST)
		return XDP_PASS;
	at.ifindex = route->nexthop[0].ifindex;
	at.addr = route->nexthop[0].gateway;
	if (canary_addr_is_zero(&at.addr))
		at.addr = to.addr;
	neigh = bpf_map_lookup_elem(&neighbours, &at);
	if (!neigh)
		return XDP_PASS;
	ip->ttl--;
	check = ip->check + bpf_htons(0x0100);
	ip->check = check + (check >= 0xffff);
	__builtin_memcpy(eth->h_source, eth->h_dest, 6);
	__builtin_memcpy(eth->h_dest, neigh->mac, 6);
	return bpf_redirect_map(&bench_devmap, at.ifindex, XDP_DROP);
}

/*
 * The floor: adds data with the right sum as the switch does, and nothing else. It has no lock, no
 * check of headers, no counters, no children, no timeout, no route. The sum goes where
 * bench_redirect sends, with the headers of the last contribution.
 */
SEC("xdp")
int bench_floor(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	struct ethhdr *eth = data;
	struct udphdr *udp = data + 34;
	struct canary_hdr *h = data + 42;
	struct csw_descriptor *d;
	__u32 slot;

	if (data + CSW_OFF_DATA > (void *)(long)ctx->data_end)
		return XDP_DROP;
	if (eth->h_proto != bpf_htons(0x0800) ||
	    (__u16)(bpf_ntohs(udp->dest) - CANARY_PORT_BASE) >= CANARY_PORTS)
		return XDP_PASS;
	slot = bpf_ntohl(h->block) * CSW_WAYS & 1023;
	d = bpf_map_lookup_elem(&floor_slots, &slot);
	if (!d)
		return XDP_DROP;
	d->count++;
	if (d->count == fan_in) {
		d->count = 0;
		__builtin_memset(eth->h_dest, 2, 6);
		if (csw_data_add_out(ctx, d))
			return XDP_DROP;
		return bpf_redirect_map(&bench_devmap, egress, XDP_DROP);
	}
	if (d->count > 1) {
		return csw_data_add_in(ctx, d) ? XDP_ABORTED : XDP_DROP;
	}
	d->length = canary_length(h);
	d->kind = canary_kind(h);
	return csw_data_in(ctx, d) ? XDP_ABORTED : XDP_DROP;
}

SEC("xdp")
int bench_drop(struct xdp_md *ctx)
{
	return XDP_DROP;
}

/* At the other end of a port. One processor runs the benchmark, so it counts without a lock. */
SEC("xdp")
int bench_count(struct xdp_md *ctx)
{
	arrived++;
	return XDP_DROP;
}
