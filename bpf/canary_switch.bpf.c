// SPDX-License-Identifier: GPL-2.0
/*
 * The switch's data plane: canary_xdp and canary_tc on the ingress of each port, canary_flush run
 * by the daemon's clock thread. What they do is in lib/; here are sections only.
 */
#include "maps.h"
#include "lib/all.h"

char _license[] SEC("license") = "GPL";

SEC("xdp")
int canary_xdp(struct xdp_md *ctx)
{
	return csw_ingress(ctx);
}

/*
 * Where packets can be longer than a page. Those that we look into never are, so frames in pieces
 * are others', or hide what they are.
 */
SEC("xdp.frags")
int canary_xdp_long(struct xdp_md *ctx)
{
	if (bpf_xdp_get_buff_len(ctx) != csw_end(ctx) - csw_data(ctx))
		return csw_not_ours(ctx);
	return csw_ingress(ctx);
}

/* Run with BPF_F_TEST_XDP_LIVE_FRAMES on a blank frame of the largest size. */
SEC("xdp")
int canary_flush(struct xdp_md *ctx)
{
	return csw_flush(ctx);
}

SEC("tc")
int canary_tc(struct __sk_buff *skb)
{
	return csw_tc(skb);
}
