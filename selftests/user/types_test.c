// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each operator on each type of integers, through the library: any length, in place and not, in
 * flight together. What is right comes from the reference of canary perf, which shares nothing with
 * the core. Then names, lengths that are refused, and ranks that run something else. Members use the
 * user engine and, where the module is loaded, AF_CANARY as well.
 */
#include <arpa/inet.h>
#include <canary.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kmod/core/core.h"
#include "selftests/tap.h"
#include "tools/canary/reference.h"
#include "own_net.h"

#define RANKS		3
#define CONNECT_MS	10000
#define MOST		5003	/* elements: blocks have 3200 bytes here */
#define EDGES		6

struct member {
	struct canary	*c;
	pthread_t	thread;
	uint32_t	rank;
	int		(*run)(struct member *m);
	int		wrong;
	char		error[160];	/* of the operation that failed */
};

static uint32_t next_comm = 1;
static uint32_t algorithm, engine;

/* What runs */
static uint8_t dtype, op;

/* Another operation of rank 1 */
static uint8_t other_dtype, other_op;

static unsigned int size_of(uint8_t type)
{
	return reference_bits(type) / 8;
}

static uint64_t mask(void)
{
	return ~0ULL >> (64 - reference_bits(dtype));
}

/* The first elements are all combinations of edges at the three ranks. */
static uint64_t given(uint32_t rank, size_t i, uint32_t salt)
{
	const uint64_t sign = 1ULL << (reference_bits(dtype) - 1);
	const uint64_t edge[EDGES] = { 0, ~0ULL, sign, sign - 1, 1, sign + 1 };
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL ^
		     (rank + 1 + 16 * salt) * 0xbf58476d1ce4e5b9ULL;

	if (i < EDGES * EDGES * EDGES)
		return edge[(rank == 0 ? i : rank == 1 ? i / EDGES : i / EDGES / EDGES) % EDGES] &
		       mask();
	x = (x ^ x >> 29) * 0x94d049bb133111ebULL;
	return (x ^ x >> 32) & mask();
}

static uint64_t right(size_t i, uint32_t salt)
{
	const struct reference r = { .dtype = dtype, .op = op, .members = RANKS };
	uint64_t of[RANKS];
	uint32_t rank;

	for (rank = 0; rank < RANKS; rank++)
		of[rank] = given(rank, i, salt);
	return reference_reduce(&r, of);
}

static void give(const struct member *m, char *to, size_t n, uint32_t salt)
{
	uint64_t element;
	size_t i;

	for (i = 0; i < n; i++) {
		element = given(m->rank, i, salt);
		memcpy(to + i * size_of(dtype), &element, size_of(dtype));
	}
}

/* Return: number of wrong elements */
static int compare(const char *got, size_t n, uint32_t salt)
{
	uint64_t element;
	int wrong = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		element = 0;
		memcpy(&element, got + i * size_of(dtype), size_of(dtype));
		if (element == right(i, salt))
			continue;
		if (!wrong++)
			printf("# element %zu of %zu: %#llx, not %#llx\n", i, n,
			       (unsigned long long)element, (unsigned long long)right(i, salt));
	}
	return wrong;
}

static void *member_thread(void *arg)
{
	struct member *m = arg;

	if (canary_connect(m->c, CONNECT_MS)) {
		printf("# rank %u: connect: %s\n", m->rank, canary_errmsg());
		m->wrong = 1;
		return NULL;
	}
	m->wrong = m->run(m);
	return NULL;
}

/*
 * The kernel's engines may serve others for a moment after close(), and keep their port meanwhile.
 */
static int open_member(const struct canary_params *p, struct canary **c)
{
	int i, err = canary_open(p, c);

	for (i = 0; err == -EADDRINUSE && i < 500; i++) {
		usleep(10000);
		err = canary_open(p, c);
	}
	return err;
}

/* Return: number of members that found something wrong. @error: receives what rank 0 was told */
static int with_ranks(int (*run)(struct member *m), char *error)
{
	struct member m[RANKS] = { 0 };
	struct canary_params p;
	int wrong = 0;
	uint32_t i;

	next_comm++;
	for (i = 0; i < RANKS; i++) {
		m[i].rank = i;
		m[i].run = run;
		canary_params_init(&p);
		p.engine = engine;
		p.comm = next_comm;
		p.rank = i;
		p.members = RANKS;
		p.algorithm = algorithm;
		canary_params_set(&p, "root", "127.0.0.1");
		if (open_member(&p, &m[i].c)) {
			printf("# rank %u: open: %s\n", i, canary_errmsg());
			return RANKS;
		}
	}
	for (i = 0; i < RANKS; i++)
		pthread_create(&m[i].thread, NULL, member_thread, &m[i]);
	for (i = 0; i < RANKS; i++)
		pthread_join(m[i].thread, NULL);
	for (i = 0; i < RANKS; i++) {
		canary_close(m[i].c);
		wrong += !!m[i].wrong;
	}
	if (error)
		strcpy(error, m[0].error);
	return wrong;
}

/* Vectors are at odd addresses, and nothing is written behind them. */
static int run_type(struct member *m)
{
	static const size_t lengths[] = { 1, 0, 3, 217, MOST };
	char *in = malloc(MOST * 8 + 9), *out = malloc(MOST * 8 + 9);
	size_t i, n, bytes;
	int wrong = 0;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		n = lengths[i];
		bytes = n * size_of(dtype);
		give(m, in + 1, n, i);
		memset(out, 0x5a, bytes + 2);
		wrong += !!canary_allreduce(m->c, in + 1, out + 1, n, dtype, op);
		wrong += compare(out + 1, n, i);
		wrong += out[0] != 0x5a || out[bytes + 1] != 0x5a;
		in[bytes + 1] = 0x5a;
		wrong += !!canary_allreduce(m->c, in + 1, in + 1, n, dtype, op);
		wrong += compare(in + 1, n, i) || in[bytes + 1] != 0x5a;
	}
	free(in);
	free(out);
	return wrong;
}

/* Each operator on this type, one operation each, in flight together */
static int run_flight(struct member *m)
{
	enum { COUNT = 1001 };
	static char out[RANKS][CANARY_OP_AVG][COUNT * 8];
	uint64_t request[CANARY_OP_AVG];
	char in[COUNT * 8];
	int i, wrong = 0;

	for (i = 0; i < CANARY_OP_AVG; i++) {
		give(m, in, COUNT, i);
		wrong += !!canary_room(m->c, CANARY_FOREVER);
		wrong += !!canary_post(m->c, in, out[m->rank][i], COUNT, dtype, i + 1, &request[i]);
	}
	for (i = CANARY_OP_AVG - 1; i >= 0; i--)
		wrong += !!canary_wait(m->c, request[i], CANARY_FOREVER);
	/* The reference knows one operator at a time, and all threads have to agree on it. */
	if (m->rank)
		return wrong;
	for (i = 0; i < CANARY_OP_AVG; i++) {
		op = i + 1;
		wrong += compare(out[0][i], COUNT, i);
	}
	return wrong;
}

/* Rank 1 runs something else: all end with EPROTO, and are told of it. */
static int run_differs(struct member *m)
{
	static const char *const named[RANKS] = { "rank 1", "rank", "rank 1" };
	char v[800] = { 0 };
	int err;

	/* all are connected before the first one fails */
	if (canary_allreduce(m->c, v, v, 1, CANARY_INT32, CANARY_OP_SUM))
		return 1;
	if (m->rank == 1)
		err = canary_allreduce(m->c, v, v, 800 / size_of(other_dtype), other_dtype,
				       other_op);
	else
		err = canary_allreduce(m->c, v, v, 800 / size_of(dtype), dtype, op);
	snprintf(m->error, sizeof(m->error), "%s", err ? canary_errmsg() : "");
	if (err == -EPROTO && strstr(m->error, named[m->rank]))
		return 0;
	printf("# rank %u: %d: %s\n", m->rank, err, m->error);
	return 1;
}

/* Packets have room for exact sums, and for nothing that there is not. */
static int block_elements(struct canary *c)
{
	size_t words = canary_block_elements(c, CANARY_INT32, CANARY_OP_SUM);

	return !words + (canary_block_elements(c, CANARY_INT8, CANARY_OP_MIN) != 4 * words) +
	       (canary_block_elements(c, CANARY_UINT64, CANARY_OP_XOR) != words / 2) +
	       (canary_block_elements(c, CANARY_UINT8, CANARY_OP_AVG) != words) +
	       (canary_block_elements(c, CANARY_INT32, CANARY_OP_AVG) != words / 2) +
	       !!canary_block_elements(c, 0, CANARY_OP_SUM) +
	       !!canary_block_elements(c, CANARY_INT32 + 256, CANARY_OP_SUM) +
	       !!canary_block_elements(c, CANARY_INT32, CANARY_OP_AVG + 1);
}

static int run_refusals(struct member *m)
{
	int wrong = block_elements(m->c);
	char v[64] = { 0 };
	uint64_t request;

	wrong += canary_allreduce(m->c, v, v, 1, 0, CANARY_OP_SUM) != -EINVAL;
	wrong += canary_allreduce(m->c, v, v, 1, CANARY_UINT64 + 1, CANARY_OP_SUM) != -EINVAL;
	wrong += canary_allreduce(m->c, v, v, 1, CANARY_INT8, CANARY_OP_AVG + 1) != -EINVAL;
	wrong += canary_allreduce(m->c, v, v + 8, 2, CANARY_INT64, CANARY_OP_SUM) != -EINVAL;
	wrong += canary_allreduce(m->c, v, v + 8, 8, CANARY_INT8, CANARY_OP_MAX) != 0;
	/* A vector is as long as its bytes are. */
	wrong += canary_post(m->c, v, v, CANARY_COUNT_MAX, CANARY_INT64, CANARY_OP_SUM,
			     &request) != -EMSGSIZE;
	wrong += canary_post(m->c, v, v, CANARY_BYTES_MAX / 8 + 1, CANARY_UINT64, CANARY_OP_SUM,
			     &request) != -EMSGSIZE;
	wrong += canary_post(m->c, v, v, CANARY_BYTES_MAX / 2 + 1, CANARY_INT16, CANARY_OP_SUM,
			     &request) != -EMSGSIZE;
	wrong += canary_post(m->c, v, v, (size_t)CANARY_BYTES_MAX + 1, CANARY_INT8, CANARY_OP_MIN,
			     &request) != -EMSGSIZE;
	wrong += canary_post(m->c, v, v, SIZE_MAX / 8 + 2, CANARY_INT64, CANARY_OP_SUM,
			     &request) != -EMSGSIZE;
	return wrong;
}

static void test_names(void)
{
	enum canary_operator o = CANARY_OP_PROD;
	enum canary_dtype d = CANARY_INT8;
	uint32_t i, k, types = 0, operators = 0, bad = 0;

	while (canary_dtype_name(types + 1))
		types++;
	while (canary_operator_name(operators + 1))
		operators++;
	tap(types == CANARY_UINT64 && operators == CANARY_OP_AVG &&
	    !canary_dtype_name(0) && !canary_operator_name(0) &&
	    !canary_dtype_name(~0U) && !canary_operator_name(~0U),
	    "%u types and %u operators have names", types, operators);
	for (i = 0; i < 256; i++) {
		bad += canary_dtype_size(i) != (i && i <= types ? size_of(i) : 0);
		for (k = 0; k < 256; k++)
			bad += cnr_element(k, i) !=
			       (k && k <= operators ? canary_dtype_size(i) : 0);
	}
	tap(!bad, "the core knows each of them, and no other");
	for (i = 1; i <= types; i++)
		bad += canary_dtype_parse(canary_dtype_name(i), &d) || d != i;
	for (i = 1; i <= operators; i++)
		bad += canary_operator_parse(canary_operator_name(i), &o) || o != i;
	bad += canary_dtype_parse("uint16", &d) || d != CANARY_UINT16;
	bad += canary_operator_parse("lxor", &o) || o != CANARY_OP_LXOR;
	tap(!bad, "names are found again");
	tap(canary_dtype_parse("float", &d) == -EINVAL && d == CANARY_UINT16, "%s",
	    canary_errmsg());
	tap(canary_operator_parse("SUM", &o) == -EINVAL && o == CANARY_OP_LXOR, "%s",
	    canary_errmsg());
	tap(canary_dtype_parse("", &d) == -EINVAL && canary_dtype_parse("int", &d) == -EINVAL &&
	    canary_operator_parse(NULL, &o) == -EINVAL, "none, and a part of one");
}

static void test_differs(void)
{
	static const struct {
		uint8_t dtype, op, other_dtype, other_op;
	} table[] = {
		{ CANARY_INT16, CANARY_OP_MIN, CANARY_INT16, CANARY_OP_MAX },
		{ CANARY_INT32, CANARY_OP_SUM, CANARY_UINT32, CANARY_OP_SUM },
		{ CANARY_INT8, CANARY_OP_SUM, CANARY_INT64, CANARY_OP_SUM },
		{ CANARY_UINT8, CANARY_OP_AVG, CANARY_UINT8, CANARY_OP_SUM },
		{ CANARY_INT32, CANARY_OP_SUM, CANARY_INT32, CANARY_OP_LAND },
	};
	char error[160];
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		dtype = table[i].dtype;
		op = table[i].op;
		other_dtype = table[i].other_dtype;
		other_op = table[i].other_op;
		tap(!with_ranks(run_differs, error), "%s of %s, rank 1 has %s of %s: %s",
		    canary_operator_name(op), canary_dtype_name(dtype),
		    canary_operator_name(other_op), canary_dtype_name(other_dtype), error);
	}
}

/* The guest is slow. api_types has all types. */
static bool is_left_out(void)
{
	return engine == CANARY_ENGINE_KERNEL && dtype != CANARY_INT8 && dtype != CANARY_UINT16 &&
	       dtype != CANARY_INT64;
}

static void test_engine(uint32_t which)
{
	static const uint32_t algorithms[] = { CANARY_ALG_TREE, CANARY_ALG_RING };
	size_t a;

	engine = which;
	printf("# the %s engine\n", which == CANARY_ENGINE_USER ? "user" : "kernel");
	for (a = 0; a < 2; a++) {
		algorithm = algorithms[a];
		for (dtype = CANARY_INT32; dtype <= CANARY_UINT64; dtype++) {
			if (is_left_out())
				continue;
			for (op = CANARY_OP_SUM; op <= CANARY_OP_AVG; op++)
				tap(!with_ranks(run_type, NULL), "%s: %s of %s",
				    canary_algorithm_name(algorithm), canary_operator_name(op),
				    canary_dtype_name(dtype));
			tap(!with_ranks(run_flight, NULL), "%s: all of %s, in flight together",
			    canary_algorithm_name(algorithm), canary_dtype_name(dtype));
		}
	}
	algorithm = CANARY_ALG_AUTO;
	tap(!with_ranks(run_refusals, NULL), "calls that are refused");
	test_differs();
}

int main(void)
{
	test_names();
	if (!own_net()) {
		tap_skip("everything else", "may not make a network namespace");
		return tap_done("user/types");
	}
	test_engine(CANARY_ENGINE_USER);
	if (access("/sys/module/canary", F_OK) == 0)
		test_engine(CANARY_ENGINE_KERNEL);
	return tap_done("user/types");
}
