// SPDX-License-Identifier: BSD-2-Clause
/*
 * Kinds that switches do not combine: the tables are compiled without CANARY_K_SWITCHES. Sums go past
 * the switches of bpf/lib unmerged, and are right. Members say so.
 */
#include "core/inside.h"
#include "testnet_inside.h"
#include "trial.h"

#define MEMBERS	5

static bool info_is(struct tnet *s, u8 op, u8 dtype)
{
	struct cnr_info info;
	u32 i, good = 0;

	for (i = 0; i < MEMBERS; i++) {
		cnr_info(tnet_comm(s, i), &info);
		good += info.op == op && info.dtype == dtype && !info.switches;
	}
	return good == MEMBERS;
}

static void post_each(struct tnet *s, u32 elements, u32 operations)
{
	u32 i;

	for (i = 0; i < MEMBERS; i++)
		if (tnet_post(s, i, elements))
			abort();
	tnet_wait_completed(s, operations, 20 * S);
}

int main(void)
{
	struct tnet_config cfg = {
		.members = MEMBERS, .seed = 3, .key = true, .algorithm = CANARY_ALG_TREE, .aggregate = true,
		.dtype = CANARY_UINT32, .switches = &tnet_native,
	};
	struct tnet *s = tnet_new(&cfg);

	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	tap(info_is(s, 0, 0), "before the first operation, members have none");
	post_each(s, 5000, 1);
	tap(tnet_completed(s, 0) == 1 && !tnet_wrong(s), "the sum is right");
	tap(!counter(s, MEMBERS, CNR_C_contributions_merged), "nothing was merged");
	tap(info_is(s, CANARY_OP_SUM, CANARY_UINT32), "all members say that it passes switches");
	post_each(s, 0, 2);
	tap(tnet_completed(s, 0) == 2 && info_is(s, CANARY_OP_SUM, CANARY_UINT32),
	    "a barrier does not change what they say");
	tnet_free(s);
	return tap_done("core-unmerged");
}
