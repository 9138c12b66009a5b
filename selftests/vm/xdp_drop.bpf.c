// SPDX-License-Identifier: GPL-2.0
/* The smallest XDP program, for the test of the guest's kernel */

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int xdp_drop(struct xdp_md *ctx)
{
	return XDP_DROP;
}

char _license[] SEC("license") = "GPL";
