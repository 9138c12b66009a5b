// SPDX-License-Identifier: BSD-2-Clause
/*
 * In which order a leader sends what waits: results in the order in which blocks were finished,
 * whatever slots they have, and questions before them.
 */
#include <stdlib.h>
#include <string.h>

#include "selftests/tap.h"
#include "core/inside.h"
#include "core/tree.h"

#define MEMBERS	4
#define NOW	(1000 * CNR_SEC)

static struct cnr_comm *comm_new(void)
{
	struct cnr_config cfg = {
		.comm = 1,
		.members = MEMBERS,
		.mtu = 1500,
		.addr = canary_addr_of_ip4(cpu_to_be32(0x0a000001)),
		.port = cpu_to_be16(CANARY_PORT_BASE),
		.root = canary_addr_of_ip4(cpu_to_be32(0x0a000001)),
		.root_port = cpu_to_be16(CANARY_PORT_BASE),
	};
	size_t size = (cnr_size(&cfg) + 63) & ~63UL;
	void *mem = aligned_alloc(64, size);

	if (!mem)
		abort();
	return cnr_init(memset(mem, 0, size), &cfg);
}

/* Return: the slots in the order in which they will be sent, as a decimal number */
static u32 order(const struct cnr_comm *c)
{
	u32 number, digits = 0;

	for (number = c->tree.out_first; number; number = c->tree.lead[number - 1].out_next)
		digits = digits * 10 + number - 1;
	return digits;
}

static void finish(struct cnr_comm *c, u32 slot)
{
	c->tree.lead[slot].finished = 1;
	cnr_lead_send(c, &c->tree.lead[slot], CNR_L_RESULT, 0);
}

static void ask(struct cnr_comm *c, u32 slot)
{
	cnr_lead_send(c, &c->tree.lead[slot], CNR_L_COLLECTING, CNR_L_FAIL_ALL);
}

static void test_order(void)
{
	struct cnr_comm *c = comm_new();

	finish(c, 3);
	finish(c, 1);
	finish(c, 2);
	tap(order(c) == 312, "results leave as blocks are finished (%u)", order(c));
	finish(c, 1);
	tap(order(c) == 321, "who is finished anew goes last, and is listed once (%u)", order(c));
	finish(c, 3);
	finish(c, 1);
	finish(c, 2);
	ask(c, 5);
	ask(c, 5);
	tap(order(c) == 5312, "a question goes first (%u)", order(c));
	finish(c, 4);
	tap(order(c) == 53124, "and results still go last (%u)", order(c));
	ask(c, 2);
	tap(order(c) == 53124, "who turns from result to question keeps the place (%u)", order(c));
	finish(c, 5);
	tap(order(c) == 31245, "who turns from question to result goes last (%u)", order(c));
	finish(c, 0);
	tap(order(c) == 312450, "and the next one behind it (%u)", order(c));
	cnr_lead_drop_all(c);
	tap(!order(c), "nothing is left when all is over");
	ask(c, 7);
	finish(c, 6);
	tap(order(c) == 76, "a question is the first of an empty list, too (%u)", order(c));
	free(c);
}

/* What does not wait any more is skipped: a slot may have been used again meanwhile. */
static void test_build(void)
{
	struct cnr_comm *c = comm_new();
	struct cnr_out out;
	u32 n;

	finish(c, 1);		/* nobody contributed, so there is no result to send */
	ask(c, 2);
	ask(c, 3);
	c->tree.lead[3].block = 77;
	c->tree.lead[2].flags = 0;
	for (n = 0; cnr_lead_build(c, NOW, &out); n++)
		if (out.hdr.type != CANARY_FAILURE || be32_to_cpu(out.hdr.block) != 77)
			break;
	tap(n == MEMBERS - 1, "one question for each other member (%u)", n);
	tap(!order(c) && c->tree.lead[1].state == CNR_L_FREE, "then nothing is left");
	finish(c, 1);
	tap(order(c) == 1, "and slots can be listed again");
	free(c);
}

int main(void)
{
	test_order();
	test_build();
	return tap_done("core-order");
}
