// SPDX-License-Identifier: GPL-2.0
/*
 * Helpers of the switch tests: they put frames into the stack, and look at what leaves the switch.
 */
#include "ctx/bpf.h"

char _license[] SEC("license") = "GPL";

struct group {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, CSW_CHILDREN_MAX);
	__uint(key_size, 4);
	__uint(value_size, 8);
};

/* The switch's own */
struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 128);
	__type(key, __u64);
	__array(values, struct group);
} groups SEC(".maps");

/* The switch's own */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, 256);
	__uint(key_size, 4);
	__uint(value_size, 8);
} devmap SEC(".maps");

__u32 plain_port = 0;	/* the next frame is no copy, and leaves there */

/* Broadcast the frame to the group in its metadata. */
SEC("xdp")
int inject_broadcast(struct xdp_md *ctx)
{
	struct csw_meta *m = (void *)(long)ctx->data_meta;
	__u32 port = plain_port;
	void *group;
	__u64 key;

	if (port) {
		plain_port = 0;
		bpf_xdp_adjust_meta(ctx, sizeof(*m));
		return bpf_redirect_map(&devmap, port, 0);
	}

	if ((void *)(m + 1) > (void *)(long)ctx->data)
		return XDP_DROP;
	key = m->spread.key;
	group = bpf_map_lookup_elem(&groups, &key);
	return group ? bpf_redirect_map(group, 0, BPF_F_BROADCAST) : XDP_DROP;
}

/* Pass frame and metadata to the stack as they are. */
SEC("xdp")
int inject_pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

__u64 watched = 0;
__u64 leaks = 0;

/* Check at the other ends of the ports whether the switch's metadata travels with its packets. */
SEC("tc")
int inject_watch(struct __sk_buff *skb)
{
	struct csw_meta *m = (void *)(long)skb->data_meta;

	watched++;
	if ((void *)(m + 1) <= (void *)(long)skb->data && m->secret == meta_secret)
		leaks++;
	return -1;
}
