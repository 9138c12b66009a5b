// SPDX-License-Identifier: BSD-2-Clause
/*
 * Somebody who is no member sees all packets, and sends them again: as they were, late, to others,
 * or changed. So do slow networks. How floating-point sums are cut into blocks depends on earlier
 * results, and a member whose blocks are cut in another way ends the communicator
 * (cnr_differs_inside()). No such packet may bring that about. All operations end, and all members
 * have the same bits.
 */
#include "selftests/tap.h"
#include "core/inside.h"
#include "fixture.h"

#define OUTSIDER	77	/* an address that no member has */
#define KEPT		256	/* packets that the outsider remembers */
#define LONGEST		2048
#define OPERATIONS	3
#define ROUNDS		40	/* moments at which it sends */
#define TRIALS		12	/* of each kind */

static const struct kind {
	const char *name;
	u8	dtype;
	u8	op;
	u8	how;
} kinds[] = {
	{ "float32", CANARY_FLOAT32, CANARY_OP_SUM },
	{ "exact float64", CANARY_FLOAT64, CANARY_OP_SUM, CANARY_HOW_EXACT },
	{ "bfloat16", CANARY_BFLOAT16, CANARY_OP_SUM },
	{ "elementwise float16", CANARY_FLOAT16, CANARY_OP_AVG, CANARY_HOW_ELEMENTWISE },
	{ "complex64", CANARY_COMPLEX64, CANARY_OP_SUM },
	{ "minloc of float64", CANARY_FLOAT64_INDEX, CANARY_OP_MINLOC },
	{ "product of complex128", CANARY_COMPLEX128, CANARY_OP_PROD },
	{ "average of int64", CANARY_INT64, CANARY_OP_AVG },
};

static const u32 lengths[] = { 1, 150, 999, 5003 };

static u64 state;

static u64 random_bits(void)
{
	state += 0x9e3779b97f4a7c15ULL;
	return (state ^ state >> 29) * 0xbf58476d1ce4e5b9ULL >> 11;
}

/* A packet under way */
struct packet {
	u64	bytes[LONGEST / sizeof(u64)];
	u32	len;
	int	from;
	int	to;
};

/* Of the trial that runs */
static struct {
	struct tnet *s;
	u32	members;
	u32	element;	/* bytes */
	struct packet kept[KEPT];
	u32	packets;
	u64	injected;
	void	*result[OPERATIONS];	/* of the first member that has one */
} now;

/* Vectors are random bits, but of numbers of 16 bits one in 41 is a NaN. */
static void fill(void *to, u32 rank, u32 op, u32 elements)
{
	u32 i, n = elements * now.element / 2;
	u16 half;

	for (i = 0; i < n; i++) {
		half = random_bits() % 41 ? random_bits() & 0x3fff : 0x7fff;
		memcpy((u8 *)to + 2 * i, &half, 2);
	}
}

static bool same(u32 op, const void *got, u32 elements)
{
	if (!now.result[op]) {
		now.result[op] = malloc(elements * now.element);
		memcpy(now.result[op], got, elements * now.element);
	}
	return !memcmp(now.result[op], got, elements * now.element);
}

static bool see(void *arg, int from, int to, const struct canary_hdr *h)
{
	u32 data = cnr_has_data(h) ? canary_length(h) : 0;
	struct packet *p;

	if (sizeof(*h) + data > LONGEST)
		return false;
	p = &now.kept[now.packets < KEPT ? now.packets++ : random_bits() % KEPT];
	memcpy(p->bytes, h, sizeof(*h));
	if (data)
		memcpy((u8 *)p->bytes + sizeof(*h), tnet_payload(now.s), data);
	p->len = sizeof(*h) + data;
	p->from = from;
	p->to = to;
	return false;
}

/* Change the packet, or leave it as it is. The checksum of the data is mostly right again. */
static void change(struct packet *p)
{
	struct canary_hdr *h = (struct canary_hdr *)p->bytes;
	bool data = cnr_has_data(h);
	u32 length = canary_length(h);

	switch (random_bits() % 9) {
	case 0:
	case 1:
		return;
	case 2:
	case 3:
		if (!data)
			return;
		length = (length + (random_bits() % 5 - 2) * 8) % 1400 & ~3U;
		cnr_set_length(h, length);
		p->len = sizeof(*h) + length;
		break;
	case 4:
		h->contribution.kind = CANARY_KIND_ADD32 + random_bits() % 4;
		break;
	case 5:
		h->attempt = random_bits() % 4;
		break;
	case 6:
		h->contribution.count = cpu_to_be16(random_bits() % (now.members + 1));
		break;
	case 7:
		h->block = cpu_to_be32(be32_to_cpu(h->block) + random_bits() % 9 - 4);
		break;
	default:
		((u8 *)h)[random_bits() % p->len] ^= 1 << random_bits() % 8;
		return;
	}
	if (data && canary_kind_known(canary_kind(h)) && random_bits() % 4)
		h->contribution.sum = cpu_to_be32(cnr_checksum(canary_kind(h), (u32 *)(h + 1),
							       length));
}

static void send_some(void)
{
	u32 i, n = random_bits() % 60, to;
	struct packet p;
	int from;

	for (i = 0; i < n && now.packets; i++) {
		p = now.kept[random_bits() % now.packets];
		change(&p);
		to = p.to >= 0 && p.to < (int)now.members && random_bits() % 4 ?
		     (u32)p.to : random_bits() % now.members;
		from = random_bits() % 3 ? p.from : OUTSIDER;
		tnet_inject(now.s, to, p.bytes, p.len, from);
		now.injected++;
	}
}

static struct tnet *network(const struct kind *k, u32 trial)
{
	static const u8 algorithms[] = { CANARY_ALG_TREE, CANARY_ALG_RING, CANARY_ALG_AUTO };
	struct tnet_config cfg = {
		.members = 2 + random_bits() % 8, .seed = random_bits(), .key = true,
		.algorithm = algorithms[trial % 3], .aggregate = trial & 1,
		.dtype = k->dtype, .op = k->op, .how = k->how,
		.element = cnr_element(k->op, k->dtype), .fill = fill, .right = same,
		.fixed_first = true, .first_block = -(u32)(random_bits() % 60),
		.slice = trial & 2, .faults.drop = 20000, .faults.repeat = 200000,
		.faults.delay = 200000, .faults.delay_ns = (1 + random_bits() % 30) * MS,
	};

	now.members = cfg.members;
	now.element = cfg.element;
	now.packets = 0;
	return tnet_new(&cfg);
}

/* Return: do all operations end well, with the same bits? */
static bool trial(const struct kind *k, u32 number)
{
	struct tnet *s = network(k, number);
	u32 i, good = 0;

	now.s = s;
	memset(now.result, 0, sizeof(now.result));
	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 20 * S))
		abort();
	tnet_faults(s)->filter = see;
	for (i = 0; i < OPERATIONS; i++)
		post_all(s, now.members, lengths[random_bits() % ARRAY_SIZE(lengths)]);
	for (i = 0; i < ROUNDS; i++) {
		tnet_pass(s, tnet_now(s) + (1 + random_bits() % 20) * MS);
		send_some();
	}
	tnet_faults(s)->filter = NULL;
	tnet_wait_completed(s, OPERATIONS, 60 * S);
	for (i = 0; i < now.members; i++)
		good += cnr_state(tnet_comm(s, i)) == CNR_CONNECTED && !tnet_last_error(s, i) &&
			tnet_completed(s, i) == OPERATIONS;
	good = good == now.members && !tnet_wrong(s);
	tnet_free(s);
	for (i = 0; i < OPERATIONS; i++)
		free(now.result[i]);
	return good;
}

int main(void)
{
	u32 k, i, good;

	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		now.injected = 0;
		for (i = 0, good = 0; i < TRIALS; i++)
			good += trial(&kinds[k], i);
		tap(good == TRIALS && now.injected > TRIALS * ROUNDS,
		    "%s: %u of %u trials end well, with %llu packets of an outsider",
		    kinds[k].name, good, TRIALS, (unsigned long long)now.injected);
	}
	return tap_done("core-outsider");
}
