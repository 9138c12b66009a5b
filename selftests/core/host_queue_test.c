// SPDX-License-Identifier: BSD-2-Clause
/*
 * How much a member leaves in a queue of its own host after that was full. It shares the queue as a
 * TCP flow would.
 */
#include <stdlib.h>
#include <string.h>

#include "selftests/tap.h"
#include "core/inside.h"

#define MS		CNR_MSEC
#define RTT		(4 * MS)
#define LONG_AGO	(1000 * CNR_SEC)

static void *comm_memory(const struct cnr_config *cfg)
{
	size_t size = (cnr_size(cfg) + 63) & ~63UL;
	void *mem = aligned_alloc(64, size);

	if (!mem)
		abort();
	return memset(mem, 0, size);
}

static struct cnr_comm *comm_new(void)
{
	struct cnr_config cfg = {
		.comm = 1,
		.members = 4,
		.mtu = 1500,
		.addr = canary_addr_of_ip4(cpu_to_be32(0x0a000001)),
		.port = cpu_to_be16(CANARY_PORT_BASE),
		.root = canary_addr_of_ip4(cpu_to_be32(0x0a000001)),
		.root_port = cpu_to_be16(CANARY_PORT_BASE),
	};
	struct cnr_comm *c = cnr_init(comm_memory(&cfg), &cfg);

	c->net.srtt = RTT;
	return c;
}

static void test_room(void)
{
	struct cnr_comm *c = comm_new();
	u64 now = LONG_AGO;
	u32 least, room, i;

	tap(cnr_host_room(c, now) == ~0U, "no queue was full: no limit");
	cnr_host_refused(c, now, 100000);
	tap(cnr_host_room(c, now) == 70000, "a queue was full: three tenths less");
	cnr_host_refused(c, now + RTT / 2, 50000);
	tap(cnr_host_room(c, now) == 70000, "and again: less once a round trip only");
	room = cnr_host_room(c, now + 2 * RTT) - 70000;
	tap(room > 1500 && room < 3000, "two round trips later: room for a packet more (%u)", room);
	cnr_host_refused(c, now + 2 * RTT, 1000000);
	room = cnr_host_room(c, now + 2 * RTT);
	tap(room > 49000 && room < 52000, "what waits for longer is no reason for more (%u)", room);
	now += 2 * RTT;
	for (i = 0; i < 20; i++)
		cnr_host_refused(c, now += RTT, 0);
	least = cnr_host_room(c, now);
	tap(least > 3 * 1500 && least < 4 * 2500, "there is room for a few packets (%u)", least);
	for (room = least; now < LONG_AGO + 1000000 * CNR_SEC; now += now - LONG_AGO) {
		if (cnr_host_room(c, now) < room)
			break;
		room = cnr_host_room(c, now);
	}
	tap(now >= LONG_AGO + 1000000 * CNR_SEC && room > 500 * least,
	    "and for more for ever, when it is not full any more (%u)", room);
	free(c);
}

static void test_first(void)
{
	struct cnr_comm *c = comm_new();

	c->net.srtt = 0;
	cnr_host_refused(c, LONG_AGO, 0);
	tap(cnr_host_room(c, LONG_AGO) > 1500 && cnr_host_room(c, LONG_AGO + CNR_SEC) > 1 << 20,
	    "before there was a round trip, the limit is soon gone");
	free(c);
}

/* How many packets may leave together, with @blocks posted and a round trip of @rtt */
static u32 burst(u32 blocks, u64 rtt, u32 cwnd)
{
	struct cnr_comm *c = comm_new();
	u32 n;

	c->posted = c->una + blocks;
	c->net.srtt = rtt;
	c->net.cwnd = cwnd;
	n = cnr_host_burst(c, LONG_AGO);
	free(c);
	return n;
}

static void test_burst(void)
{
	struct cnr_comm *c = comm_new();

	tap(burst(1000, 0, 64) == 1, "a round trip is not known: single packets");
	tap(burst(1000, 100 * CNR_USEC, 64) == 64, "a fast network: all in flight leave together");
	tap(burst(3, 100 * CNR_USEC, 64) == 3, "and not more than there are");
	tap(burst(0, 100 * CNR_USEC, 64) == 1, "nothing is posted: single packets");
	tap(burst(1000, 8 * MS, 64) == 7, "eight in a ms: about as many (%u)",
	    burst(1000, 8 * MS, 64));
	tap(burst(1000, 800 * MS, 64) == 1, "a slow link: single packets");
	c->posted = c->una + 1000;
	c->net.srtt = 100 * CNR_USEC;
	c->net.cwnd = 64;
	cnr_host_refused(c, LONG_AGO, 100000);
	tap(cnr_host_burst(c, LONG_AGO) == 1, "a queue was full: single packets");
	tap(cnr_host_burst(c, LONG_AGO + CNR_SEC) > 1, "long ago: together again");
	c->net.round_losses = 40;
	c->net.round_results = 30;
	tap(cnr_host_burst(c, LONG_AGO + CNR_SEC) == 1, "much is lost: single packets");
	c->net.round_losses = 0;
	tap(cnr_host_burst(c, LONG_AGO + 2 * CNR_SEC) == 1, "and still in the next round");
	tap(cnr_host_burst(c, LONG_AGO + 12 * CNR_SEC) > 1, "but not for ever");
	free(c);
}

int main(void)
{
	test_room();
	test_first();
	test_burst();
	return tap_done("core-host-queue");
}
