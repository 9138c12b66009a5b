// SPDX-License-Identifier: GPL-2.0
/* Helpers of the switch tests: put frames into the stack, and watch what leaves the switch. */
#include "ctx/bpf.h"

char _license[] SEC("license") = "GPL";

/* Frame and metadata as they are, to the stack. */
SEC("xdp")
int inject_pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

__u64 watched = 0;
__u64 leaks = 0;

/* At the other ends of the ports: does the switch's metadata travel with its packets? */
SEC("tc")
int inject_watch(struct __sk_buff *skb)
{
	struct csw_meta *m = (void *)(long)skb->data_meta;

	watched++;
	if ((void *)(m + 1) <= (void *)(long)skb->data && m->secret == meta_secret)
		leaks++;
	return -1;
}
