// SPDX-License-Identifier: GPL-2.0
/*
 * Helpers of the switch tests: they put frames into the stack, and look at what leaves the switch.
 */
#include "ctx/bpf.h"

char _license[] SEC("license") = "GPL";

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
