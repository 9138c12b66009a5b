// SPDX-License-Identifier: BSD-2-Clause
/*
 * What pads the elements of a packet. It stays inside the packet, also where there are no elements.
 * It means nothing: a member that sends anything there harms nobody, or is named.
 */
#include "core/inside.h"
#include "trial.h"

#define MEMBERS	3
#define LONGEST	16	/* bytes of an element */

static void zeros(void *to, u32 rank, u32 op, u32 elements)
{
	memset(to, 0, elements * LONGEST);
}

/*
 * Post @elements with each operator on each type. Return: false if a key of data changes, which is
 * in front of where packets are made
 */
static bool keys_stay(u8 algorithm, bool pinned, u32 elements)
{
	u32 key[ARRAY_SIZE(((struct cnr_comm *)NULL)->own_key)], tried = 0, changed = 0, i, op, type;
	struct tnet_config cfg = {
		.members = MEMBERS, .seed = 7, .key = true, .algorithm = algorithm, .pinned = pinned,
		.element = LONGEST, .fill = zeros,
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

/* ---- a member that pads with anything ---- */

#define LIAR	1

struct lies {
	struct tnet *s;
	u8	type;		/* of the packets that are changed */
	u32	told;
	u32	results;
};

/* Each third result is lost, so that it is asked for again. */
static bool lie(void *arg, int from, int to, const struct canary_hdr *packet)
{
	struct canary_hdr *h = (struct canary_hdr *)packet;
	struct lies *lies = arg;
	struct cnr_comm *c = tnet_comm(lies->s, LIAR);
	u8 *data = (u8 *)tnet_payload(lies->s);

	if (h->type == CANARY_RESULT && lies->results++ % 3 == 0)
		return true;
	if (from != LIAR || h->type != lies->type || !canary_length(h))
		return false;
	data[canary_length(h) - 1] ^= 0x11;
	h->contribution.sum = cpu_to_be32(cnr_checksum(canary_kind(h), (u32 *)data,
						       canary_length(h)));
	h->mac = cpu_to_be64(cnr_mac(c, h, data, c->cfg.port));
	lies->told++;
	return false;
}

static u32 element;	/* bytes of one */

static void give(void *to, u32 rank, u32 op, u32 elements)
{
	u32 i;

	memset(to, 0, elements * element);
	for (i = 0; i < elements; i++)
		((u8 *)to)[i * element] = rank * 3 + i % 5;
}

static bool any_result(u32 op, const void *got, u32 elements)
{
	return true;
}

static const struct padded {
	const char *name;
	u8	dtype;
	u8	op;
	u32	elements;
	bool	whole;		/* only contributions have bits that mean nothing */
} padded[] = {
	{ "float16 max", CANARY_FLOAT16, CANARY_OP_MAX, 3 },
	{ "float16 sum", CANARY_FLOAT16, CANARY_OP_SUM, 1 },
	{ "float16 prod", CANARY_FLOAT16, CANARY_OP_PROD, 3 },
	{ "float32 sum", CANARY_FLOAT32, CANARY_OP_SUM, 5000 },	/* of exponents */
	{ "int8 sum", CANARY_INT8, CANARY_OP_SUM, 3 },
	{ "int8 prod", CANARY_INT8, CANARY_OP_PROD, 3 },
	{ "int8 min", CANARY_INT8, CANARY_OP_MIN, 3 },
	{ "int8 lor", CANARY_INT8, CANARY_OP_LOR, 3 },
	{ "int8 land", CANARY_INT8, CANARY_OP_LAND, 3 },
	{ "uint16 avg", CANARY_UINT16, CANARY_OP_AVG, 3 },
	{ "short_int minloc", CANARY_INT16_INDEX, CANARY_OP_MINLOC, 3, true },
	{ "double_int minloc", CANARY_FLOAT64_INDEX, CANARY_OP_MINLOC, 3 },
	{ "complex64 sum", CANARY_COMPLEX64, CANARY_OP_SUM, 2500 },
};

static struct tnet *padded_net(const struct padded *w, struct lies *lies, u8 algorithm, bool pinned)
{
	struct tnet_config cfg = {
		.members = MEMBERS, .seed = 4, .key = true, .algorithm = algorithm,
		.dtype = w->dtype, .op = w->op, .element = cnr_element(w->op, w->dtype),
		.fill = give, .right = any_result, .pinned = pinned,
		.faults.filter = lie, .faults.filter_arg = lies,
	};
	u32 i;

	element = cfg.element;
	lies->s = tnet_new(&cfg);
	tnet_connect(lies->s, -1);
	if (!tnet_wait_state(lies->s, CNR_CONNECTED, 10 * S))
		abort();
	for (i = 0; i < MEMBERS; i++)
		post_all(lies->s, MEMBERS, w->elements);
	tnet_wait_completed(lies->s, MEMBERS, 20 * S);
	return lies->s;
}

/* Leaders of trees combine it with their own. All get the same result, also if it was lost. */
static void test_contributions(const struct padded *w, bool pinned)
{
	struct lies lies = { .type = CANARY_CONTRIBUTION };
	struct tnet *s = padded_net(w, &lies, CANARY_ALG_TREE, pinned);
	u32 i, done = 0;

	for (i = 0; i < MEMBERS; i++)
		done += tnet_completed(s, i) == MEMBERS && !tnet_last_error(s, i);
	tap(done == MEMBERS && lies.told &&
	    !cnr_stats(tnet_comm(s, LIAR))->drop[CANARY_DROP_SUM],
	    "%s, %s: contributions padded with anything change no result", w->name,
	    pinned ? "pinned" : "copied");
	tnet_free(s);
}

/* Who sends on a result in a ring has looked at it before. So who sent it is named. */
static void test_results(const struct padded *w)
{
	struct lies lies = { .type = CANARY_RING_RESULT };
	struct tnet *s = padded_net(w, &lies, CANARY_ALG_RING, true);
	enum canary_abort why;
	u32 i, named = 0;
	u16 rank;

	for (i = 0; i < MEMBERS; i++)
		named += i != LIAR && cnr_failure(tnet_comm(s, i), &why) == -EPROTO &&
			 cnr_missing(tnet_comm(s, i), &rank, 1) == 1 && rank == LIAR;
	tap(named == MEMBERS - 1 && lies.told,
	    "%s, ring: who pads a result with anything is named", w->name);
	tnet_free(s);
}

int main(void)
{
	u32 i;

	test_keys();
	for (i = 0; i < ARRAY_SIZE(padded); i++) {
		test_contributions(&padded[i], false);
		test_contributions(&padded[i], true);
		if (!padded[i].whole)
			test_results(&padded[i]);
	}
	return tap_done("core-padding");
}
