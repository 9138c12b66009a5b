// SPDX-License-Identifier: BSD-2-Clause
/*
 * What pads the elements of a packet: it stays inside the packet, also where there are no elements.
 */
#include "core/inside.h"
#include "trial.h"

#define MEMBERS	3

/*
 * Post @elements with each operator on each type. Return: false if a key of data changes, which is
 * in front of where packets are made
 */
static bool keys_stay(u8 algorithm, bool pinned, u32 elements)
{
	u32 key[ARRAY_SIZE(((struct cnr_comm *)NULL)->own_key)], tried = 0, changed = 0, i, op, type;
	struct tnet_config cfg = {
		.members = MEMBERS, .seed = 7, .key = true, .algorithm = algorithm, .pinned = pinned,
		.element = 8,
	};
	struct tnet *s = tnet_new(&cfg);

	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	memcpy(key, tnet_comm(s, 0)->own_key, sizeof(key));
	for (op = 0; op < 256; op++) {
		for (type = 0; type < 256; type++) {
			struct cnr_op one = { .op = op, .dtype = type, .elements = elements };

			if (!cnr_element(op, type))
				continue;
			for (i = 0; i < MEMBERS; i++)
				if (tnet_post_op(s, i, one, -1))
					abort();
			if (!tnet_wait_completed(s, ++tried, 10 * S))
				abort();
			for (i = 0; i < MEMBERS; i++)
				changed += !!memcmp(tnet_comm(s, i)->own_key, key, sizeof(key));
			if (changed) {
				printf("# operator %u on type %u changes a key\n", op, type);
				op = 256;
				break;
			}
		}
	}
	tnet_free(s);
	return tried > 50 && !changed;
}

static void test_keys(void)
{
	u32 i;

	for (i = 0; i < 8; i++)
		tap(keys_stay(i & 1 ? CANARY_ALG_RING : CANARY_ALG_TREE, i & 2, i >> 2),
		    "%s, %s, %u elements: each operator on each type leaves the keys alone",
		    i & 1 ? "ring" : "tree", i & 2 ? "pinned" : "copied", i >> 2);
}

int main(void)
{
	test_keys();
	return tap_done("core-padding");
}
