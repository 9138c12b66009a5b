// SPDX-License-Identifier: BSD-2-Clause
/*
 * Members that contribute several vectors to an operation: each operator on each type, by trees and
 * rings. What is right comes from the reference of canary perf, for as many members as there are
 * vectors. So the bits have to be those of a communicator whose members have one vector each. Then
 * what is refused, and members that count differently.
 */
#include <arpa/inet.h>
#include <canary.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "selftests/tap.h"
#include "tools/canary/reference.h"
#include "own_net.h"

#define MEMBERS		4	/* at most */
#define OWN		5	/* vectors of a member, at most */
#define CONNECT_MS	10000
#define MOST		5003	/* elements */
#define LARGEST		16	/* bytes of an element */
#define OPERATORS	CANARY_OP_MAXLOC
#define TYPES		CANARY_COMPLEX128

/* Vectors of each member. Places go round: one of each member, then the second of each, ... */
static const struct layout {
	uint32_t members, own[MEMBERS], all;
} layouts[] = {
	{ 2, { 3, 2 }, 5 },
	{ 3, { 1, 4, 4 }, 9 },
	{ 4, { 5, 4, 5, 4 }, 18 },
};

struct member {
	struct canary	*c;
	pthread_t	thread;
	uint32_t	rank;
	int		(*run)(struct member *m);
	int		wrong;
	uint16_t	places[OWN];
};

static const struct layout *layout;
static uint32_t next_comm = 1, algorithm;
static uint8_t dtype, op, how;

static uint64_t given(const struct reference *r, uint32_t rank, size_t i)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL ^
		     (rank + 1 + 16 * r->seed) * 0xbf58476d1ce4e5b9ULL;
	const unsigned int bits = reference_bits(r->dtype);
	const unsigned int fraction = r->dtype == CANARY_BFLOAT16 ? 7 : bits == 16 ? 10 :
				      bits == 32 ? 23 : 52;
	const uint64_t one = 1ULL << fraction, sign = 1ULL << (bits - 1), infinity = sign - one;

	x = (x ^ x >> 29) * 0x94d049bb133111ebULL;
	x ^= x >> 32;
	if (r->dtype < CANARY_FLOAT16 || r->dtype > CANARY_FLOAT64)
		return (x % 4 ? x : x >> 8 & 3) & ~0ULL >> (64 - bits);
	/* Numbers around 1 with some large ones; few infinities and NaNs */
	if (x % 1024 == 0)
		return x & 1024 ? infinity : x & 2048 ? sign | infinity : infinity | 1;
	if (x % 64 == 1)
		return x & (sign | (infinity - 1));
	return ((x & (sign | (3 * one - 1))) + (infinity / 2 & infinity) - 2 * one) &
	       ~0ULL >> (64 - bits);
}

static struct reference reference(uint32_t salt)
{
	return (struct reference){
		.dtype = dtype, .op = op, .members = layout->all, .seed = salt, .how = how,
		.give = given,
	};
}

static void find_places(struct member *m)
{
	uint32_t turn, i, place = 0;

	for (turn = 0; turn < OWN; turn++)
		for (i = 0; i < layout->members; i++)
			if (turn < layout->own[i]) {
				if (i == m->rank)
					m->places[turn] = place;
				place++;
			}
}

static void *member_thread(void *arg)
{
	struct member *m = arg;

	m->wrong = canary_connect(m->c, CONNECT_MS) ? 1 : m->run(m);
	return NULL;
}

/* Return: number of members that found something wrong */
static int with_members(int (*run)(struct member *m))
{
	struct member m[MEMBERS] = { 0 };
	struct canary_params p;
	int wrong = 0;
	uint32_t i;

	next_comm++;
	for (i = 0; i < layout->members; i++) {
		m[i].rank = i;
		m[i].run = run;
		find_places(&m[i]);
		canary_params_init(&p);
		p.engine = CANARY_ENGINE_USER;
		p.comm = next_comm;
		p.rank = i;
		p.members = layout->members;
		p.algorithm = algorithm;
		canary_params_set(&p, "root", "127.0.0.1");
		if (canary_open(&p, &m[i].c)) {
			printf("# rank %u: open: %s\n", i, canary_errmsg());
			return layout->members;
		}
	}
	for (i = 0; i < layout->members; i++)
		pthread_create(&m[i].thread, NULL, member_thread, &m[i]);
	for (i = 0; i < layout->members; i++)
		pthread_join(m[i].thread, NULL);
	for (i = 0; i < layout->members; i++) {
		canary_close(m[i].c);
		wrong += !!m[i].wrong;
	}
	return wrong;
}

static struct canary_call call_of(const struct member *m, size_t n)
{
	return (struct canary_call){
		.count = n, .dtype = dtype, .op = op, .how = how, .places = m->places,
		.mores = layout->own[m->rank] - 1, .addends = layout->all,
	};
}

/* Vectors are at odd addresses. The result goes to a buffer of its own, or over the first one. */
static int run_length(struct member *m, char *const v[OWN], char *out, size_t n, uint32_t salt)
{
	const struct reference r = reference(salt);
	struct canary_call call = call_of(m, n);
	const void *more[OWN];
	uint32_t i;
	int wrong;

	for (i = 0; i < layout->own[m->rank]; i++) {
		reference_fill(&r, m->places[i], v[i] + 1, n);
		if (i)
			more[i - 1] = v[i] + 1;
	}
	call.sendbuf = v[0] + 1;
	call.recvbuf = salt % 2 ? v[0] + 1 : out + 1;
	call.more = more;
	wrong = !!canary_allreduce_call(m->c, &call, sizeof(call), NULL, 0);
	if (wrong)
		printf("# rank %u: %s\n", m->rank, canary_errmsg());
	return wrong + !!reference_wrong(&r, call.recvbuf, n, true);
}

static int run_type(struct member *m)
{
	static const size_t lengths[] = { 1, 0, 3, 150, 257, MOST };
	char *v[OWN], *out = malloc(MOST * LARGEST + 9);
	int wrong = 0;
	uint32_t i;

	for (i = 0; i < OWN; i++)
		v[i] = malloc(MOST * LARGEST + 9);
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		wrong += run_length(m, v, out, lengths[i], i);
	for (i = 0; i < OWN; i++)
		free(v[i]);
	free(out);
	return wrong;
}

/* What is refused changes nothing for the others. */
static int run_refusals(struct member *m)
{
	const void *more[OWN] = { NULL };
	uint16_t far[OWN] = { 0, layout->all };
	struct canary_call good, bad;
	uint64_t request;
	char v[64] = { 0 }, w[64] = { 0 };
	int wrong = 0;
	uint32_t i;

	good = call_of(m, 4);
	good.sendbuf = v;
	good.recvbuf = v;
	good.more = more;
	bad = good;
	wrong += bad.mores && canary_post_call(m->c, &bad, sizeof(bad), &request) != -EINVAL;
	for (i = 0; i < OWN; i++)
		more[i] = v + 4;
	wrong += bad.mores && canary_post_call(m->c, &bad, sizeof(bad), &request) != -EINVAL;
	for (i = 0; i < OWN; i++)
		more[i] = w;
	bad.addends = layout->members - 1;
	wrong += canary_post_call(m->c, &bad, sizeof(bad), &request) != -EINVAL;
	bad.addends = CANARY_MEMBERS_MAX + 1;
	wrong += canary_post_call(m->c, &bad, sizeof(bad), &request) != -EINVAL;
	bad = good;
	bad.mores = layout->all;
	wrong += canary_post_call(m->c, &bad, sizeof(bad), &request) != -EINVAL;
	bad.mores = 1;
	bad.addends = 0;
	wrong += canary_post_call(m->c, &bad, sizeof(bad), &request) != -EINVAL;
	bad = good;
	bad.places = NULL;
	wrong += canary_post_call(m->c, &bad, sizeof(bad), &request) != -EINVAL;
	bad.places = far;
	bad.mores = 1;
	wrong += canary_post_call(m->c, &bad, sizeof(bad), &request) != -EINVAL;
	/* Callers that were built before there was @more */
	bad = (struct canary_call){ .sendbuf = v, .recvbuf = v, .count = 1, .dtype = CANARY_INT32,
				    .op = CANARY_OP_SUM, .addends = 77 };
	wrong += !!canary_allreduce_call(m->c, &bad, offsetof(struct canary_call, more), NULL, 0);
	return wrong + !!canary_allreduce_call(m->c, &good, sizeof(good), NULL, 0);
}

/* Rank 1 counts one vector more. All end with EPROTO. */
static int run_differs(struct member *m)
{
	static float v[MEMBERS][1000];
	struct canary_call call = call_of(m, 1000);

	if (canary_allreduce(m->c, v[m->rank], v[m->rank], 1, CANARY_INT32, CANARY_OP_SUM))
		return 1;
	call.sendbuf = v[m->rank];
	call.recvbuf = v[m->rank];
	call.mores = 0;
	call.addends += m->rank == 1;
	return canary_allreduce_call(m->c, &call, sizeof(call), NULL, 0) != -EPROTO;
}

static void test_type(void)
{
	const struct layout *end = layouts + sizeof(layouts) / sizeof(layouts[0]);

	for (op = CANARY_OP_SUM; op <= OPERATORS; op++)
		for (layout = layouts; layout < end && canary_supports(dtype, op); layout++)
			tap(!with_members(run_type), "%s: %s of %s, %u members, %u vectors",
			    canary_algorithm_name(algorithm), canary_operator_name(op),
			    canary_dtype_name(dtype), layout->members, layout->all);
	layout = layouts;
	op = CANARY_OP_SUM;
	for (how = 1; how <= CANARY_HOW_SATURATE; how *= 2)
		if (how & canary_how_supported(dtype, op))
			tap(!with_members(run_type), "%s: sum of %s, %s",
			    canary_algorithm_name(algorithm), canary_dtype_name(dtype),
			    canary_how_name(how));
	how = 0;
}

int main(void)
{
	if (!own_net()) {
		tap_skip("vectors", "may not make a network namespace");
		return tap_done("user/vectors");
	}
	for (algorithm = CANARY_ALG_TREE; algorithm <= CANARY_ALG_RING; algorithm++)
		for (dtype = 1; dtype <= TYPES; dtype++)
			test_type();
	algorithm = CANARY_ALG_AUTO;
	layout = layouts;
	dtype = CANARY_FLOAT32;
	op = CANARY_OP_SUM;
	tap(!with_members(run_refusals), "what is refused");
	tap(!with_members(run_differs), "another number of vectors");
	return tap_done("user/vectors");
}
