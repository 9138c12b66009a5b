// SPDX-License-Identifier: GPL-2.0
/*
 * Helpers of the switch tests and benchmark: put frames into the stack, the plain redirect that
 * aggregation is compared with, and a wrapper that makes each frame of a run another
 * contribution.
 */
#include "ctx/bpf.h"

char _license[] SEC("license") = "GPL";

/* Frame and metadata as they are, to the stack. */
SEC("xdp")
int inject_pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}
