// SPDX-License-Identifier: GPL-2.0
/*
 * The switch's data plane. canary_xdp and canary_tc run on the ingress of each port. The daemon's
 * clock thread runs canary_flush. lib/ has what they do; this file has only the sections.
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
 * For ports whose packets can be longer than a page. A packet that we look into never is. So a
 * frame in pieces is somebody else's, or hides what it is.
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

/*
 * At the egress of ports with groups. One program runs for all frames that a port sends before the
 * next flush: that of the first. So these ports have it for frames that are no copies, too.
 */
SEC("xdp/devmap")
int canary_copy(struct xdp_md *ctx)
{
	return csw_copy(ctx);
}

SEC("tc")
int canary_tc(struct __sk_buff *skb)
{
	return csw_tc(skb);
}
